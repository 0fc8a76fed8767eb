//! The passes of a run: where the engine, which knows only threads, meets steps and formats.

pub mod batch_pipeline;
pub mod count;
pub mod duplicates;
pub mod feed;
pub mod flush;
pub mod ingest;
pub mod inputs;
pub mod long_reads;
pub mod merge;
pub mod open_input;
pub mod parallel_sort;
pub mod presorted;
pub mod recollect;
pub mod region_input;
pub mod sort_buffer;
pub mod sort_context;
pub mod stream;
pub mod undecided;

use std::borrow::Cow;

use readmill_record::Step;
use readmill_record::{Batch, Result};

/// One thread's own copies of the steps.
pub type ThreadSteps = Vec<Box<dyn Step>>;

/// Copies of the steps for one thread.
pub fn fork_steps(steps: &[Box<dyn Step>]) -> ThreadSteps {
    steps.iter().map(|step| step.fork()).collect()
}

/// How many records consecutive steps process at a time, if each of them can take few: some ten thousand bytes.
const RECORDS_TOGETHER: usize = 64;

/// Applies the steps in order.
pub fn apply(steps: &mut ThreadSteps, batch: &mut Batch) -> Result<()> {
    for row in steps.chunk_by_mut(|step, next| step.by_record() && next.by_record()) {
        match row {
            [step] => step.apply(batch)?,
            row => batch.in_slices(RECORDS_TOGETHER, |few| {
                row.iter_mut().try_for_each(|step| step.apply(few))
            })?,
        }
    }
    Ok(())
}

/// Numbers of reads by name, in the order in which the names first appear.
pub type StepCounts = Vec<(Cow<'static, str>, u64)>;

/// Adds the counts of all copies of the steps.
pub fn add_counts<'a>(sums: &mut StepCounts, workers: impl Iterator<Item = &'a ThreadSteps>) {
    sum_counts(sums, workers.flatten().flat_map(|step| step.counts()).map(|(name, n)| (name.into(), n)));
}

/// Adds counts.
pub fn sum_counts(sums: &mut StepCounts, more: impl IntoIterator<Item = (Cow<'static, str>, u64)>) {
    for (name, n) in more {
        match sums.iter_mut().find(|sum| sum.0 == name) {
            Some(sum) => sum.1 += n,
            None => sums.push((name, n)),
        }
    }
}
