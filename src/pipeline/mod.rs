//! The passes of a run. They connect the engine, which only manages threads, with steps and formats.
//!
//! | pass | module |
//! |---|---|
//! | input to output; keeps no reads | [`stream`] |
//! | input to the sort buffer | [`ingest`], [`flush`], [`presorted`] |
//! | sort buffer to output | [`merge`] |
//! | sort buffer to counts or decisions | [`count`], [`recollect`], [`undecided`] |

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
pub mod tap;
pub mod undecided;

use std::borrow::Cow;

use readmill_record::Step;
use readmill_record::{Batch, Result};

pub type ThreadSteps = Vec<Box<dyn Step>>;

pub fn fork_steps(steps: &[Box<dyn Step>]) -> ThreadSteps {
    steps.iter().map(|step| step.fork_for_thread()).collect()
}

/// Number of records that pass consecutive steps together, if all these steps can process part of a
/// batch. The records take some ten thousand bytes, so they stay in the cache.
const RECORDS_TOGETHER: usize = 64;

/// Applies the steps to a batch, in order. Consecutive steps that process records independently
/// receive the batch in small parts, so that the records stay in the cache from step to step.
pub fn apply_steps(steps: &mut ThreadSteps, batch: &mut Batch) -> Result<()> {
    for row in steps.chunk_by_mut(|step, next| step.is_per_record() && next.is_per_record()) {
        match row {
            [step] => step.apply(batch)?,
            row => batch.for_each_slice(RECORDS_TOGETHER, |few| {
                row.iter_mut().try_for_each(|step| step.apply(few))
            })?,
        }
    }
    Ok(())
}

pub type StepCounts = Vec<(Cow<'static, str>, u64)>;

pub fn add_step_counts<'a>(sums: &mut StepCounts, workers: impl Iterator<Item = &'a ThreadSteps>) {
    sum_counts(sums, workers.flatten().flat_map(|step| step.counts()).map(|(name, n)| (name.into(), n)));
}

pub fn sum_counts(sums: &mut StepCounts, more: impl IntoIterator<Item = (Cow<'static, str>, u64)>) {
    for (name, n) in more {
        match sums.iter_mut().find(|sum| sum.0 == name) {
            Some(sum) => sum.1 += n,
            None => sums.push((name, n)),
        }
    }
}
