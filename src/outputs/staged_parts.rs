//! Parts of a BAM output in the file of a stage, from which a later stage makes the output.

use std::sync::Arc;

use readmill_format::spill::{Extent, Spill};
use readmill_record::{Charge, Error, Header, Ledger, Result};
use serde::{Deserialize, Serialize};

use super::part_counts::CountSettings;
use super::part_writer::{EncodedPart, PartWriter};
use super::sink::PartTarget;
use crate::formats::{EncoderMaker, Format, PartEntries, TargetFile};
use crate::plan::Output;

/// Bytes of memory for a part in the list, as a rule; its index entries are most of them.
const USUAL_PART: u64 = 512;

/// Copies of the list when it becomes the footer of the file of a stage.
const COPIES: u64 = 2;

/// A part in the file of a stage; its bytes follow those of the part before.
#[derive(Debug, Serialize, Deserialize)]
pub struct StagedPart {
    /// How many bytes it has, and their CRC-32.
    pub bytes: u64,
    pub crc: u32,
    /// How many of its last bytes are what is counted of it.
    pub counts: u64,
    pub records: u64,
    /// Bytes of all records before it.
    pub start: u64,
    /// What is completed once its offset in the output is known.
    pub entries: PartEntries,
}

/// The parts of a range, in their order, packed: there is one for each MiB of the output.
#[derive(Default, Serialize, Deserialize)]
pub struct StagedPartList {
    bytes: Vec<u8>,
    #[serde(skip)]
    charge: Option<Charge>,
}

impl StagedPartList {
    /// A list of about `parts` parts, charged to `ledger`.
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

    /// Calls `each` for the parts in their order.
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

/// Takes encoded parts in order, and writes them into the file of a stage.
pub struct StagedParts<'a> {
    format: Format,
    encoders: EncoderMaker,
    counting: CountSettings,
    spill: &'a Arc<Spill>,
    extent: Extent,
    parts: StagedPartList,
}

impl<'a> StagedParts<'a> {
    /// Takes about `parts` parts of `output`, which will be in coordinate order if `sorted`.
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
        Ok(StagedParts { format, encoders, counting, spill, extent: spill.begin_extent(0)?, parts })
    }

    /// Returns the parts, and where the first of them lies.
    pub fn complete(self) -> (StagedPartList, Extent) {
        (self.parts, self.extent)
    }
}

impl PartTarget for StagedParts<'_> {
    fn writer<'h>(&self, header: &'h Header, in_flight: usize) -> Result<PartWriter<'h>> {
        let (format, encoders) = (self.format.clone(), self.encoders.clone());
        Ok(PartWriter::detached(format, encoders, header, self.counting.clone(), in_flight))
    }

    fn take(&mut self, mut part: EncodedPart, writer: &PartWriter<'_>) -> Result<()> {
        let counts = part.counts.take().map(|counts| counts.store(&mut part.bytes)).transpose()?;
        self.spill.append(&mut self.extent, &part.bytes)?;
        self.parts.push(&StagedPart {
            bytes: part.bytes.len() as u64,
            crc: crc32fast::hash(&part.bytes),
            counts: counts.unwrap_or(0),
            records: part.records,
            start: part.start,
            entries: std::mem::take(&mut part.entries),
        })?;
        writer.reuse(part);
        Ok(())
    }
}
