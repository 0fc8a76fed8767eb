//! Encodes and writes parts of an output, on all threads.

use std::sync::{Mutex, PoisonError};

use readmill_engine::Pool;
use readmill_record::{Batch, Charge, Header, Result};

use super::files::FilePosition;
use super::part_counts::{CountSettings, PartCounter, PartCounts};
use super::routing::RoutedRecords;
use crate::formats::{
    BatchEncoder, EncoderMaker, EncoderSettings, Format, KEPT_BYTES, LargeParts, PartEntries,
};
use crate::outputs::atomic_file::PositionedFile;

/// A part of the output, encoded.
#[derive(Default)]
pub struct EncodedPart {
    pub bytes: Vec<u8>,
    /// What is completed once its offset is known, such as its index entries.
    pub entries: PartEntries,
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

/// A part and its offset.
type PlacedPart = (FilePosition, EncodedPart);

/// Encodes and writes parts, shared by all threads.
pub struct PartWriter<'a> {
    pub(super) format: Format,
    pub(super) encoders: EncoderMaker,
    pub(super) header: &'a Header,
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
        format: Format,
        encoders: EncoderMaker,
        header: &'a Header,
        counting: CountSettings,
        in_flight: usize,
    ) -> Self {
        let (parts, pending, only_counts) = (Pool::new(in_flight), None, false);
        PartWriter { format, encoders, header, parts, pending, counting, only_counts }
    }

    /// One thread's encoder.
    pub fn encoder(&self) -> PartEncoder {
        let records = (!self.only_counts).then(|| self.encoders.make(self.header));
        PartEncoder { records, counter: self.counting.counter() }
    }

    /// The settings that an encoder depends on, where it can encode parts of other outputs of the same contigs.
    pub fn encoder_settings(&self) -> Option<EncoderSettings> {
        self.encoders.settings()
    }

    /// The parts that the format needs, where those of BAM are compressed worse.
    pub fn large_parts(&self) -> Option<LargeParts> {
        self.format.large_parts()
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

/// One thread's encoder of parts.
pub struct PartEncoder {
    /// Encodes records; `None` if none are written.
    records: Option<Box<dyn BatchEncoder>>,
    /// Counts parts, if they are counted.
    counter: Option<PartCounter>,
}

impl PartEncoder {
    /// Encodes the batch's records into `part`, whose memory is reused.
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
