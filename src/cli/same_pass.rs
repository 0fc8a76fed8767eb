//! Flags for files that are written in the same pass in addition to the main output: reports, and
//! files of selected reads.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use readmill::plan::{ExtraFile, FingerprintRequest, PageRequest, Tallies};
use readmill_filters::tally::{TALLIES, TallySpec};
use readmill_record::{Error, Result};

use super::coverage_flags::SamePassCoverage;
use super::fastqc_flags::FastqcFlags;
use super::hints::{format_from_name, known_extensions};
use super::limit_flags::LimitFlags;
use super::qc_flags::SamePassQc;

#[derive(Args)]
pub struct DescriptionFlags {
    /// Write a run file (JSON), from which readmill report makes an HTML report
    ///
    /// It has the command, the files, all counts and reports, and the time and memory of each
    /// stage.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write an HTML report of the run, with plots and a verdict, in one file
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    limits: LimitFlags,
}

impl DescriptionFlags {
    /// Returns whether the run is not described in any file.
    pub fn is_empty(&self) -> bool {
        self.json.is_none() && self.report.is_none()
    }

    /// Adds the run file and the HTML report to the tallies of a run. Flags for a report that is
    /// not written are an error.
    pub fn add_to(&self, tallies: Tallies) -> Result<Tallies> {
        let json = self.json.clone();
        let Some(file) = self.report.clone() else {
            if self.limits.is_empty() {
                return Ok(Tallies { json, ..tallies });
            }
            let what = "--assay and --qc-thresholds apply to the HTML report, but none is written";
            return Err(Error::usage(what).hint("add --report FILE, or omit them"));
        };
        let page = PageRequest { file, limits: self.limits.limits()?, limits_file: self.limits.file() };
        Ok(Tallies { json, page: Some(page), ..tallies })
    }
}

#[derive(Args)]
#[command(next_help_heading = "In the same pass")]
pub struct SamePassFlags {
    #[command(flatten)]
    tallies: TallyFlags,
    #[command(flatten)]
    qc: Box<SamePassQc>,
    #[command(flatten)]
    coverage: Box<SamePassCoverage>,
    #[command(flatten)]
    fastqc: FastqcFlags,
    /// Write a fingerprint of the sample: alleles at --fingerprint-sites, and reads on X and Y
    #[arg(long, value_name = "FILE", requires = "fingerprint_sites")]
    fingerprint: Option<PathBuf>,
    /// File with common variants for --fingerprint
    ///
    /// The file is a VCF, from which biallelic SNVs are used, or a haplotype map of Picard.
    #[arg(long, value_name = "FILE", requires = "fingerprint")]
    fingerprint_sites: Option<PathBuf>,
    #[command(flatten)]
    description: DescriptionFlags,
    /// Compare checksums of input and output reads, and write nothing if they do not match
    ///
    /// The exit code is 4 if reads were lost or doubled, or changed by steps that must not change
    /// them.
    #[arg(long)]
    verify: bool,
    /// Also write some reads to another file. May be given again
    ///
    /// Values: FILE=unmapped, FILE=discordant, FILE=duplicates, or FILE=EXPRESSION.
    #[arg(long, value_name = "FILE=WHAT")]
    copy_to: Vec<String>,
    /// Write some reads only to another file. May be given again; the first match counts
    ///
    /// Values: FILE=unmapped, FILE=discordant, FILE=duplicates, or FILE=EXPRESSION. If reads are
    /// neither sorted nor marked, FILE=dropped writes the reads that filters drop.
    #[arg(long, value_name = "FILE=WHAT")]
    move_to: Vec<String>,
}

/// The tallies that were requested, each with its file. Their flags come from [`TALLIES`].
struct TallyFlags(Vec<(&'static TallySpec, PathBuf)>);

/// Returns the tallies that have a flag, with its help.
fn flags() -> impl Iterator<Item = (&'static TallySpec, &'static str)> {
    TALLIES.iter().filter_map(|tally| Some((*tally, tally.flag_help?)))
}

impl Args for TallyFlags {
    fn augment_args(command: Command) -> Command {
        command.args(flags().map(|(tally, help)| {
            let arg = Arg::new(tally.name).long(tally.name).value_name("FILE").help(help);
            arg.value_parser(value_parser!(PathBuf))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TallyFlags {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let file = |(tally, _): (&'static TallySpec, _)| {
            Some((tally, matches.get_one::<PathBuf>(tally.name)?.clone()))
        };
        Ok(TallyFlags(flags().filter_map(file).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl SamePassFlags {
    /// Returns whether the main output is the only file that is written.
    pub fn is_empty(&self) -> bool {
        let SamePassFlags {
            tallies,
            qc,
            coverage,
            fastqc,
            fingerprint,
            fingerprint_sites: _,
            description,
            verify: _,
            copy_to,
            move_to,
        } = self;
        let no_reports =
            tallies.0.is_empty() && qc.is_empty() && coverage.is_empty() && description.is_empty();
        no_reports
            && fastqc.is_empty()
            && fingerprint.is_none()
            && copy_to.is_empty()
            && move_to.is_empty()
    }

    /// Returns the reports of a run that reads `inputs`. A reference is needed for some metrics, so
    /// `has_reference` decides which programs `all` stands for.
    pub fn tallies(&self, inputs: &[PathBuf], has_reference: bool) -> Result<Tallies> {
        let (files, qc) = (self.tallies.0.clone(), self.qc.request(has_reference)?);
        let coverage = self.coverage.request()?;
        let (fastqc, verify) = (self.fastqc.request(inputs)?, self.verify);
        let fingerprint = self.fingerprint.clone().zip(self.fingerprint_sites.clone());
        let fingerprint = fingerprint.map(|(file, sites)| FingerprintRequest { file, sites });
        let tallies = Tallies { files, qc, coverage, fastqc, fingerprint, verify, ..Tallies::default() };
        self.description.add_to(tallies)
    }

    /// Returns the files for selected reads (`--copy-to` and `--move-to`).
    pub fn selected(&self) -> Result<Vec<ExtraFile>> {
        let copies = self.copy_to.iter().map(|text| ExtraFile::parse(text, false));
        let moves = self.move_to.iter().map(|text| ExtraFile::parse(text, true));
        let list: Vec<ExtraFile> = copies.chain(moves).collect::<Result<_>>()?;
        for chosen in &list {
            format_from_name(&chosen.path, format!("use a name that ends in {}", known_extensions()))?;
        }
        Ok(list)
    }
}
