//! What ingest works with, and what its serial phases share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_engine::Pool;
use readmill_markdup::DuplicateEnds;
use readmill_sort::{Entry, Frames};

use crate::outputs::Writer;
use crate::pipeline::batch_pipeline::Doing;
use crate::pipeline::feed::Readers;
use crate::pipeline::flush::Turnover;
use crate::pipeline::sort_buffer::Held;
use crate::pipeline::sort_context::Waiting;
use crate::process::report::Report;

/// What ingest works with, shared by all threads.
pub struct Ingest<'a> {
    /// What is done to reads as they come.
    pub doing: Doing<'a>,
    /// How reads are sorted, and where they wait.
    pub waiting: &'a Waiting,
    /// What is noted for duplicates.
    pub ends: Option<&'a DuplicateEnds>,
    /// What encodes reads for the output as soon as memory is full; nothing where reads cannot leave yet.
    pub writer: Option<&'a Writer<'a>>,
    /// What is done to reads as they leave then.
    pub leaving: Doing<'a>,
    /// Progress.
    pub report: &'a Report,
    /// Opens and checks what is read.
    pub readers: Readers,
    /// Buffers that tickets hand on.
    pub buffers: Buffers,
}

/// Buffers that tickets hand on.
pub struct Buffers {
    pub entries: Pool<Vec<Entry>>,
    pub frames: Pool<Frames>,
}

impl Buffers {
    /// As many of each as tickets are under way.
    pub fn new(in_flight: usize) -> Self {
        Buffers { entries: Pool::new(in_flight), frames: Pool::new(in_flight) }
    }
}

/// What the claimer and the committer share.
pub struct Shared {
    pub turnover: Turnover,
    /// Room that the reads in the current arena take, and all ends.
    pub reads: u64,
    pub ends: u64,
    pub too_many_runs: bool,
    /// Bytes of the largest read so far, and how many tickets of the turnover may have such a one.
    pub largest: u64,
    pub large_under_way: u64,
}

impl Shared {
    pub fn new(waiting: &Waiting, held: &Held) -> Self {
        let turnover = Turnover::new(waiting.sort.clone(), Arc::clone(&waiting.spill));
        let (reads, ends, largest) = (held.charge.bytes(), held.ends.bytes(), held.largest);
        Shared { turnover, reads, ends, too_many_runs: false, largest, large_under_way: 0 }
    }
}

pub fn lock<'a>(shared: &'a Mutex<Shared>) -> MutexGuard<'a, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
