//! How records become the bytes of a file: any thread encodes batches, and the resulting parts are
//! completed in file order.

use std::sync::Arc;

use readmill_cram::Encoded;
use readmill_format::bam::index::{Fragment, IndexScheme};
use readmill_format::bgzf::Codec;
use readmill_record::{Batch, Header, Result};
use serde::{Deserialize, Serialize};

/// Maximum size in bytes of a buffer that is kept for reuse. Larger buffers, which held long reads,
/// are freed.
pub const KEPT_BYTES: usize = 4 << 20;

/// Encodes batches of records on one thread.
///
/// The bytes of a batch must not depend on earlier batches, because each thread encodes only some
/// of them. Everything that depends on the position in the file is returned as [`PartEntries`], and
/// completed later by the [`PartPlacer`].
pub trait BatchEncoder: Send {
    /// Appends the encoded records of `batch` to `out`, which is empty.
    fn encode(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<PartEntries>;
}

/// Data that can be completed only when the offset of a part in its file is known. Stages of a job
/// store it together with the part.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PartEntries {
    /// BAI or CSI index entries, with offsets relative to the part.
    pub fragment: Option<Fragment>,
    /// The positions of CRAM containers, whose headers need record counters, and CRAI index
    /// entries.
    pub cram: Encoded,
}

/// Completes the parts of a file in order, and collects its index.
///
/// The default methods fit a format without an index whose bytes do not depend on their position.
pub trait PartPlacer: Send {
    /// Completes the `bytes` of the next part, which has `records` records and starts at `offset`.
    fn place(&mut self, _entries: PartEntries, _bytes: &mut [u8], _records: u64, _offset: u64) {}

    /// Resets the placer, because the file is written again from the start. Only called if
    /// [`FormatSpec::can_be_read_back`] is set.
    ///
    /// [`FormatSpec::can_be_read_back`]: super::FormatSpec::can_be_read_back
    fn restart(&mut self, _header: &Header) {}

    /// Returns the expected memory of the index in bytes, which is charged before the first part.
    /// `None` means that it is not charged.
    fn usual_bytes(&self, _header: &Header) -> Option<u64> {
        None
    }

    /// Returns the current memory of the index in bytes.
    fn heap_bytes(&self) -> u64 {
        0
    }

    /// Returns the suffix of the index file, such as `.bai`; `None` without an index.
    fn index_suffix(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether the index is omitted because the records were not in coordinate order.
    fn omits_index(&self) -> bool {
        false
    }

    /// Returns the content of the index file.
    fn into_index(self: Box<Self>) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// The [`PartPlacer`] of a format without an index.
pub struct NoIndex;

impl PartPlacer for NoIndex {}

/// A function that creates an encoder for a file with this header.
type MakeEncoder = dyn Fn(&Header) -> Box<dyn BatchEncoder> + Send + Sync;

/// Creates the encoders of a file, one for each thread.
#[derive(Clone)]
pub struct EncoderMaker {
    make: Arc<MakeEncoder>,
    settings: Option<EncoderSettings>,
}

impl EncoderMaker {
    /// Creates a maker from a function. Its encoders are not used for other files, unless
    /// [`EncoderMaker::depends_on`] permits it.
    pub fn new(make: impl Fn(&Header) -> Box<dyn BatchEncoder> + Send + Sync + 'static) -> Self {
        EncoderMaker { make: Arc::new(make), settings: None }
    }

    /// Declares that the encoders depend only on `settings`, so that they can also encode parts of
    /// other files with the same settings.
    #[must_use]
    pub fn depends_on(self, settings: EncoderSettings) -> Self {
        EncoderMaker { settings: Some(settings), ..self }
    }

    /// Returns the settings passed to [`EncoderMaker::depends_on`]; `None` if encoders must not be
    /// used for another file.
    pub fn settings(&self) -> Option<EncoderSettings> {
        self.settings
    }

    /// Creates an encoder for one thread, for a file with `header`.
    pub fn make(&self, header: &Header) -> Box<dyn BatchEncoder> {
        (self.make)(header)
    }
}

/// The settings of an encoder. Encoders with equal settings are interchangeable between files with
/// the same contigs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EncoderSettings {
    pub format: &'static str,
    pub codec: Codec,
    pub level: u8,
    /// The binning scheme, if the encoder creates index entries.
    pub scheme: Option<IndexScheme>,
}
