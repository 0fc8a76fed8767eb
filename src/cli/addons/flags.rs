//! The interface of the flags of add-ons.

use std::path::PathBuf;

use readmill::plan::Reports;
use readmill_record::Result;

/// The flags of an add-on in commands that write reads.
pub trait AddOnFlags {
    /// Returns whether the add-on is not requested.
    fn is_empty(&self) -> bool;

    /// Adds the add-on's request to `reports`, if there is one.
    ///
    /// # Errors
    /// Fails if the flags contradict each other, or if options are given without the add-on.
    fn add_to(&self, reports: &mut Reports, run: &GivenRun<'_>) -> Result<()>;
}

/// The facts about a run that the command line determines, excluding its add-ons.
pub struct GivenRun<'a> {
    pub inputs: &'a [PathBuf],
    pub has_reference: bool,
}
