//! Subcommands that only count reads and write no reads: `flagstat`, `idxstats`, `stats`, `qc` and
//! `checksum`.
//!
//! `flagstat` and `idxstats` are generated from the table [`TALLIES`]: each entry with
//! `command_help` becomes a subcommand. A new tally needs no code in this module.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, Subcommand};
use readmill::Plan;
use readmill::addons::ReadTally;
use readmill::plan::{self, Destination, Reports, Resources, Steps};
use readmill_qc::QcOptions;
use readmill_record::{Error, Result};
use readmill_stats::{TALLIES, TallySpec, checksum, sequencing};

use super::addons::coverage::CoverageOptions;
use super::addons::description::DescriptionFlags;
use super::addons::fastqc::{FastqcFlags, plan_fastq_only};
use super::addons::qc::{self, AskedProgram, parse_program};
use super::common::{InputFlags, ResourceFlags};
use super::hints;
use super::sample_flag::SampleFlag;

/// Input, output and resources of a subcommand that makes one report.
#[derive(Args)]
pub struct TallyArgs {
    #[command(flatten)]
    input: InputFlags,
    /// Write the result to this file [default: - (standard output)]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    description: DescriptionFlags,
    #[command(flatten)]
    resources: ResourceFlags,
}

impl TallyArgs {
    /// Returns the path of the output; `-` is standard output.
    pub fn output(&self) -> PathBuf {
        self.output.clone().unwrap_or_else(|| "-".into())
    }

    /// Returns a plan that makes only `reports`. `name` is the subcommand.
    pub fn build_plan(&self, name: &'static str, mut reports: Reports) -> Result<Plan> {
        let inputs = self.input.inputs()?;
        if self.output.is_none() {
            hints::require_last_input(&inputs)?;
        }
        self.description.describe(&mut reports)?;
        Ok(plan_only_tallies(name, inputs, reports, self.resources.build_resources(&self.output())?))
    }
}

/// Returns a plan that writes no reads.
fn plan_only_tallies(
    name: &'static str,
    inputs: Vec<PathBuf>,
    reports: Reports,
    resources: Resources,
) -> Plan {
    Plan {
        command: plan::Command::Tally(name),
        inputs,
        regions: None,
        aligning: None,
        merging: None,
        steps: Steps::default(),
        destination: Destination::Nowhere,
        reports,
        resources,
    }
}

/// A subcommand for one tally of [`TALLIES`].
pub struct TallyCommand {
    tally: &'static TallySpec,
    args: TallyArgs,
}

impl TallyCommand {
    pub fn build_plan(&self) -> Result<Plan> {
        let tally = ReadTally::new(self.tally, self.args.output());
        self.args.build_plan(self.tally.name, Reports::only(tally))
    }
}

const FORMAT: &str = "output-format";

/// Returns the argument `-O` for a tally that has several output formats.
fn format_argument(tally: &'static TallySpec) -> Arg {
    let names = tally.formats.iter().map(|(name, _)| PossibleValue::new(name));
    let text = PossibleValue::new("text").alias("default");
    let values = PossibleValuesParser::new(std::iter::once(text).chain(names));
    Arg::new(FORMAT)
        .short('O')
        .long(FORMAT)
        .value_name("FORMAT")
        .value_parser(values)
        .ignore_case(true)
        .help("Output format, as in samtools [default: text]")
}

/// Returns the tallies that have a subcommand, each with its help text.
fn tallies_with_command() -> impl Iterator<Item = (&'static TallySpec, &'static str)> {
    TALLIES.iter().filter_map(|tally| Some((*tally, tally.command_help?)))
}

impl Subcommand for TallyCommand {
    fn augment_subcommands(command: Command) -> Command {
        let made = |(tally, help): (&'static TallySpec, _)| {
            let command = TallyArgs::augment_args(Command::new(tally.name)).about(help).long_about(None);
            if tally.formats.is_empty() { command } else { command.arg(format_argument(tally)) }
        };
        command.subcommands(tallies_with_command().map(made))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        tallies_with_command().any(|(tally, _)| tally.name == name)
    }
}

