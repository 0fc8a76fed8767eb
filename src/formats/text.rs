//! Encodes records as text, plain or compressed in BGZF blocks.

use readmill_format::bam::BamEncoder;
use readmill_record::{Batch, Header, RecordRef, Result};

use super::encoding::{BatchEncoder, EncoderMaker, EncoderSettings, KEPT_BYTES, PartEntries};
use super::output_format::{Compression, OutputFormat};
use super::target_file::TargetFile;

/// Writes records as text, one after the other. A text format implements this trait and
/// [`OutputFormat`], whose [`encoders`](OutputFormat::encoders) return [`EncoderMaker::of_text`].
pub trait TextFormat: Clone + Send + Sync + 'static {
    /// Appends the text of a record in a file with `header`. The caller adds the name and number of
    /// the record to an error.
    fn write_record(&self, header: &Header, record: RecordRef<'_>, out: &mut Vec<u8>) -> Result<()>;
}

/// Size in bytes above which the text buffer of a batch (a CRAM container or long reads) is
/// allocated at once. For smaller batches, the buffer grows as needed, so that it does not become
/// larger than the text.
const LARGE_BATCH: u64 = 2 << 20;

/// Estimates the size of the text in bytes: twice the stored size for bases, the same size for
/// everything else.
fn likely_text_bytes(batch: &Batch) -> usize {
    batch.record_bytes() as usize / 8 * 11
}

impl EncoderMaker {
    /// Returns a maker of encoders that write records as `format` does, in BGZF blocks if the
    /// format is compressed.
    pub fn of_text<F: TextFormat + OutputFormat>(format: &F, file: &TargetFile<'_>) -> Self {
        let (format, codec, level) = (format.clone(), file.codec, file.level());
        let spec = format.spec();
        let is_compressed = spec.compression == Compression::Bgzf;
        let make = move |header: &Header| -> Box<dyn BatchEncoder> {
            let codec = is_compressed.then(|| Box::new(BamEncoder::new(codec, level, None)));
            let (format, header) = (format.clone(), header.clone());
            Box::new(TextEncoder { format, header, codec, text: Vec::new() })
        };
        let settings = EncoderSettings { format: spec.name, codec, level, scheme: None };
        EncoderMaker::new(make).depends_on(settings)
    }
}

/// A text encoder for one thread.
struct TextEncoder<F> {
    format: F,
    header: Header,
    /// The compressor; `None` for plain text.
    codec: Option<Box<BamEncoder>>,
    text: Vec<u8>,
}

impl<F: TextFormat> BatchEncoder for TextEncoder<F> {
    fn encode(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<PartEntries> {
        self.text.clear();
        let text = if self.codec.is_some() { &mut self.text } else { &mut *out };
        if batch.record_bytes() > LARGE_BATCH {
            text.reserve(likely_text_bytes(batch));
        }
        for (stamp, record) in batch.records() {
            let written = self.format.write_record(&self.header, record, text);
            written.map_err(|error| error.record(stamp.ordinal()).qname(record.qname()))?;
        }
        if let Some(codec) = &mut self.codec {
            codec.append_bytes(&self.text, out);
        }
        if self.text.capacity() > KEPT_BYTES {
            self.text = Vec::new();
        }
        Ok(PartEntries::default())
    }
}
