//! Flags for the description of a run, as JSON and as an HTML report.

use std::path::PathBuf;

use clap::Args;
use readmill::addons::PageRequest;
use readmill::plan::Reports;
use readmill_record::{Error, Result};

use super::flags::{AddOnFlags, GivenRun};
use super::limits::LimitFlags;

/// Flags for the description of a run.
#[derive(Args)]
#[command(next_help_heading = "Run file and page")]
pub struct DescriptionFlags {
    /// Write a run file (JSON), which is the input of readmill report
    ///
    /// It has the command, the file names, all counts and reports, and the time and memory of each
    /// stage.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write an HTML report of the run, with plots and a verdict
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitFlags,
}

impl DescriptionFlags {
    /// Adds the requested files to `reports`.
    ///
    /// # Errors
    /// Fails if limits are given without a report, or if their file is invalid.
    pub fn describe(&self, reports: &mut Reports) -> Result<()> {
        reports.json.clone_from(&self.json);
        let Some(file) = self.report.clone() else {
            if self.limits.is_empty() {
                return Ok(());
            }
            let what = "--assay and --qc-thresholds are for the HTML report, but no report is written";
            return Err(Error::usage(what).hint("add --report FILE, or omit these flags"));
        };
        let page =
            PageRequest { file, limits: self.limits.load_limits()?, limits_file: self.limits.file() };
        reports.add_ons.push(page);
        Ok(())
    }
}

impl AddOnFlags for DescriptionFlags {
    fn is_empty(&self) -> bool {
        self.json.is_none() && self.report.is_none()
    }

    fn add_to(&self, reports: &mut Reports, _: &GivenRun<'_>) -> Result<()> {
        self.describe(reports)
    }
}