impl FromArgMatches for TallyCommand {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let given = matches.subcommand();
        let found = given.and_then(|(name, matches)| {
            let tally = tallies_with_command().find(|(tally, _)| tally.name == name)?.0;
            let format = matches.try_get_one::<String>(FORMAT).ok().flatten();
            let other = tally.formats.iter().find(|(name, _)| Some(*name) == format.map(String::as_str));
            Some((other.map_or(tally, |(_, other)| *other), matches))
        });
        let (tally, matches) = found.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))?;
        Ok(TallyCommand { tally, args: TallyArgs::from_arg_matches(matches)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[derive(Args)]
#[command(after_help = "\
The files have the names of Picard CollectMultipleMetrics, and the same content except for the first lines: \
PREFIX.alignment_summary_metrics, PREFIX.insert_size_metrics and so on. No charts are written. Mismatches are counted only \
with --reference. FastQC results can be computed from SAM, BAM or CRAM, and also from FASTQ.")]
pub struct QcArgs {
    #[command(flatten)]
    input: InputFlags,
    /// Prefix of the output file names
    #[arg(short, long, value_name = "PREFIX")]
    output: Option<PathBuf>,
    /// Write the metrics of these Picard programs [default: those of CollectMultipleMetrics]
    ///
    /// all means all programs that need neither other files nor sorted reads.
    #[arg(
        long,
        value_name = "LIST",
        alias = "PROGRAM",
        value_delimiter = ',',
        ignore_case = true,
        value_parser = parse_program()
    )]
    metrics: Vec<AskedProgram>,
    /// Do not write Picard metrics; write only coverage or FastQC results
    #[arg(long, conflicts_with = "metrics")]
    no_metrics: bool,
    /// Also write the coverage as mosdepth files (PREFIX.per-base.bed.gz and so on)
    #[arg(long)]
    coverage: bool,
    #[command(flatten)]
    fastqc: FastqcFlags,
    #[command(flatten)]
    coverage_options: CoverageOptions,
    #[command(flatten)]
    options: QcOptions,
    #[command(flatten)]
    sample: SampleFlag,
    #[command(flatten)]
    description: DescriptionFlags,
    #[command(flatten)]
    resources: ResourceFlags,
}

impl QcArgs {
    pub fn build_plan(&self) -> Result<Plan> {
        let named = self.output.as_deref().or(self.fastqc.directory());
        let mut resources = self.resources.build_resources(named.unwrap_or(Path::new("-")))?;
        let inputs = self.input.inputs()?;
        let fastqc = self.fastqc.request(&inputs)?;
        if self.no_metrics && !self.coverage && fastqc.is_none() {
            let what = "--no-metrics leaves nothing to compute";
            return Err(Error::usage(what).hint("add --coverage, or --fastqc DIR"));
        }
        if self.no_metrics && self.options != QcOptions::default() {
            let what = "options for quality metrics cannot be used with --no-metrics";
            return Err(Error::usage(what).hint("omit --no-metrics, or omit these options"));
        }
        let aligning = plan_fastq_only(&inputs, resources.threads)?;
        let writes_files = !self.no_metrics || self.coverage;
        if aligning.is_some() && writes_files {
            let what = "metrics and coverage need alignments, but the input is FASTQ";
            return Err(Error::usage(what)
                .file(&inputs[0])
                .hint("compute only FastQC results: --no-metrics --fastqc DIR"));
        }
        let prefix = match (writes_files, &self.output) {
            (_, Some(prefix)) => prefix.as_path(),
            (false, None) => Path::new("-"),
            (true, None) => {
                let what = "quality metrics are several files, which need a name prefix";
                return Err(Error::usage(what).hint("give a prefix: -o out/sample"));
            }
        };
        let has_reference = resources.reference.is_some();
        let metrics = || qc::build_qc_request(prefix, &self.metrics, &self.options, has_reference);
        let qc = (!self.no_metrics).then(metrics).transpose()?;
        let coverage = self.coverage_options.build_request(self.coverage.then_some(prefix))?;
        let mut reports = Reports { sample: self.sample.sample.clone(), ..Reports::default() };
        qc.into_iter().for_each(|request| reports.add_ons.push(request));
        coverage.into_iter().for_each(|request| reports.add_ons.push(request));
        fastqc.into_iter().for_each(|request| reports.add_ons.push(request));
        self.description.describe(&mut reports)?;
        let Some((aligning, memory)) = aligning else {
            return Ok(plan_only_tallies("qc", inputs, reports, resources));
        };
        if self.resources.memory().is_none() {
            let memory = resources.memory.saturating_add(memory);
            resources.memory = readmill_process::limit::cap_to_address_space(memory);
        }
        let plan = plan_only_tallies("qc", inputs, reports, resources);
        Ok(Plan { aligning: Some(aligning), ..plan })
    }
}

#[derive(Args)]
#[command(after_help = "\
Each column is the sum, modulo 2^128, of a hash of every record. So the sums do not depend on the order of the reads or on the format (BAM, SAM or CRAM), and different reads almost certainly have different sums. FLAG is hashed without 0x400, so marking duplicates does not change the sums. The order of optional fields and the integer types of their values have no effect.

--samtools and --bamseqchksum print the checksums of samtools checksum and of biobambam2's bamseqchksum, to compare with these tools. They are computed from names, bases, qualities and the fields BC, FI, QT, RT, TC of primary \
records, in the direction of sequencing, and are the same before and after alignment.")]
pub struct ChecksumArgs {
    #[command(flatten)]
    args: TallyArgs,
    /// Print the same output as samtools checksum
    #[arg(long, conflicts_with = "bamseqchksum")]
    samtools: bool,
    /// Print the same output as bamseqchksum
    #[arg(long, short = 'B')]
    bamseqchksum: bool,
}

impl ChecksumArgs {
    pub fn build_plan(&self) -> Result<Plan> {
        let tally = match (self.samtools, self.bamseqchksum) {
            (true, _) => &sequencing::SAMTOOLS_CHECKSUM,
            (_, true) => &sequencing::BAMSEQCHKSUM,
            _ => &checksum::SPEC,
        };
        self.args.build_plan("checksum", Reports::only(ReadTally::new(tally, self.args.output())))
    }
}
