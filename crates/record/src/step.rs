//! The traits of all steps and tallies of a pipeline.
//!
//! A [`Step`] changes or drops the reads of a batch; a [`Tally`] counts something of them. Both see one batch at a time, on any
//! thread, in any order. `examples/` has a program that adds one of each. Within a version 0.x these traits and
//! [`Changes`] change only with x.

use crate::batch::Batch;
use crate::changes::Changes;
use crate::error::Result;

/// Changes or drops the reads of a batch.
pub trait Step: Send + Sync {
    /// The name of the step, which is that of its flag.
    fn name(&self) -> &'static str;

    /// A thread's private copy, scratch included.
    fn fork(&self) -> Box<dyn Step>;

    /// Most bytes by which it may lengthen a record.
    fn growth(&self) -> usize {
        0
    }

    /// The changes it may make. `--verify` checks that it makes no others.
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

/// Counts something of reads without changing them.
///
/// The counts of all threads are merged at the end, in any order: they must be integers, so that the result
/// is the same for any number of threads.
pub trait Tally: Send + Sync {
    /// The counts of one thread.
    type Partial: Send + Default;
    /// The result for all reads.
    type Total;

    /// Counts the reads of a batch.
    fn observe(&self, partial: &mut Self::Partial, batch: &Batch) -> Result<()>;

    /// Adds the counts of another thread.
    fn merge(&self, into: &mut Self::Partial, from: Self::Partial);

    /// Makes the result from the counts of all threads.
    fn finish(&self, total: Self::Partial) -> Result<Self::Total>;
}
