//! What ingest works with, and what its serial phases share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_engine::Pool;
use readmill_markdup::DuplicateEnds;
use readmill_sort::{Entry, Frames};

use crate::outputs::PartWriter;
use crate::pipeline::batch_pipeline::BatchPipeline;
use crate::pipeline::feed::FeedReaders;
use crate::pipeline::flush::Flush;
use crate::pipeline::sort_buffer::SortBuffer;
use crate::pipeline::sort_context::SortContext;
use crate::process::console::Console;

/// What ingest works with, shared by all threads.
pub struct Ingest<'a> {
    /// What is done to reads as they come.
    pub pipeline: BatchPipeline<'a>,
    /// How reads are sorted, and where they wait.
    pub context: &'a SortContext,
    /// What is noted for duplicates.
    pub ends: Option<&'a DuplicateEnds>,
    /// What encodes reads for the output as soon as memory is full; nothing where reads cannot leave yet.
    pub writer: Option<&'a PartWriter<'a>>,
    /// What is done to reads as they leave then.
    pub leaving: BatchPipeline<'a>,
    /// Progress.
    pub console: &'a Console,
    /// Opens and checks what is read.
    pub readers: FeedReaders,
    /// Buffers that tickets hand on.
    pub buffers: IngestBuffers,
}

/// Buffers that tickets hand on.
pub struct IngestBuffers {
    pub entries: Pool<Vec<Entry>>,
    pub frames: Pool<Frames>,
}

impl IngestBuffers {
    /// As many of each as tickets are under way.
    pub fn new(in_flight: usize) -> Self {
        IngestBuffers { entries: Pool::new(in_flight), frames: Pool::new(in_flight) }
    }
}

/// What the claimer and the committer share.
pub struct IngestState {
    pub flush: Flush,
    /// Room that the reads in the current arena take, and all ends.
    pub reads: u64,
    pub ends: u64,
    pub too_many_runs: bool,
    /// Bytes of the largest read so far, and how many tickets of the turnover may have such a one.
    pub largest: u64,
    pub large_under_way: u64,
}

impl IngestState {
    pub fn new(context: &SortContext, held: &SortBuffer) -> Self {
        let flush = Flush::new(context.sort.clone(), Arc::clone(&context.spill));
        let (reads, ends, largest) = (held.charge.bytes(), held.ends.bytes(), held.largest);
        IngestState { flush, reads, ends, too_many_runs: false, largest, large_under_way: 0 }
    }
}

pub fn lock<'a>(shared: &'a Mutex<IngestState>) -> MutexGuard<'a, IngestState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
