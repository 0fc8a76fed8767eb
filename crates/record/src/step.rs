//! What the steps of a pipeline have in common.
//!
//! A [`Step`] changes or drops the reads of a batch; a [`Tally`] counts something of them. Both see one batch at a time, on any
//! thread, in any order. `examples/` has a program that adds one of each. Within a version 0.x these traits and
//! [`Changes`] change only with x.

use crate::batch::Batch;
use crate::changes::Changes;
use crate::error::Result;

/// Changes or drops the reads of a batch.
pub trait Step: Send + Sync {
    /// What it does to reads, as its flag is called.
    fn name(&self) -> &'static str;

    /// A thread's private copy, scratch included.
    fn fork(&self) -> Box<dyn Step>;

    /// Most bytes by which it may lengthen a record.
    fn growth(&self) -> usize {
        0
    }

    /// What it may change. A run that verifies that nothing was lost (`--verify`) holds it to that.
    fn changes(&self) -> Changes;

    /// Whether it looks at each record by itself, and drops it, changes it where it is, or amends it
    /// ([`Batch::amend`]), but rewrites no batch. Several such steps in a row are given a few records of a batch at a
    /// time, which caches hold from one to the next.
    fn by_record(&self) -> bool {
        false
    }

    /// Changes the batch.
    fn apply(&mut self, batch: &mut Batch) -> Result<()>;

    /// Reads it dropped or changed so far, in this copy, by a name fit for the summary.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// Learns from reads without changing them.
///
/// What each thread learns is merged at the end, in any order: it must be made of whole numbers, so that the result
/// is the same for any number of threads.
pub trait Tally: Send + Sync {
    /// What one thread has learnt.
    type Partial: Send + Default;
    /// What is learnt from all reads.
    type Total;

    /// Bytes of memory that it takes on so many threads, its result and the text of that included, where they grow with
    /// the header. What every tally takes (some KiB a thread) is not counted.
    fn bytes(&self, _threads: u64) -> u64 {
        0
    }

    /// Learns from the reads of a batch.
    fn observe(&self, partial: &mut Self::Partial, batch: &Batch) -> Result<()>;

    /// Adds what another thread has learnt.
    fn merge(&self, into: &mut Self::Partial, from: Self::Partial);

    /// Makes a result of all that was learnt.
    fn finish(&self, total: Self::Partial) -> Result<Self::Total>;
}
