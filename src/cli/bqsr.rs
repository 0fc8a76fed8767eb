//! `readmill bqsr`: base quality recalibration in separate commands, as in GATK.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use readmill::Plan;
use readmill::plan::{Command, Destination, Recalibration, Reports, Steps, TableSource};
use readmill::tables;
use readmill_record::{Error, Result};

use super::common::{InputFlags, Io, ResourceFlags};
use super::recalibration::{ApplyingFlags, CountRegions, CountingFlags, QualityFlags};

/// Recalibrates base qualities in separate steps. `prep --bqsr` does all steps in one run.
#[derive(Subcommand)]
pub enum Bqsr {
    /// Count errors and write a recalibration table, as GATK BaseRecalibrator does
    Table(TableArgs),
    /// Recalibrate base qualities with a table, as GATK ApplyBQSR does
    Apply(Box<ApplyArgs>),
    /// Add up the tables of parts of a sample, as GATK GatherBQSRReports does
    Gather(GatherArgs),
    /// Write the data for recalibration plots, as the CSV file of GATK AnalyzeCovariates
    PlotData(PlotDataArgs),
}

#[derive(Args)]
pub struct TableArgs {
    #[command(flatten)]
    input: InputFlags,
    /// Write the recalibration table to this file; - for standard output
    #[arg(short, long, value_name = "TABLE")]
    output: PathBuf,
    /// Count only reads in this region, such as chr1:100-200, or in the regions of a file. May be
    /// repeated
    ///
    /// The file is a BED, .interval_list or .list file.
    #[arg(short = 'L', long = "intervals", value_name = "WHERE")]
    intervals: Vec<String>,
    /// Do not count reads in this region, or in the regions of a file. May be repeated
    #[arg(long = "exclude-intervals", value_name = "WHERE")]
    exclude: Vec<String>,
    /// Extend each interval by N bases on both sides
    #[arg(long = "interval-padding", value_name = "N", default_value = "0")]
    padding: u32,
    #[command(flatten)]
    resources: ResourceFlags,
    #[command(flatten)]
    qualities: QualityFlags,
    #[command(flatten)]
    counting: CountingFlags,
}

#[derive(Args)]
pub struct ApplyArgs {
    #[command(flatten)]
    io: Io,
    /// Use this recalibration table, written by readmill or GATK
    #[arg(long, value_name = "TABLE", alias = "bqsr-recal-file")]
    bqsr_table: PathBuf,
    #[command(flatten)]
    qualities: QualityFlags,
    #[command(flatten)]
    applying: ApplyingFlags,
}

#[derive(Args)]
pub struct GatherArgs {
    /// Recalibration tables made with the same arguments
    #[arg(value_name = "TABLE", required = true)]
    tables: Vec<PathBuf>,
    /// Write the combined table to this file; - for standard output
    #[arg(short, long, value_name = "TABLE")]
    output: PathBuf,
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("tables").required(true).multiple(true))]
pub struct PlotDataArgs {
    /// Table made from the reads before recalibration
    #[arg(long, value_name = "TABLE", group = "tables")]
    before: Option<PathBuf>,
    /// Table made from the reads after recalibration
    #[arg(long, value_name = "TABLE", group = "tables")]
    after: Option<PathBuf>,
    /// Plot the qualities that result from applying this table
    #[arg(long, value_name = "TABLE", group = "tables")]
    table: Option<PathBuf>,
    /// Write the CSV file here; - for standard output
    #[arg(short, long, value_name = "CSV")]
    output: PathBuf,
}

impl Bqsr {
    /// Returns the plan of a subcommand that reads alignments. Runs the other subcommands, which
    /// only read tables, and returns `None`.
    pub fn plan_or_run(&self) -> Result<Option<Plan>> {
        match self {
            Bqsr::Table(it) => it.build_plan().map(Some),
            Bqsr::Apply(it) => it.build_plan().map(Some),
            Bqsr::Gather(it) => tables::gather_tables(&it.tables, &it.output).map(|()| None),
            Bqsr::PlotData(it) => it.write_plot_data().map(|()| None),
        }
    }
}

impl TableArgs {
    fn build_plan(&self) -> Result<Plan> {
        let reference = self.resources.reference().cloned().ok_or_else(|| {
            Error::usage("counting errors needs a reference")
                .hint("give the FASTA file that the reads were aligned to with --reference")
        })?;
        let regions = CountRegions {
            intervals: self.intervals.clone(),
            exclude: self.exclude.clone(),
            padding: self.padding,
        };
        let tables = [Some(self.output.clone()), None];
        let table_request = self.counting.table_request(&self.qualities, reference, regions, tables)?;
        let source = TableSource::Reads(Box::new(table_request));
        let recalibration = Some(Recalibration { source, apply: None });
        Ok(Plan {
            command: Command::BqsrTable,
            inputs: self.input.inputs()?,
            regions: None,
            aligning: None,
            merging: None,
            steps: Steps { recalibration, ..Steps::default() },
            destination: Destination::Nowhere,
            reports: Reports::default(),
            resources: self.resources.build_resources(&self.output)?,
        })
    }
}

impl ApplyArgs {
    fn build_plan(&self) -> Result<Plan> {
        let source = TableSource::File(self.bqsr_table.clone());
        let apply = Some(self.applying.apply_request(&self.qualities));
        let recalibration = Some(Recalibration { source, apply });
        self.io.build_plan(Command::BqsrApply, Steps { recalibration, ..Steps::default() })
    }
}

impl PlotDataArgs {
    fn write_plot_data(&self) -> Result<()> {
        let given = [("BQSR", &self.table), ("Before", &self.before), ("After", &self.after)];
        let given = given.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?)));
        let given: Vec<(&'static str, &Path)> = given.collect();
        tables::write_plots_csv(&given, &self.output)
    }
}
