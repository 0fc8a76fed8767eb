//! The passes of a run: where the engine, which knows only threads, meets steps and formats.

pub mod duplicates;
pub mod held;
pub mod ingest;
pub mod merge;
pub mod order;
pub mod stream;

use std::path::Path;

use readmill_record::{Batch, Error, Result};
use readmill_steps::Step;

/// A thread's own copies of the steps.
pub type Steps = Vec<Box<dyn Step>>;

/// Copies of the steps for one thread.
pub fn fork(steps: &[Box<dyn Step>]) -> Steps {
    steps.iter().map(|step| step.fork()).collect()
}

/// Applies the steps in order.
pub fn apply(steps: &mut Steps, batch: &mut Batch) -> Result<()> {
    steps.iter_mut().try_for_each(|step| step.apply(batch))
}

/// What all copies of the steps counted, by name, in order of first mention.
pub fn counts<'a>(workers: impl Iterator<Item = &'a Steps>) -> Vec<(&'static str, u64)> {
    let mut sums: Vec<(&'static str, u64)> = Vec::new();
    for (name, n) in workers.flatten().flat_map(|step| step.counts()) {
        match sums.iter_mut().find(|sum| sum.0 == name) {
            Some(sum) => sum.1 += n,
            None => sums.push((name, n)),
        }
    }
    sums
}

/// Names the input in an error about it.
pub fn in_file(path: &Path) -> impl Fn(Error) -> Error {
    move |error| match error.kind {
        readmill_record::Kind::Input => error.file(path),
        _ => error,
    }
}
