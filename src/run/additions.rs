//! Steps and tallies that a program using readmill as a library adds to a run.

use std::sync::Arc;

use readmill_record::{DynTally, Header, Result, Step};

/// Creates a step. It may also edit the header of the output.
pub(crate) type MakeStep = Box<dyn FnOnce(&mut Header) -> Result<Box<dyn Step>>>;

/// Steps and tallies of the calling program, in addition to those of a [`crate::Plan`].
///
/// ```text
/// input ─► filters of the plan ─► step ─► sort, mark, recalibrate ─► late_step ─► output ─► tally
/// ```
///
/// The memory limit `-m` does not include memory that they keep, except for the batch in progress.
/// See `examples/gc-content` for a complete program.
#[derive(Default)]
pub struct Additions {
    pub(crate) early: Vec<MakeStep>,
    pub(crate) late: Vec<MakeStep>,
    pub(crate) tallies: Vec<Arc<dyn DynTally>>,
}

impl Additions {
    /// Adds a step that runs after the filters of the plan, before reads are sorted or marked.
    pub fn step(mut self, make: impl FnOnce(&mut Header) -> Result<Box<dyn Step>> + 'static) -> Self {
        self.early.push(Box::new(make));
        self
    }

    /// Adds a step that runs last, after duplicates are marked and qualities are recalibrated.
    pub fn late_step(
        mut self,
        make: impl FnOnce(&mut Header) -> Result<Box<dyn Step>> + 'static,
    ) -> Self {
        self.late.push(Box::new(make));
        self
    }

    /// Adds a tally of the output reads. The caller keeps a clone of the `Arc` and takes the result
    /// from it after the run.
    pub fn tally(mut self, tally: Arc<dyn DynTally>) -> Self {
        self.tallies.push(tally);
        self
    }
}

/// Creates all steps of `list`, in order. Each may edit `header`; later steps see the edits.
pub(crate) fn make_added_steps(list: Vec<MakeStep>, header: &mut Header) -> Result<Vec<Box<dyn Step>>> {
    list.into_iter().map(|make| make(header)).collect()
}
