//! Writes simulated samples to files, for the demonstration, tests and benchmarks.
//!
//! One thread simulates the reads, so that a seed always gives the same reads, and all threads
//! compress them. Memory holds only the genome, with one byte per base, and the batches in
//! progress.

use std::path::Path;

use readmill_engine::{Crew, Pool, map_ordered};
use readmill_format::bam::BamEncoder;
use readmill_format::bgzf::Codec;
use readmill_process::console::Console;
use readmill_record::{Batch, Error, Header, Ledger, Result, Span, Stamp};
use readmill_simulate::Sample;
use readmill_sort::PARTITION;

use crate::formats::{BamFormat, Format};
use crate::outputs::Sink;
use crate::plan::{Index, Output, Verbosity};

const BATCH_BYTES: usize = PARTITION as usize;

/// Writes the reads of `sample` as a BAM file, grouped by template, as an aligner would write them.
pub fn write_sample_bam(sample: &Sample, path: &Path, level: u8, crew: Crew) -> Result<()> {
    let header = Header::parse(sample.header_text().as_bytes())?;
    let console = Console::new(Verbosity::Quiet);
    let output = Output {
        level: Some(level),
        index: Index::No,
        format: Format::new(BamFormat),
        no_pg: true,
        ..Output::new(path)
    };
    let mut sink = Sink::create(&output, &header, false, &Ledger::unlimited(), &console)?;
    sink.write_header(&header)?;
    let (batches, parts) = (Pool::new(crew.in_flight), Pool::new(crew.in_flight));
    let mut records = sample.records();
    map_ordered(
        crew,
        || Ok::<_, Error>(simulate_batch(&mut records, batches.take().unwrap_or_default())),
        || BamEncoder::new(Codec::default(), level, None),
        |encoder, mut batch| {
            let part = compress_batch(encoder, &mut batch, parts.take().unwrap_or_default())?;
            batches.put(batch);
            Ok(part)
        },
        |part: Vec<u8>| {
            sink.write_bytes(&part)?;
            parts.put(part);
            Ok(())
        },
    )?;
    sink.finish(&console).map(drop)
}

/// Simulates the next templates into `batch`, whose memory is reused. Returns `None` at the end of
/// the sample.
fn simulate_batch(
    records: &mut readmill_simulate::SampleRecords<'_>,
    mut batch: Batch,
) -> Option<Batch> {
    batch.clear();
    while batch.bytes.len() < BATCH_BYTES && records.append_next(&mut batch.bytes) {}
    (!batch.bytes.is_empty()).then_some(batch)
}

fn compress_batch(encoder: &mut BamEncoder, batch: &mut Batch, mut part: Vec<u8>) -> Result<Vec<u8>> {
    let Batch { bytes, spans, .. } = &mut *batch;
    let mut start = 0;
    while let Some(size) = bytes[start..].first_chunk::<4>() {
        let len = u32::from_le_bytes(*size) as usize + 4;
        spans.push(Span::new(start, len, Stamp::default())?);
        start += len;
    }
    part.clear();
    encoder.encode_partition(batch, &mut part);
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use readmill_format::bgzf::{BlockReader, Chunk, Inflater};
    use readmill_simulate::Profile;
    use std::fs::File;

    #[test]
    fn the_file_holds_the_header_and_every_record_in_order() {
        let sample = Sample::new(Profile::small().with_pairs(3000).with_seed(7));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("reads.bam");
        write_sample_bam(&sample, &path, 1, Crew { threads: 2, in_flight: 4 }).unwrap();

        let mut expected = Vec::new();
        sample.raw_header(&mut expected);
        let mut records = sample.records();
        while records.append_next(&mut expected) {}
        let mut reader = BlockReader::new(File::open(&path).unwrap(), false);
        let (mut chunk, mut inflater, mut all) = (Chunk::default(), Inflater::default(), Vec::new());
        while reader.next_chunk(&mut chunk).unwrap() {
            inflater.append_chunk(&chunk, &mut all).unwrap();
        }
        assert!(all.len() > 2 * BATCH_BYTES, "several batches are wanted");
        assert!(all == expected);
    }
}
