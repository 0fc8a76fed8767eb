//! How records become the bytes of a file: batches are encoded on any thread, and their parts completed in order.

use std::sync::Arc;

use readmill_cram::Encoded;
use readmill_format::bam::index::{Fragment, IndexScheme};
use readmill_format::bgzf::Codec;
use readmill_record::{Batch, Header, Result};
use serde::{Deserialize, Serialize};

/// Buffers that long reads made larger than this are freed after use.
pub const KEPT_BYTES: usize = 4 << 20;

/// Encodes batches of records, each by itself, on one thread.
///
/// The bytes of a batch must not depend on batches before it, because threads take batches in any order. What depends on
/// the place in the file is returned as [`PartEntries`], and completed by the [`PartPlacer`].
pub trait BatchEncoder: Send {
    /// Appends the encoded records of `batch` to `out`, which is empty.
    fn encode(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<PartEntries>;
}

/// What is completed once the offset of a part in its file is known. It is stored with parts that separate stages write.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PartEntries {
    /// Entries of a BAI or CSI index.
    pub fragment: Option<Fragment>,
    /// Places of CRAM containers, whose headers get their record numbers, and entries of a CRAI index.
    pub cram: Encoded,
}

/// Completes the parts of a file, one after the other in the order of the file, and gathers its index.
///
/// The default methods are those of a format without index whose bytes do not depend on their place.
pub trait PartPlacer: Send {
    /// Completes the `bytes` of the next part, which has so many records and begins at `offset`.
    fn place(&mut self, _entries: PartEntries, _bytes: &mut [u8], _records: u64, _offset: u64) {}

    /// Forgets all parts: the file begins anew. Only called if [`FormatSpec::can_be_read_back`].
    ///
    /// [`FormatSpec::can_be_read_back`]: super::FormatSpec::can_be_read_back
    fn restart(&mut self, _header: &Header) {}

    /// Returns the bytes of memory that the index usually takes, to be charged before the first part; `None` if nothing
    /// is charged.
    fn usual_bytes(&self, _header: &Header) -> Option<u64> {
        None
    }

    /// Returns the bytes of memory that the index takes so far.
    fn heap_bytes(&self) -> u64 {
        0
    }

    /// Returns what is appended to the file's name for that of its index; `None` without index.
    fn index_suffix(&self) -> Option<&'static str> {
        None
    }

    /// Whether the index is left out because the records turned out not to be in order.
    fn omits_index(&self) -> bool {
        false
    }

    /// Returns the bytes of the index file.
    fn into_index(self: Box<Self>) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// The placer of a format without index.
pub struct NoIndex;

impl PartPlacer for NoIndex {}

/// A function that makes the encoder of one thread, for a file with this header.
type MakeEncoder = dyn Fn(&Header) -> Box<dyn BatchEncoder> + Send + Sync;

/// Makes the encoders of a file, one for each thread that asks.
#[derive(Clone)]
pub struct EncoderMaker {
    make: Arc<MakeEncoder>,
    settings: Option<EncoderSettings>,
}

impl EncoderMaker {
    /// Returns a maker by this function. Its encoders depend on all of the file, and are never used for another.
    pub fn new(make: impl Fn(&Header) -> Box<dyn BatchEncoder> + Send + Sync + 'static) -> Self {
        EncoderMaker { make: Arc::new(make), settings: None }
    }

    /// States that encoders depend on `settings` alone, so that they can encode parts of other files, too.
    #[must_use]
    pub fn depends_on(self, settings: EncoderSettings) -> Self {
        EncoderMaker { settings: Some(settings), ..self }
    }

    /// Returns the settings that encoders depend on; `None` if they cannot be used for another file.
    pub fn settings(&self) -> Option<EncoderSettings> {
        self.settings
    }

    /// Makes one thread's encoder for the file with this header.
    pub fn make(&self, header: &Header) -> Box<dyn BatchEncoder> {
        (self.make)(header)
    }
}

/// Settings of encoders. Equal encoders can be exchanged among files of the same contigs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EncoderSettings {
    /// The name of the format.
    pub format: &'static str,
    /// The codec of BGZF.
    pub codec: Codec,
    /// The level of BGZF.
    pub level: u8,
    /// The scheme of the index, if the encoder makes entries for it.
    pub scheme: Option<IndexScheme>,
}
