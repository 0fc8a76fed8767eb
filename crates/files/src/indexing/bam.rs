//! Builds the index of a BAM file. All threads inflate and index chunks, which are joined in order.

use std::fs::File;

use readmill_engine::{Pass, Pool, run_pass};
use readmill_format::bam::index::chunks::{
    ChunkIndexer, ChunkJoiner, ChunkReader, IndexedChunk, JoinedChunk, OpenChunk, OrderCheck,
};
use readmill_format::bam::index::{IndexBuilder, IndexScheme};
use readmill_format::bgzf::{BlockReader, Chunk};
use readmill_input::ConcatenationCheck;
use readmill_record::{Error, Limit, Result};

use super::index_job::{FinishedIndex, INDEX, IndexJob, IndexOptions};
use crate::blocks::read_header;

/// A record may take one of this number of equal parts of the free memory.
const RECORD_PARTS: u64 = 8;

struct IndexPass {
    scheme: IndexScheme,
    n_ref: i32,
    buffers: Pool<(Chunk, Vec<u8>)>,
}

impl Pass for IndexPass {
    type Input = (Chunk, Vec<u8>);
    type Opened = OpenChunk;
    type Linked = JoinedChunk;
    type Output = IndexedChunk;
    type Worker = (ChunkReader, ChunkIndexer);
    type Error = Error;

    fn make_worker(&self) -> Self::Worker {
        (ChunkReader::new(self.n_ref), ChunkIndexer::new(self.scheme, self.n_ref))
    }

    fn open(&self, (reader, _): &mut Self::Worker, (chunk, bytes): Self::Input) -> Result<OpenChunk> {
        reader.open_chunk(chunk, bytes)
    }

    fn work(&self, (_, indexer): &mut Self::Worker, joined: JoinedChunk) -> Result<IndexedChunk> {
        indexer.index_chunk(joined)
    }
}

/// Builds the BAI or CSI index of a BAM file in memory.
///
/// # Errors
/// Fails if the file is damaged or not sorted by coordinate, or if there is too little memory.
pub fn index_bam(file: File, options: &IndexOptions, workshop: &IndexJob<'_>) -> Result<FinishedIndex> {
    let IndexJob { crew, ledger, console, .. } = workshop;
    let mut blocks = BlockReader::new(file, options.allow_missing_eof);
    let mut joints = ConcatenationCheck::default();
    let (header, first, taken) = read_header(&mut blocks, &mut joints, false, ledger)?;
    let scheme = options.binning_scheme(&header)?;
    let usual = IndexBuilder::usual_bytes(&header);
    let mut charge = ledger.charge(INDEX, usual)?;
    let mut builder = IndexBuilder::new(scheme, &header);
    let mut joiner = ChunkJoiner::new(taken, Limit::part_of(ledger.free(), RECORD_PARTS, ledger));
    let mut order = OrderCheck::default();
    let pass = IndexPass { scheme, n_ref: header.n_ref(), buffers: Pool::new(crew.in_flight) };
    let mut first = Some(first);
    run_pass(
        *crew,
        &pass,
        |_| {
            if let Some(first) = first.take() {
                return Ok(Some((first, Vec::new())));
            }
            let (mut chunk, bytes) = pass.buffers.take().unwrap_or_default();
            let is_more = blocks.next_chunk(&mut chunk)?;
            joints.check_blocks(&chunk)?;
            Ok(is_more.then_some((chunk, bytes)))
        },
        |_, open| joiner.join_chunk(open),
        |_, indexed: IndexedChunk| {
            order.check_chunk(&indexed)?;
            console.advance(indexed.buffers.0.compressed.len() as u64);
            builder.add_fragment(indexed.fragment, 0);
            let more = builder.heap_bytes().saturating_sub(charge.bytes());
            charge.grow(more)?;
            pass.buffers.put(indexed.buffers);
            Ok(())
        },
    )?;
    let records = joiner.finish_file()?;
    FinishedIndex::from_builder(builder, scheme, records, &mut charge)
}
