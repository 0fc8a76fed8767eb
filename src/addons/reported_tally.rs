//! A tally whose result is files.

use std::sync::Arc;

use readmill_format::report::RunNames;
use readmill_record::{DynOrderedTally, DynTally, Result};
use readmill_stats::TallyReport;

use super::add_on::RunningAddOn;
use super::planned_file::WriteReport;
use crate::pipeline::tap::Tap;
use readmill_process::console::Console;

/// A tally whose result is files that are written at the end. Most add-ons need nothing else in a
/// run.
pub struct ReportedTally {
    /// The tap at which it counts.
    pub tap: Tap,
    /// The tally, and what makes its files.
    pub report: TallyReport,
    /// Tallies that count the main output in order, which the files need.
    pub ordered: Vec<Arc<dyn DynOrderedTally>>,
    /// Warnings about the files that it read.
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

    fn write_reports(
        &self,
        names: &RunNames<'_>,
        _: &Console,
        write: &mut WriteReport<'_>,
    ) -> Result<()> {
        self.report.take_reports(names)?.into_iter().try_for_each(write)
    }
}
