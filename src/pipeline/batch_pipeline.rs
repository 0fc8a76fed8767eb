//! What is done to the reads of a batch where they pass: steps, and what is learnt before and behind them.

use readmill_bqsr::Learner;
use readmill_filters::route::Segments;
use readmill_record::Step;
use readmill_record::{Batch, Result};

use super::count::Look;
use super::{Counts, Steps, apply, count, fork};
use crate::outputs::extra_writer::Sides;
use crate::outputs::routing::{self, Aside, Router};
use crate::pipeline::dyn_tally::{Watch, Watcher};

/// Tallies.
pub type Watches<'a> = Vec<&'a dyn Watch>;

/// What is done to the reads of a batch.
#[derive(Clone, Default)]
pub struct Doing<'a> {
    /// What is learnt of them as they come.
    pub before: Watches<'a>,
    /// The steps.
    pub steps: &'a [Box<dyn Step>],
    /// The bases that are counted behind them.
    pub look: Option<&'a Look>,
    /// The steps that come last.
    pub late: &'a [Box<dyn Step>],
    /// What is learnt of them as the steps leave them.
    pub behind: Watches<'a>,
    /// Where some of them go then, or all.
    pub aside: Option<&'a Sides<'a>>,
    /// What is learnt of those that are left.
    pub left: Watches<'a>,
}

/// One thread's part in it.
pub struct Doer<'a> {
    before: Vec<Box<dyn Watcher + 'a>>,
    steps: Steps,
    look: Option<(&'a Look, Learner)>,
    late: Steps,
    behind: Vec<Box<dyn Watcher + 'a>>,
    aside: Option<(&'a Sides<'a>, Router, Segments)>,
    left: Vec<Box<dyn Watcher + 'a>>,
}

impl<'a> Doing<'a> {
    /// For the thread that calls.
    pub fn doer(&self) -> Doer<'a> {
        let watchers = |watches: &Watches<'a>| watches.iter().map(|watch| watch.watcher()).collect();
        Doer {
            before: watchers(&self.before),
            steps: fork(self.steps),
            look: self.look.map(|look| (look, look.learner())),
            late: fork(self.late),
            behind: watchers(&self.behind),
            aside: self.aside.map(|sides| (sides, sides.router(), Segments::default())),
            left: watchers(&self.left),
        }
    }
}

impl Doer<'_> {
    /// Does it to a batch; gives the reads that go elsewhere.
    pub fn apply(&mut self, batch: &mut Batch) -> Result<Aside> {
        self.before.iter_mut().try_for_each(|watcher| watcher.observe(batch))?;
        apply(&mut self.steps, batch)?;
        if let Some((look, learner)) = &mut self.look {
            look.over(learner, batch)?;
        }
        apply(&mut self.late, batch)?;
        self.behind.iter_mut().try_for_each(|watcher| watcher.observe(batch))?;
        let aside = match &mut self.aside {
            Some((sides, router, counts)) => {
                sides.encode()?;
                routing::route(router, batch, counts)?
            }
            None => Aside::default(),
        };
        self.left.iter_mut().try_for_each(|watcher| watcher.observe(batch))?;
        Ok(aside)
    }

    /// Hands over what was counted and learnt.
    pub fn finish(mut self, sums: &mut Counts) {
        count(sums, [&self.steps, &self.late].into_iter());
        if let Some((look, learner)) = &mut self.look {
            look.keep(learner);
        }
        if let Some((sides, _, counts)) = self.aside {
            sides.count(counts);
        }
        self.before.into_iter().chain(self.behind).chain(self.left).for_each(Watcher::keep);
    }
}
