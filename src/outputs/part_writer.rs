//! Encodes and writes the parts of an output, on all threads.
//!
//! [`super::Sink`] assigns each encoded part its offset in the file, in order. Any thread can then
//! write it there.

use std::sync::{Mutex, PoisonError};

use readmill_engine::Pool;
use readmill_process::atomic_file::PositionedFile;
use readmill_record::{Batch, Charge, Header, Result};

use super::files::FilePosition;
use super::part_counts::{CountSettings, PartCounter, PartCounts};
use super::routing::RoutedRecords;
use crate::formats::{
    BatchEncoder, EncoderMaker, EncoderSettings, Format, KEPT_BYTES, LargeParts, PartEntries,
};

/// An encoded part of an output: the records of one partition, as the bytes of the file format.
#[derive(Default)]
pub struct EncodedPart {
    pub bytes: Vec<u8>,
    /// Data that can be completed only when the offset of the part is known, such as index entries.
    pub entries: PartEntries,
    pub records: u64,
    /// Bytes of all records before this part, which determine the file of an output in parts that
    /// receives it. 0 if reads are written while the input is read.
    pub start: u64,
    /// The reads that belong to extra outputs.
    pub routed: RoutedRecords,
    /// The counts of the ordered tallies; `None` if there are no such tallies.
    pub counts: Option<PartCounts>,
    /// The charge for long reads, released when the part is written.
    pub charge: Option<Charge>,
}

/// A part with its position in the files.
type PlacedPart = (FilePosition, EncodedPart);

/// Encodes and writes the parts of one output. All threads share it.
pub struct PartWriter<'a> {
    pub(super) format: Format,
    pub(super) encoders: EncoderMaker,
    pub(super) header: &'a Header,
    pub(super) parts: Pool<EncodedPart>,
    /// The files, and the parts that wait to be written. `None` for a pipe or device, which can
    /// only be written in order.
    pub(super) pending: Option<(Vec<PositionedFile>, Mutex<Vec<PlacedPart>>)>,
    pub(super) counting: CountSettings,
    pub(super) only_counts: bool,
}

impl<'a> PartWriter<'a> {
    /// Creates a writer for parts that a later process joins into a file.
    /// [`PartWriter::write_pending`] does not write them.
    pub(super) fn for_detached_parts(
        format: Format,
        encoders: EncoderMaker,
        header: &'a Header,
        counting: CountSettings,
        in_flight: usize,
    ) -> Self {
        let (parts, pending, only_counts) = (Pool::new(in_flight), None, false);
        PartWriter { format, encoders, header, parts, pending, counting, only_counts }
    }

    /// Returns an encoder for one thread.
    pub fn new_encoder(&self) -> PartEncoder {
        let records = (!self.only_counts).then(|| self.encoders.make(self.header));
        PartEncoder { records, counter: self.counting.counter() }
    }

    /// Returns the encoder settings, which [`super::extra_writer`] uses to find an idle encoder for
    /// another output. `None` if the encoder depends on more than the settings.
    pub fn encoder_settings(&self) -> Option<EncoderSettings> {
        self.encoders.settings()
    }

    /// Returns the part size of a format that compresses better in larger parts than BAM, such as
    /// CRAM. `None` for all other formats.
    pub fn large_parts(&self) -> Option<LargeParts> {
        self.format.large_parts()
    }

    /// Returns an empty part, which reuses the memory of a written part if there is one.
    pub fn take_empty_part(&self) -> EncodedPart {
        self.parts.take().unwrap_or_default()
    }

    /// Keeps the memory of a written part for reuse, unless long reads have made it large.
    pub(super) fn recycle_part(&self, mut part: EncodedPart) {
        part.charge = None;
        if part.bytes.capacity() <= KEPT_BYTES {
            self.parts.put(part);
        }
    }

    /// Writes all waiting parts. Each thread calls this before it encodes, so that all threads
    /// share the writing and few parts wait. Called once more at the end.
    pub fn write_pending(&self) -> Result<()> {
        self.counting.tallies.iter().try_for_each(|tally| tally.write_pending())?;
        let Some((files, queue)) = &self.pending else { return Ok(()) };
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((place, part)) = next else { return Ok(()) };
            files[place.file].write_at(&part.bytes, place.offset)?;
            self.recycle_part(part);
        }
    }
}

/// An encoder for the parts of one thread.
pub struct PartEncoder {
    /// `None` if reads are only counted and not written.
    records: Option<Box<dyn BatchEncoder>>,
    counter: Option<PartCounter>,
}

impl PartEncoder {
    /// Encodes the records of `batch` into `part`, whose memory is reused.
    pub fn encode(&mut self, batch: &Batch, part: &mut EncodedPart) -> Result<()> {
        part.bytes.clear();
        part.records = batch.len() as u64;
        if let Some(records) = &mut self.records {
            part.entries = records.encode(batch, &mut part.bytes)?;
        }
        part.counts = self.counter.as_mut().map(|counter| counter.count(batch)).transpose()?;
        Ok(())
    }
}
