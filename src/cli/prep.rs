//! `readmill prep`: any combination of steps in a single pass.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::plan::{Command, DuplicateFlags, Recalibration, Steps, TableRequest, TableSource};
use readmill_record::{Error, Result};

use super::common::Io;
use super::filter_flags::FilterFlags;
use super::recalibration::{ApplyingFlags, CountRegions, CountingFlags, QualityFlags};
use super::sample_flag::SampleFlag;
use super::shard::ResumeFlag;
use super::sort::OutputOrder;
use super::split::SplitFlags;

#[derive(Args)]
#[command(
    after_help = "The order of the flags does not matter. Steps always run in this order: filters in the order of this help (reads are first selected by their original values, then changed), duplicate marking, sorting, base quality recalibration, and removal of optional fields."
)]
pub struct PrepArgs {
    #[command(flatten)]
    steps: StepFlags,
    #[command(flatten)]
    split: SplitFlags,
    #[command(flatten)]
    io: Io,
    #[command(flatten)]
    resume: ResumeFlag,
}

/// Flags of all steps that a run can combine. `align` also has them.
#[derive(Args)]
pub struct StepFlags {
    #[command(flatten)]
    sort: OutputOrder,
    /// Mark duplicates
    #[arg(long, help_heading = "Duplicates")]
    mark_duplicates: bool,
    #[command(flatten)]
    duplicates: DuplicateFlags,
    #[command(flatten)]
    filters: FilterFlags,
    #[command(flatten)]
    bqsr: BqsrFlags,
    #[command(flatten)]
    sample: SampleFlag,
}

/// Flags of recalibration in the same run. The names begin with `bqsr`, because other steps also
/// have intervals and tables.
#[derive(Args)]
#[command(next_help_heading = "Recalibration")]
pub struct BqsrFlags {
    /// Recalibrate base qualities in this run
    ///
    /// Errors are counted without duplicates.
    #[arg(long, conflicts_with = "bqsr_apply")]
    bqsr: bool,
    /// Only count errors and write --bqsr-table; do not change qualities
    #[arg(long, requires = "bqsr_table", conflicts_with_all = ["bqsr", "bqsr_apply"])]
    bqsr_table_only: bool,
    /// Write the recalibration table to this file
    #[arg(long, value_name = "TABLE")]
    bqsr_table: Option<PathBuf>,
    /// Write a second table, counted after recalibration, to this file (for AnalyzeCovariates)
    #[arg(long, value_name = "TABLE", requires = "bqsr")]
    bqsr_after_table: Option<PathBuf>,
    /// Instead of known sites, exclude positions at which the sample differs from the reference
    ///
    /// A position is excluded if at least three reads, and one read in five, differ from the
    /// reference.
    #[arg(long, conflicts_with_all = ["known_sites", "bqsr_apply"])]
    bqsr_bootstrap: bool,
    /// Recalibrate base qualities with this table
    #[arg(long, value_name = "TABLE")]
    bqsr_apply: Option<PathBuf>,
    /// Count only reads in this region, such as chr1:100-200, or in the regions of a file. May be
    /// repeated
    ///
    /// The file is a BED, .interval_list or .list file.
    #[arg(long, value_name = "WHERE")]
    bqsr_intervals: Vec<String>,
    /// Do not count reads in this region, or in the regions of a file. May be repeated
    #[arg(long, value_name = "WHERE")]
    bqsr_exclude_intervals: Vec<String>,
    /// Extend each interval by N bases on both sides
    #[arg(long, value_name = "N", default_value = "0")]
    bqsr_interval_padding: u32,
    #[command(flatten)]
    qualities: QualityFlags,
    #[command(flatten)]
    counting: CountingFlags,
    #[command(flatten)]
    applying: ApplyingFlags,
}

impl BqsrFlags {
    /// Returns a usage error for flags that have no effect because bases are not counted or
    /// qualities are not changed.
    fn refuse_unused_flags(&self) -> Result<()> {
        let counts = self.bqsr || self.bqsr_table_only;
        let applies = self.bqsr || self.bqsr_apply.is_some();
        let regions = !self.bqsr_intervals.is_empty() || !self.bqsr_exclude_intervals.is_empty();
        let counting = self.counting.is_given()
            || regions
            || self.bqsr_interval_padding > 0
            || self.bqsr_bootstrap
            || self.bqsr_table.is_some();
        if counting && !counts {
            return Err(Error::usage("flags for counting errors are given, but no errors are counted")
                .hint("add --bqsr or --bqsr-table-only"));
        }
        if self.applying.is_given() && !applies || self.qualities.is_given() && !(counts || applies) {
            return Err(Error::usage(
                "flags for changing base qualities are given, but no qualities are changed",
            )
            .hint("add --bqsr or --bqsr-apply"));
        }
        if self.bqsr_interval_padding > 0 && !regions {
            return Err(
                Error::usage("interval padding is given, but no intervals").hint("add --bqsr-intervals")
            );
        }
        Ok(())
    }

    /// Returns the request for recalibration; `None` if it is not requested. `reference` is the
    /// FASTA file against which errors are counted.
    fn to_request(&self, reference: Option<&PathBuf>) -> Result<Option<Recalibration>> {
        let apply = || Some(self.applying.apply_request(&self.qualities));
        if let Some(table) = &self.bqsr_apply {
            let source = TableSource::File(table.clone());
            return Ok(Some(Recalibration { source, apply: apply() }));
        }
        if !(self.bqsr || self.bqsr_table_only) {
            return Ok(None);
        }
        let Some(reference) = reference.cloned() else {
            return Err(Error::usage("counting errors needs a reference").hint("add --reference"));
        };
        let regions = CountRegions {
            intervals: self.bqsr_intervals.clone(),
            exclude: self.bqsr_exclude_intervals.clone(),
            padding: self.bqsr_interval_padding,
        };
        let tables = [self.bqsr_table.clone(), self.bqsr_after_table.clone()];
        let table_request = self.counting.table_request(&self.qualities, reference, regions, tables)?;
        let table_request = TableRequest { bootstrap: self.bqsr_bootstrap, ..table_request };
        let source = TableSource::Reads(Box::new(table_request));
        Ok(Some(Recalibration { source, apply: apply().filter(|_| !self.bqsr_table_only) }))
    }
}

impl PrepArgs {
    pub fn resume(&self) -> &ResumeFlag {
        &self.resume
    }

    pub fn build_plan(&self) -> Result<Plan> {
        let steps = self.steps.to_steps(self.io.reference())?;
        let mut plan = self.split.build_plan(&self.io, Command::Prep, steps)?;
        plan.reports.sample = self.steps.sample_name();
        Ok(plan)
    }
}

impl StepFlags {
    pub fn sample_name(&self) -> Option<String> {
        self.sample.sample.clone()
    }

    /// Returns the steps of the plan. `reference` is the FASTA file against which errors are
    /// counted.
    pub fn to_steps(&self, reference: Option<&PathBuf>) -> Result<Steps> {
        let marks = self.mark_duplicates || self.duplicates.is_given();
        if !marks {
            self.duplicates.refuse_unused_flags()?;
        }
        self.bqsr.refuse_unused_flags()?;
        Ok(Steps {
            filters: self.filters.parse_filters()?,
            duplicates: marks.then(|| self.duplicates.to_request()),
            sort: self.sort.requested_order(),
            recalibration: self.bqsr.to_request(reference)?,
            group_by_file: false,
        })
    }
}
