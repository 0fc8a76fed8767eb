//! Simulated samples as files, for the demonstration, tests and benchmarks.

use std::path::Path;

use readmill_engine::{Crew, Pass};
use readmill_format::bam::Encoder;
use readmill_record::{Batch, Error, Header, Result, Stamp};
use readmill_simulate::Sample;

use crate::output::Sink;
use crate::plan::{Format, Index, Output, Verbosity};
use crate::report::Report;

/// Bytes of records that are encoded together.
const PART: usize = 1 << 20;

struct Encode {
    level: u8,
}

impl Pass for Encode {
    type Input = Vec<u8>;
    type Opened = Vec<u8>;
    type Linked = Vec<u8>;
    type Output = Vec<u8>;
    type Worker = (Encoder, Batch);
    type Error = Error;

    fn worker(&self) -> Self::Worker {
        (Encoder::new(self.level, None), Batch::default())
    }

    fn open(&self, _: &mut Self::Worker, records: Vec<u8>) -> Result<Vec<u8>> {
        Ok(records)
    }

    fn work(&self, (encoder, batch): &mut Self::Worker, records: Vec<u8>) -> Result<Vec<u8>> {
        batch.clear();
        let mut rest = &records[..];
        while let Some(size) = rest.first_chunk::<4>() {
            let (record, behind) = rest.split_at(u32::from_le_bytes(*size) as usize + 4);
            batch.push(record, Stamp::default());
            rest = behind;
        }
        let mut out = Vec::new();
        encoder.partition(batch, &mut out);
        Ok(out)
    }
}

/// Writes the sample's reads, in the order an aligner gives them, as a BAM file.
pub fn write_bam(sample: &Sample, path: &Path, level: u8, crew: Crew) -> Result<()> {
    let header = Header::parse(sample.header_text().as_bytes())?;
    let report = Report::new(Verbosity::Quiet);
    let output = Output {
        path: path.to_path_buf(),
        format: Format::Bam,
        level: Some(level),
        index: Index::No,
        no_pg: true,
    };
    let mut sink = Sink::create(&output, &header, false, &report)?;
    let mut records = sample.records();
    readmill_engine::run(
        crew,
        &Encode { level },
        |_| {
            let mut part = Vec::with_capacity(PART + (1 << 16));
            while part.len() < PART && records.next(&mut part) {}
            Ok((!part.is_empty()).then_some(part))
        },
        |_, records| Ok(records),
        |_, bytes| sink.write_bytes(&bytes),
    )?;
    sink.finish(&report).map(drop)
}
