//! Parts of a BAM output in the file of a stage, from which a later stage makes the output.

use std::sync::Arc;

use readmill_cram::{Encoded, EncoderOptions};
use readmill_format::bam::index::Fragment;
use readmill_format::spill::{Extent, Spill};
use readmill_record::{Header, Ledger, Result};
use serde::{Deserialize, Serialize};

use super::cram_output::CramOutput;
use super::sink::{EncodedPart, PartTarget, PartWriter};
use crate::plan::{Format, Output};

/// A part in the file of a stage; its bytes follow those of the part before.
#[derive(Debug, Serialize, Deserialize)]
pub struct StagedPart {
    /// How many bytes it has, and their CRC-32.
    pub bytes: u64,
    pub crc: u32,
    /// Its records.
    pub records: u64,
    /// Bytes of all records before it.
    pub start: u64,
    /// Its index entries.
    pub fragment: Option<Fragment>,
    /// Where its containers of CRAM lie.
    pub cram: Encoded,
}

/// Takes encoded parts in order, and writes them into the file of a stage.
pub struct StagedParts<'a> {
    output: &'a Output,
    sorted: bool,
    cram: Option<EncoderOptions>,
    spill: &'a Arc<Spill>,
    extent: Extent,
    parts: Vec<StagedPart>,
}

impl<'a> StagedParts<'a> {
    /// Takes parts of `output`, which will be in coordinate order if `sorted`.
    pub fn new(
        output: &'a Output,
        header: &Header,
        sorted: bool,
        ledger: &Ledger,
        spill: &'a Arc<Spill>,
    ) -> Result<Self> {
        let cram =
            (output.format == Format::Cram).then(|| CramOutput::new(output, header, false, ledger));
        let cram = cram.transpose()?.map(|cram| cram.writing);
        Ok(StagedParts { output, sorted, cram, spill, extent: spill.begin(0)?, parts: Vec::new() })
    }

    /// Returns the parts, and where the first of them lies.
    pub fn complete(self) -> (Vec<StagedPart>, Extent) {
        (self.parts, self.extent)
    }
}

impl PartTarget for StagedParts<'_> {
    fn writer<'h>(&self, header: &'h Header, in_flight: usize) -> Result<PartWriter<'h>> {
        PartWriter::detached(self.output, header, self.sorted, self.cram.clone(), in_flight)
    }

    fn take(&mut self, mut part: EncodedPart, writer: &PartWriter<'_>) -> Result<()> {
        self.spill.append(&mut self.extent, &part.bytes)?;
        self.parts.push(StagedPart {
            bytes: part.bytes.len() as u64,
            crc: crc32fast::hash(&part.bytes),
            records: part.records,
            start: part.start,
            fragment: part.fragment.take(),
            cram: std::mem::take(&mut part.cram),
        });
        writer.reuse(part);
        Ok(())
    }
}
