//! The passes of a run: where the engine, which knows only threads, meets steps and formats.

pub mod duplicates;
pub mod feed;
pub mod held;
pub mod ingest;
pub mod look;
pub mod merge;
pub mod order;
pub mod prefix;
pub mod stream;
pub mod turnover;
pub mod waiting;

use readmill_record::{Batch, Result};
use readmill_steps::Step;
use readmill_steps::bqsr::Learner;

use look::Look;

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

/// What is done to the reads of a batch before they leave: steps, and a look at what they made of them.
#[derive(Clone, Copy)]
pub struct Doing<'a> {
    /// The steps.
    pub steps: &'a [Box<dyn Step>],
    /// What is counted behind them.
    pub look: Option<&'a Look>,
}

/// One thread's part in it.
pub struct Doer<'a> {
    steps: Steps,
    look: Option<(&'a Look, Learner)>,
}

impl<'a> Doing<'a> {
    /// For the thread that calls.
    pub fn doer(&self) -> Doer<'a> {
        Doer { steps: fork(self.steps), look: self.look.map(|look| (look, look.learner())) }
    }
}

impl Doer<'_> {
    /// Does it to a batch.
    pub fn apply(&mut self, batch: &mut Batch) -> Result<()> {
        apply(&mut self.steps, batch)?;
        match &mut self.look {
            Some((look, learner)) => look.over(learner, batch),
            None => Ok(()),
        }
    }

    /// Hands over what was counted.
    pub fn finish(mut self, sums: &mut Counts) {
        count(sums, [&self.steps].into_iter());
        if let Some((look, learner)) = &mut self.look {
            look.keep(learner);
        }
    }
}

/// Numbers by name, in order of first mention.
pub type Counts = Vec<(&'static str, u64)>;

/// Adds what all copies of the steps counted.
pub fn count<'a>(sums: &mut Counts, workers: impl Iterator<Item = &'a Steps>) {
    for (name, n) in workers.flatten().flat_map(|step| step.counts()) {
        match sums.iter_mut().find(|sum| sum.0 == name) {
            Some(sum) => sum.1 += n,
            None => sums.push((name, n)),
        }
    }
}
