//! Parts of an output that a write stage of a job stores in its file. The join stage assembles the
//! output from them.

use std::sync::Arc;

use readmill_format::spill::{Extent, Spill};
use readmill_record::{Charge, Error, Header, Ledger, Result};
use serde::{Deserialize, Serialize};

use super::part_counts::CountSettings;
use super::part_writer::{EncodedPart, PartWriter};
use super::sink::PartTarget;
use crate::formats::{EncoderMaker, Format, PartEntries, TargetFile};
use crate::plan::Output;

/// Expected memory of each part in the list, in bytes; mostly index entries.
const USUAL_PART: u64 = 512;

/// Copies of the list in memory while it is written as the footer of the file.
const COPIES: u64 = 2;

/// A part in the file of a stage. Its bytes follow those of the previous part.
#[derive(Debug, Serialize, Deserialize)]
pub struct StagedPart {
    /// Length in bytes, including the counts, and CRC-32 of these bytes.
    pub bytes: u64,
    pub crc: u32,
    /// Bytes at the end of the part that contain the counts of the ordered tallies.
    pub counts: u64,
    pub records: u64,
    /// Bytes of all records before this part in the whole output.
    pub start: u64,
    /// Data that can be completed only when the offset of the part in the output is known.
    pub entries: PartEntries,
}

/// The parts of a range in output order. They are stored serialized, because there is one for each
/// MiB of the output.
#[derive(Default, Serialize, Deserialize)]
pub struct StagedPartList {
    bytes: Vec<u8>,
    #[serde(skip)]
    charge: Option<Charge>,
}

impl StagedPartList {
    /// Creates an empty list and charges memory for about `parts` parts.
    fn new(parts: u64, ledger: &Ledger) -> Result<Self> {
        let charge = Some(ledger.charge("the list of parts", parts * USUAL_PART)?);
        Ok(StagedPartList { bytes: Vec::new(), charge })
    }

    fn push(&mut self, part: &StagedPart) -> Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        self.bytes = postcard::to_extend(part, bytes)
            .map_err(|error| Error::bug(format!("a part cannot be encoded: {error}")))?;
        let needed = COPIES * self.bytes.capacity() as u64;
        self.charge
            .iter_mut()
            .filter(|charge| charge.bytes() < needed)
            .for_each(|charge| charge.resize(needed));
        Ok(())
    }

    /// Calls `each` with each part, in order. Stops at the first error.
    pub fn try_each(&self, mut each: impl FnMut(StagedPart) -> Result<()>) -> Result<()> {
        let mut rest = &self.bytes[..];
        while !rest.is_empty() {
            let (part, behind) = postcard::take_from_bytes(rest)
                .map_err(|error| Error::bug(format!("a part cannot be decoded: {error}")))?;
            each(part)?;
            rest = behind;
        }
        Ok(())
    }
}

/// Writes encoded parts to the file of a stage, and lists them. It replaces the sink.
pub struct StagedPartWriter<'a> {
    format: Format,
    encoders: EncoderMaker,
    counting: CountSettings,
    spill: &'a Arc<Spill>,
    extent: Extent,
    parts: StagedPartList,
}

impl<'a> StagedPartWriter<'a> {
    /// Creates the target for about `parts` parts of `output`. `sorted` means that the output will
    /// be in coordinate order, so that index entries are needed.
    pub fn new(
        output: &Output,
        header: &Header,
        sorted: bool,
        counting: CountSettings,
        parts: u64,
        ledger: &Ledger,
        spill: &'a Arc<Spill>,
    ) -> Result<Self> {
        let encoders = output.format.encoders(&TargetFile {
            header,
            codec: output.codec,
            level: output.level,
            index: output.index,
            is_sorted: sorted || header.declares_coordinate_order(),
            is_regular: true,
            is_pipe: false,
            bases: &output.bases,
            ledger,
        })?;
        let (format, parts) = (output.format.clone(), StagedPartList::new(parts, ledger)?);
        Ok(StagedPartWriter { format, encoders, counting, spill, extent: spill.begin_extent(0)?, parts })
    }

    /// Returns the list of parts, and the position of the first part in the file.
    pub fn into_parts(self) -> (StagedPartList, Extent) {
        (self.parts, self.extent)
    }
}

impl PartTarget for StagedPartWriter<'_> {
    fn writer<'h>(&self, header: &'h Header, in_flight: usize) -> Result<PartWriter<'h>> {
        let (format, encoders) = (self.format.clone(), self.encoders.clone());
        Ok(PartWriter::for_detached_parts(format, encoders, header, self.counting.clone(), in_flight))
    }

    fn take_part(&mut self, mut part: EncodedPart, writer: &PartWriter<'_>) -> Result<()> {
        let counts = part.counts.take().map(|counts| counts.store(&mut part.bytes)).transpose()?;
        self.spill.append_bytes(&mut self.extent, &part.bytes)?;
        self.parts.push(&StagedPart {
            bytes: part.bytes.len() as u64,
            crc: crc32fast::hash(&part.bytes),
            counts: counts.unwrap_or(0),
            records: part.records,
            start: part.start,
            entries: std::mem::take(&mut part.entries),
        })?;
        writer.recycle_part(part);
        Ok(())
    }
}
