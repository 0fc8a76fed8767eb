//! Encodes and writes parts of an output, on all threads.

use std::sync::{Mutex, PoisonError};

use readmill_cram as cram;
use readmill_engine::Pool;
use readmill_format::bam::Encoder;
use readmill_format::bam::index::{Fragment, IndexFormat, Scheme};
use readmill_format::bgzf::Codec;
use readmill_format::{fastq, sam};
use readmill_record::{Batch, Charge, Error, Header, Result};

use super::files::FilePosition;
use super::part_counts::{CountSettings, PartCounter, PartCounts};
use super::routing::RoutedRecords;
use crate::outputs::atomic_file::PositionedFile;
use crate::plan::{DEFAULT_LEVEL, Format, Index, Output};

/// A part of the output, encoded.
#[derive(Default)]
pub struct EncodedPart {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its index entries.
    pub fragment: Option<Fragment>,
    /// Where its containers of CRAM lie, whose headers get their record numbers once its offset is known.
    pub cram: cram::Encoded,
    /// Its records.
    pub records: u64,
    /// Bytes of all records before it, by which an output in parts is cut; 0 where reads are not kept.
    pub start: u64,
    /// Its reads that go to extra outputs.
    pub routed: RoutedRecords,
    /// What is counted of it, if anything is.
    pub counts: Option<PartCounts>,
    /// The charge of its long reads, until it is written.
    pub charge: Option<Charge>,
}

/// Returns the scheme of the index of an output; `None` if it gets none, or is not BAM.
pub(super) fn index_scheme(
    output: &Output,
    header: &Header,
    sorted: bool,
    is_regular: bool,
) -> Result<Option<Scheme>> {
    let bam = output.format == Format::Bam;
    Ok(match output.index {
        Index::Auto if bam && sorted && is_regular => Some(Scheme::for_header(header)),
        Index::Auto | Index::No => None,
        Index::Wanted if output.format == Format::Cram => None,
        Index::Wanted => Some(Scheme::for_header(header)),
        Index::Kind(IndexFormat::Bai) => Some(Scheme::bai(header)?),
        Index::Kind(IndexFormat::Csi | IndexFormat::Tbi) => Some(Scheme::csi(header)),
    })
}

/// A part and its offset.
type PlacedPart = (FilePosition, EncodedPart);

/// The most bytes of a part whose memory is reused.
const KEPT_BYTES: usize = 4 << 20;

/// Encodes and writes parts, shared by all threads.
pub struct PartWriter<'a> {
    pub(super) format: Format,
    pub(super) codec: Codec,
    pub(super) level: u8,
    pub(super) scheme: Option<Scheme>,
    pub(super) header: &'a Header,
    pub(super) fastq: fastq::FastqStyle,
    pub(super) cram: Option<cram::EncoderOptions>,
    pub(super) parts: Pool<EncodedPart>,
    /// The files, if they can be written at any offset, and the parts that wait to be written.
    pub(super) pending: Option<(Vec<PositionedFile>, Mutex<Vec<PlacedPart>>)>,
    /// How parts are counted.
    pub(super) counting: CountSettings,
    pub(super) only_counts: bool,
}

impl<'a> PartWriter<'a> {
    /// A writer of parts of a file that another process will put together.
    pub(super) fn detached(
        output: &Output,
        header: &'a Header,
        sorted: bool,
        cram: Option<cram::EncoderOptions>,
        counting: CountSettings,
        in_flight: usize,
    ) -> Result<Self> {
        let sorted = sorted || header.claims_coordinate_order();
        let Output { format, codec, ref fastq, .. } = *output;
        Ok(PartWriter {
            format,
            codec,
            level: output.level.unwrap_or(DEFAULT_LEVEL),
            scheme: index_scheme(output, header, sorted, true)?,
            header,
            fastq: fastq.clone(),
            cram,
            parts: Pool::new(in_flight),
            pending: None,
            counting,
            only_counts: false,
        })
    }

    /// One thread's encoder.
    pub fn encoder(&self) -> PartEncoder {
        let counter = self.counting.counter();
        PartEncoder { records: self.record_encoder(), counter }
    }

    fn record_encoder(&self) -> RecordEncoder {
        if self.only_counts {
            return RecordEncoder::Nothing;
        }
        if let Some(writing) = &self.cram {
            return RecordEncoder::Cram(Box::new(cram::Encoder::new(writing)));
        }
        match self.format {
            Format::Bam => {
                RecordEncoder::Bam(Box::new(Encoder::new(self.codec, self.level, self.scheme)))
            }
            format => {
                let style =
                    matches!(format, Format::Fastq | Format::FastqGz).then(|| self.fastq.clone());
                let codec = format.is_compressed();
                let codec = codec.then(|| Box::new(Encoder::new(self.codec, self.level, None)));
                RecordEncoder::Text(TextEncoder {
                    header: self.header.clone(),
                    style,
                    codec,
                    text: Vec::new(),
                })
            }
        }
    }

