//! What is done to reads.
//!
//! A [`Step`] changes or drops the reads of a batch; it sees one batch at a time, on any thread, in any
//! order. What needs the whole input is in [`sort`], [`markdup`] and [`bqsr`]: a part that takes each batch's
//! share as it passes, and a part that turns all shares into a value a later step is made from.
//! Nothing here starts threads.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bqsr;
pub mod filter;
pub mod markdup;
pub mod sort;

use readmill_record::{Batch, Result};

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

    /// Changes the batch.
    fn apply(&mut self, batch: &mut Batch) -> Result<()>;

    /// Reads it dropped or changed so far, in this copy, by a name fit for the summary.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}
