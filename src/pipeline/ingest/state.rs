//! The options of ingest ([`Ingest`]), which all threads share, and the state that its two serial
//! phases, claim and commit, share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_engine::Pool;
use readmill_markdup::DuplicateEnds;
use readmill_process::console::Console;
use readmill_sort::{Entry, Frames};

use crate::outputs::PartWriter;
use crate::pipeline::batch_pipeline::BatchPipeline;
use crate::pipeline::feed::FeedReaders;
use crate::pipeline::flush::Flush;
use crate::pipeline::sort_buffer::SortBuffer;
use crate::pipeline::sort_context::SortContext;

pub struct Ingest<'a> {
    pub pipeline: BatchPipeline<'a>,
    pub context: &'a SortContext,
    pub ends: Option<&'a DuplicateEnds>,
    /// Encodes presorted reads for the output. `None` if no read can be written before the input
    /// ends, for example with duplicate marking.
    pub writer: Option<&'a PartWriter<'a>>,
    /// Applied to presorted reads that are written to the output. Contains only tallies, no step
    /// that changes reads.
    pub output_pipeline: BatchPipeline<'a>,
    pub console: &'a Console,
    pub readers: FeedReaders,
    pub buffers: IngestBuffers,
}

pub struct IngestBuffers {
    pub entries: Pool<Vec<Entry>>,
    pub frames: Pool<Frames>,
}

impl IngestBuffers {
    pub fn new(in_flight: usize) -> Self {
        IngestBuffers { entries: Pool::new(in_flight), frames: Pool::new(in_flight) }
    }
}

/// The state that the claimer and the committer share. Both are serial, but run on different
/// threads.
pub struct IngestState {
    pub flush: Flush,
    pub arena_bytes: u64,
    pub end_bytes: u64,
    pub too_many_runs: bool,
    /// Size of the largest read so far in bytes. `large_flushes_in_flight` counts the flush tickets
    /// in flight that may hold such a read.
    pub largest_record_bytes: u64,
    pub large_flushes_in_flight: u64,
}

impl IngestState {
    pub fn new(context: &SortContext, buffer: &SortBuffer) -> Self {
        let flush = Flush::new(context.sort.clone(), Arc::clone(&context.spill));
        let (reads, ends, largest) =
            (buffer.charge.bytes(), buffer.ends.bytes(), buffer.largest_record_bytes);
        IngestState {
            flush,
            arena_bytes: reads,
            end_bytes: ends,
            too_many_runs: false,
            largest_record_bytes: largest,
            large_flushes_in_flight: 0,
        }
    }
}

pub fn lock_state<'a>(shared: &'a Mutex<IngestState>) -> MutexGuard<'a, IngestState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
