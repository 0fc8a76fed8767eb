//! The interface between tallies and the rest of the program: their descriptions, and the reports
//! of a run.

use std::sync::Arc;

use readmill_format::report::{ReportContents, RunNames};
use readmill_record::{DynTally, Header, Ledger, Result, SharedTally, Tally};

use crate::stats::StatsOrder;

/// The description of a tally whose result is a file.
///
/// It is a constant from which the command line makes the flag `--NAME FILE` and the subcommand
/// `NAME`, and the run makes a [`TallyReport`].
///
/// ```
/// use readmill_stats::TALLIES;
///
/// let flagstat = TALLIES.iter().find(|tally| tally.name == "flagstat").unwrap();
/// assert!(flagstat.flag_help.is_some() && flagstat.command_help.is_some());
/// assert_eq!(flagstat.formats.len(), 2); // JSON and TSV
/// ```
#[derive(Debug)]
pub struct TallySpec {
    pub name: &'static str,
    /// Help of the flag `--NAME FILE` in commands that write reads; `None` if they have no such
    /// flag.
    pub flag_help: Option<&'static str>,
    /// Help of the subcommand `NAME`, which only writes this result; `None` if there is none, or if
    /// it has flags of its own.
    pub command_help: Option<&'static str>,
    /// Whether it counts the reads of the input, before any step, instead of the reads of the main
    /// output.
    pub of_input: bool,
    pub names_sample: bool,
    pub memory: Option<CountMemory>,
    /// Other formats of the result that the subcommand offers, by name, each with the tally that
    /// writes it.
    pub formats: &'static [(&'static str, &'static TallySpec)],
    pub make: fn(&TallyContext<'_>) -> TallyReport,
}

impl TallySpec {
    /// Creates the description of a tally of output reads without a flag and without a subcommand.
    /// Others override its fields.
    pub(crate) const fn new(name: &'static str, make: fn(&TallyContext<'_>) -> TallyReport) -> Self {
        let (flag_help, command_help, memory) = (None, None, None);
        let formats = &[];
        TallySpec {
            name,
            flag_help,
            command_help,
            of_input: false,
            names_sample: false,
            memory,
            formats,
            make,
        }
    }
}

/// Memory for counts, which each thread needs, and once more for their sum.
#[derive(Clone, Copy, Debug)]
pub struct CountMemory {
    pub name: &'static str,
    pub bytes: fn() -> usize,
}

#[derive(Clone, Copy, Debug)]
pub struct TallyContext<'a> {
    pub header: &'a Header,
    pub sorted: bool,
    pub stats: Option<&'a Arc<StatsOrder>>,
    pub ledger: &'a Ledger,
}

/// A tally of a run, together with the function that makes its result: one or more files.
pub struct TallyReport {
    pub tally: Arc<dyn DynTally>,
    reports: Box<MakeReports>,
}

type MakeReports = dyn Fn(&RunNames<'_>) -> Result<Vec<ReportContents>> + Send + Sync;

impl TallyReport {
    /// A tally whose result is one file: a
    /// [`DescribedReport`](readmill_format::report::DescribedReport), or plain text.
    pub fn new<T: Tally + 'static, R: Into<ReportContents> + 'static>(
        tally: T,
        report: fn(T::Total, &RunNames<'_>) -> R,
    ) -> Self {
        let tally = Arc::new(SharedTally::new(tally));
        let counted = Arc::clone(&tally);
        let report = move |names: &RunNames<'_>| Ok(vec![report(counted.take_total()?, names).into()]);
        TallyReport::of_counted(tally, report)
    }

    /// A tally of any kind; `reports` makes the files of what it has counted, and resets it.
    pub fn of_counted(
        tally: Arc<dyn DynTally>,
        reports: impl Fn(&RunNames<'_>) -> Result<Vec<ReportContents>> + Send + Sync + 'static,
    ) -> Self {
        TallyReport { tally, reports: Box::new(reports) }
    }

    /// Returns the files, and resets the tally. Called once, when all reads have been counted.
    ///
    /// # Errors
    /// The counts do not give a result.
    pub fn take_reports(&self, names: &RunNames<'_>) -> Result<Vec<ReportContents>> {
        (self.reports)(names)
    }
}