    /// The settings that an encoder depends on, where it can encode parts of other outputs of the same contigs: not of
    /// CRAM, which depends on read groups, too.
    pub fn encoder_settings(&self) -> Option<EncoderSettings> {
        let PartWriter { format, codec, level, scheme, .. } = *self;
        self.cram.is_none().then_some(EncoderSettings { format, codec, level, scheme })
    }

    /// The bytes of records that a part should have, where small ones are compressed worse: containers of CRAM.
    pub fn gathers(&self) -> Option<u64> {
        self.cram.as_ref().map(|writing| cram::partition_bytes(writing.version, writing.profile))
    }

    /// How many more copies of a long read are in memory while it is encoded as CRAM: its series, and one of them while
    /// it is compressed; in 3.1 also its qualities in their other direction.
    pub fn cram_copies(&self) -> u64 {
        let copies =
            |writing: &cram::EncoderOptions| if writing.version >= cram::Version::V3_1 { 4 } else { 3 };
        self.cram.as_ref().map_or(0, copies)
    }

    /// An empty part.
    pub fn part(&self) -> EncodedPart {
        self.parts.take().unwrap_or_default()
    }

    /// Recycles the memory of a written part, unless long reads made it large.
    pub(super) fn reuse(&self, mut part: EncodedPart) {
        part.charge = None;
        if part.bytes.capacity() <= KEPT_BYTES {
            self.parts.put(part);
        }
    }

    /// Writes the parts that wait. A thread calls this before it encodes, so that all threads write and few parts wait;
    /// it is called once more at the end.
    pub fn write_pending(&self) -> Result<()> {
        self.counting.tallies.iter().try_for_each(|tally| tally.write_pending())?;
        let Some((files, queue)) = &self.pending else { return Ok(()) };
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((place, part)) = next else { return Ok(()) };
            files[place.file].write_at(&part.bytes, place.offset)?;
            self.reuse(part);
        }
    }
}

/// The settings that an encoder depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct EncoderSettings {
    format: Format,
    codec: Codec,
    level: u8,
    scheme: Option<Scheme>,
}

/// One thread's encoder of parts.
pub struct PartEncoder {
    records: RecordEncoder,
    /// Counts parts, if they are counted.
    counter: Option<PartCounter>,
}

/// One thread's encoder of the records of parts.
enum RecordEncoder {
    /// No records are written.
    Nothing,
    /// BGZF blocks of BAM records.
    Bam(Box<Encoder>),
    /// Lines of text.
    Text(TextEncoder),
    /// Containers of CRAM.
    Cram(Box<cram::Encoder>),
}

/// Bytes of records beyond which the text of a batch gets its memory at once: containers of CRAM, and long reads. The text of
/// others may take less, and its share of the memory is that of what it takes.
const LARGE_BATCH: u64 = 2 << 20;

/// About how many bytes the lines of these records take: bases take twice the bytes, most else about as many.
fn likely_text(batch: &Batch) -> usize {
    batch.record_bytes() as usize / 8 * 11
}

/// One thread's encoder of text.
struct TextEncoder {
    header: Header,
    /// The FASTQ style; `None` for SAM.
    style: Option<fastq::FastqStyle>,
    /// The compressor, if the text is compressed.
    codec: Option<Box<Encoder>>,
    text: Vec<u8>,
}

impl TextEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
        self.text.clear();
        let text = if self.codec.is_some() { &mut self.text } else { &mut *out };
        if batch.record_bytes() > LARGE_BATCH {
            text.reserve(likely_text(batch));
        }
        for (stamp, record) in batch.records() {
            match &self.style {
                Some(style) => fastq::write_record(style, record, text),
                None => sam::try_write_record(&self.header, record, text)
                    .map_err(|what| Error::input(what).record(stamp.ordinal()).qname(record.qname()))?,
            }
        }
        if let Some(codec) = &mut self.codec {
            codec.bytes(&self.text, out);
        }
        if self.text.capacity() > KEPT_BYTES {
            self.text = Vec::new();
        }
        Ok(())
    }
}

impl PartEncoder {
    /// Encodes the batch's records into `part`, whose memory is reused.
    pub fn encode(&mut self, batch: &Batch, part: &mut EncodedPart) -> Result<()> {
        part.bytes.clear();
        part.records = batch.len() as u64;
        match &mut self.records {
            RecordEncoder::Nothing => {}
            RecordEncoder::Bam(encoder) => part.fragment = encoder.partition(batch, &mut part.bytes),
            RecordEncoder::Text(encoder) => encoder.encode(batch, &mut part.bytes)?,
            RecordEncoder::Cram(encoder) => part.cram = encoder.partition(batch, &mut part.bytes)?,
        }
        part.counts = self.counter.as_mut().map(|counter| counter.count(batch)).transpose()?;
        Ok(())
    }
}
