//! Steps and tallies that another program adds to a run.

use std::sync::Arc;

use readmill_record::{DynTally, Header, Result, Step};

/// Makes a step; it may edit the header that the reads will have.
pub(crate) type MakeStep = Box<dyn FnOnce(&mut Header) -> Result<Box<dyn Step>>>;

/// Steps and tallies that are added to those of a [`crate::Plan`].
///
/// Their memory is not part of the limit `-m`: what they keep beside a batch comes on top.
#[derive(Default)]
pub struct Additions {
    pub(crate) early: Vec<MakeStep>,
    pub(crate) late: Vec<MakeStep>,
    pub(crate) tallies: Vec<Arc<dyn DynTally>>,
}

impl Additions {
    /// Adds a step after the plan's own filters and edits, before reads are sorted or marked.
    pub fn step(mut self, make: impl FnOnce(&mut Header) -> Result<Box<dyn Step>> + 'static) -> Self {
        self.early.push(Box::new(make));
        self
    }

    /// Adds a step after all others, when duplicates are marked and qualities recalibrated.
    pub fn late_step(
        mut self,
        make: impl FnOnce(&mut Header) -> Result<Box<dyn Step>> + 'static,
    ) -> Self {
        self.late.push(Box::new(make));
        self
    }

    /// Adds a tally of the output reads; its result is available after the run.
    pub fn tally(mut self, tally: Arc<dyn DynTally>) -> Self {
        self.tallies.push(tally);
        self
    }
}

/// Makes the steps.
pub(crate) fn make(list: Vec<MakeStep>, header: &mut Header) -> Result<Vec<Box<dyn Step>>> {
    list.into_iter().map(|make| make(header)).collect()
}
