//! The configuration of ingest, and the state that its serial phases share.

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

/// The configuration of ingest, shared by all threads.
pub struct Ingest<'a> {
    /// The pipeline of reads as they come in.
    pub pipeline: BatchPipeline<'a>,
    /// How reads are sorted, and the memory for it.
    pub context: &'a SortContext,
    /// Stores template ends for duplicates.
    pub ends: Option<&'a DuplicateEnds>,
    /// Encodes presorted reads for the output; `None` where reads cannot leave early.
    pub writer: Option<&'a PartWriter<'a>>,
    /// The pipeline of presorted reads as they leave.
    pub leaving: BatchPipeline<'a>,
    /// Progress.
    pub console: &'a Console,
    /// Opens and checks what is read.
    pub readers: FeedReaders,
    /// Buffers that tickets reuse.
    pub buffers: IngestBuffers,
}

/// Buffers that tickets reuse.
pub struct IngestBuffers {
    pub entries: Pool<Vec<Entry>>,
    pub frames: Pool<Frames>,
}

impl IngestBuffers {
    /// Creates pools for as many tickets as are in flight.
    pub fn new(in_flight: usize) -> Self {
        IngestBuffers { entries: Pool::new(in_flight), frames: Pool::new(in_flight) }
    }
}

/// State that the claimer and the committer share.
pub struct IngestState {
    pub flush: Flush,
    /// Bytes that the reads in the current arena take, and all ends.
    pub reads: u64,
    pub ends: u64,
    pub too_many_runs: bool,
    /// Bytes of the largest read so far, and how many flush tickets in flight may hold one.
    pub largest: u64,
    pub large_under_way: u64,
}

impl IngestState {
    pub fn new(context: &SortContext, buffer: &SortBuffer) -> Self {
        let flush = Flush::new(context.sort.clone(), Arc::clone(&context.spill));
        let (reads, ends, largest) = (buffer.charge.bytes(), buffer.ends.bytes(), buffer.largest);
        IngestState { flush, reads, ends, too_many_runs: false, largest, large_under_way: 0 }
    }
}

pub fn lock<'a>(shared: &'a Mutex<IngestState>) -> MutexGuard<'a, IngestState> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
