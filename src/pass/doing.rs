//! What is done to reads on their way out.

use readmill_record::{Batch, Result};
use readmill_steps::Step;
use readmill_steps::bqsr::Learner;

use super::look::Look;
use super::{Counts, Steps, apply, count, fork};

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
