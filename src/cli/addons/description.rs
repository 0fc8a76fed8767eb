//! Flags for the description of a run, as JSON and as an HTML report.

use std::path::PathBuf;

use clap::Args;
use readmill::addons::PageRequest;
use readmill::plan::{JudgementFields, Reports};
use readmill_record::{Error, Result};
use serde_json::Value;

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
    /// Fails if limits are given without a file that uses them, or if their file is invalid.
    pub fn describe(&self, reports: &mut Reports) -> Result<()> {
        reports.json.clone_from(&self.json);
        if self.json.is_none() && self.report.is_none() {
            if self.limits.is_empty() {
                return Ok(());
            }
            let what = "--assay and --qc-thresholds are for the run file and the HTML report, but none is written";
            return Err(Error::usage(what).hint("add --report FILE or --json FILE, or omit these flags"));
        }
        let thresholds = self.limits.load_thresholds()?;
        reports.judgement = JudgementFields {
            assay: self.limits.assay()?.map(|assay| assay.name().to_string()),
            thresholds: thresholds.map_or(Value::Null, |thresholds| thresholds.to_json()),
            file: self.limits.file(),
        };
        let Some(file) = self.report.clone() else { return Ok(()) };
        reports.add_ons.push(PageRequest { file });
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
