//! The programs that the user selected, with their options.

use readmill_record::Error;

use crate::options::QcOptions;

/// One of Picard's programs: its name and the endings of its files. A
/// [`MetricProgram`](crate::MetricProgram) counts one or several of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PicardProgram {
    /// The name of the Picard tool, such as `CollectWgsMetrics`.
    pub name: &'static str,
    /// The endings of its files after the prefix. They are the endings that CollectMultipleMetrics
    /// uses; for programs that CollectMultipleMetrics does not run, they follow the same pattern.
    pub endings: &'static [&'static str],
}

/// The programs that a run counts, and the options of all programs.
///
/// The command line makes a selection with [`select_programs`](Self::select_programs), which also checks the options.
/// The plan asks which files the selection reads and writes and whether it needs sorted reads; then
/// [`QcTally::new`](crate::QcTally::new) starts the programs.
///
/// ```
/// use readmill_qc::{MetricSelection, PicardProgram, QcOptions};
///
/// let wgs = PicardProgram::find_by_name("collectwgsmetrics");
/// let quality_yield = PicardProgram::find_by_name("CollectQualityYieldMetrics");
/// let selection = MetricSelection::select_programs(&[wgs, quality_yield], QcOptions::default(), true)?;
/// let endings: Vec<&str> = selection.endings().collect();
/// assert_eq!(endings, [".quality_yield_metrics", ".wgs_metrics"]);
/// assert!(selection.needs_order());
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MetricSelection {
    pub options: QcOptions,
    /// The selected programs, in the order of [`PROGRAMS`](crate::PROGRAMS).
    pub(crate) wanted: Vec<&'static PicardProgram>,
    /// Whether the user named `all`. Error messages about missing programs differ in this case.
    pub(crate) is_all: bool,
}

impl MetricSelection {
    pub(crate) fn wanted_of(
        &self,
        programs: &'static [PicardProgram],
    ) -> impl Iterator<Item = &'static PicardProgram> {
        programs.iter().filter(|program| self.is_selected(program))
    }

    pub fn is_selected(&self, program: &PicardProgram) -> bool {
        self.wanted.contains(&program)
    }

    /// Returns the error for `flag`, which only `programs` use, if none of them is selected.
    /// Callers have checked that.
    pub(crate) fn lacks_program(&self, flag: &str, programs: &str) -> Error {
        let first = programs.split(' ').next().unwrap_or(programs);
        if self.is_all {
            let what = format!(
                "{flag} is for {programs}, but `all` includes only programs that need no further files and no order"
            );
            return Error::usage(what).hint(format!("add the program: all,{first}; or omit {flag}"));
        }
        let what = format!("{flag} is for {programs}, which is not requested");
        Error::usage(what).hint(format!("add {first} to the programs, or omit {flag}"))
    }
}
