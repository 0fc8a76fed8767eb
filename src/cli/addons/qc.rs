//! Flags that select Picard programs. `readmill_qc` defines the flags for the options of the
//! programs.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use readmill::addons::QcRequest;
use readmill::plan::Reports;
use readmill_qc::{MetricSelection, PicardProgram, QcOptions};
use readmill_record::{Error, Result};

use super::flags::{AddOnFlags, GivenRun};

/// A program requested by name; `None` means `all`.
pub type AskedProgram = Option<&'static PicardProgram>;

/// Returns a parser for program names and `all`.
pub fn parse_program() -> impl TypedValueParser<Value = AskedProgram> {
    let names = PicardProgram::all().map(|program| program.name).chain(["all"]);
    PossibleValuesParser::new(names).map(|name| PicardProgram::find_by_name(&name))
}

#[derive(Args)]
#[command(next_help_heading = "Quality metrics")]
pub struct SamePassQc {
    /// Write Picard's quality metrics of the output
    ///
    /// The files are named PREFIX.alignment_summary_metrics and so on.
    #[arg(long, value_name = "PREFIX")]
    qc: Option<PathBuf>,
    /// Write the metrics of these Picard programs [default: those of CollectMultipleMetrics]
    ///
    /// all means all programs that need neither other files nor sorted reads.
    #[arg(
        long,
        value_name = "LIST",
        value_delimiter = ',',
        requires = "qc",
        ignore_case = true,
        value_parser = parse_program()
    )]
    qc_metrics: Vec<AskedProgram>,
    #[command(flatten)]
    options: QcOptions,
}

impl AddOnFlags for SamePassQc {
    fn is_empty(&self) -> bool {
        self.qc.is_none()
    }

    fn add_to(&self, reports: &mut Reports, run: &GivenRun<'_>) -> Result<()> {
        match &self.qc {
            Some(prefix) => {
                let programs = &self.qc_metrics;
                let request = build_qc_request(prefix, programs, &self.options, run.has_reference)?;
                reports.add_ons.push(request);
            }
            None if self.options != QcOptions::default() => {
                let what = "options for quality metrics are given without --qc";
                return Err(Error::usage(what).hint("add --qc PREFIX, or omit these options"));
            }
            None => {}
        }
        Ok(())
    }
}

/// Returns the request for the metrics of `programs`, in files whose names begin with `prefix`.
/// Without programs, uses those of CollectMultipleMetrics.
pub fn build_qc_request(
    prefix: &Path,
    programs: &[AskedProgram],
    options: &QcOptions,
    has_reference: bool,
) -> Result<QcRequest> {
    if prefix.as_os_str() == "-" || prefix.file_name().is_none() {
        return Err(Error::usage("quality metrics are several files, which need a name prefix")
            .hint("give a prefix such as out/sample"));
    }
    let metrics = MetricSelection::select_programs(programs, options.clone(), has_reference)?;
    Ok(QcRequest::new(prefix, metrics))
}
