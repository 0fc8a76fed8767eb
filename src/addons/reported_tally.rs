//! A tally whose result is text.

use std::sync::Arc;

use readmill_filters::tally::{RunNames, TallyReport};
use readmill_record::{DynOrderedTally, DynTally, Result};

use super::add_on::RunningAddOn;
use super::planned_file::WriteText;
use crate::pipeline::tap::Tap;
use readmill_process::console::Console;

/// A tally whose result is text, written at the end: all that most add-ons do in a run.
pub struct ReportedTally {
    /// Which reads it counts.
    pub tap: Tap,
    /// The tally, and the texts of its result.
    pub report: TallyReport,
    /// What it counts in the order of the main output, and needs for its texts.
    pub ordered: Vec<Arc<dyn DynOrderedTally>>,
    /// Warnings about the files that it has read.
    pub warnings: Vec<String>,
}

impl ReportedTally {
    /// Creates a tally that counts in any order.
    pub fn new(tap: Tap, report: TallyReport) -> Self {
        ReportedTally { tap, report, ordered: Vec::new(), warnings: Vec::new() }
    }
}

impl RunningAddOn for ReportedTally {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn tally(&self) -> Option<(Tap, &dyn DynTally)> {
        Some((self.tap, &*self.report.tally))
    }

    fn take_ordered_tallies(&mut self) -> Vec<Arc<dyn DynOrderedTally>> {
        std::mem::take(&mut self.ordered)
    }

    fn write_texts(&self, names: &RunNames<'_>, _: &Console, write: &mut WriteText<'_>) -> Result<()> {
        self.report.take_texts(names)?.into_iter().try_for_each(write)
    }
}
