//! Builds indexes of files whose records must be read one after the other (SAM, BCF, text), while
//! other threads inflate ahead.

use std::fs::File;

use readmill_engine::{Pool, map_ordered};
use readmill_format::bgzf::{BlockReader, Chunk, Inflater, VirtualOffsets};
use readmill_format::tabix::Indexer;
use readmill_record::{Error, Result};

use super::index_job::{FinishedIndex, INDEX, IndexJob, IndexOptions};

/// Builds the index of `file` in memory. Passes the inflated chunks to `indexer` in order.
///
/// # Errors
/// Fails if the file is damaged or not sorted, or if there is too little memory.
pub fn index_stream(
    file: File,
    mut indexer: Box<dyn Indexer>,
    options: &IndexOptions,
    workshop: &IndexJob<'_>,
) -> Result<FinishedIndex> {
    let IndexJob { crew, ledger, console, .. } = workshop;
    let mut blocks = BlockReader::new(file, options.allow_missing_eof);
    let (mut charge, mut end) = (ledger.empty_charge(INDEX), 0);
    let buffers: Pool<(Chunk, Vec<u8>)> = Pool::new(crew.in_flight);
    map_ordered(
        *crew,
        || {
            let (mut chunk, bytes) = buffers.take().unwrap_or_default();
            Ok(blocks.next_chunk(&mut chunk)?.then_some((chunk, bytes)))
        },
        Inflater::default,
        |inflater, (chunk, mut bytes): (Chunk, Vec<u8>)| {
            inflater.replace_with_chunk(&chunk, &mut bytes)?;
            Ok::<_, Error>((chunk, bytes))
        },
        |(chunk, bytes)| {
            let mut offsets = VirtualOffsets::new(&chunk);
            indexer.take_piece(&bytes, &mut offsets)?;
            end = offsets.end_offset();
            charge.grow(indexer.heap_bytes().saturating_sub(charge.bytes()))?;
            console.advance(chunk.compressed.len() as u64);
            buffers.put((chunk, bytes));
            Ok(())
        },
    )?;
    let (builder, scheme, records) = indexer.finish_file(end)?;
    FinishedIndex::from_builder(builder, scheme, records, &mut charge)
}
