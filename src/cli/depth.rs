//! `readmill depth`, `readmill coverage` and `readmill bedcov`. Their short flags have the same
//! letters as in samtools.

use std::path::{Path, PathBuf};

use clap::{ArgAction, Args, Subcommand};
use readmill::Plan;
use readmill::depth::{DepthForm, DepthRequest, count_depth};
use readmill::plan::{self, Destination, Reports, Steps, Verbosity};
use readmill_coverage::depth::{
    BedOptions, DepthRules, GateKind, Histogram, PositionChoice, ReadLength, TableOptions,
};
use readmill_files::read_file_list;
use readmill_process::console::Console;
use readmill_record::{Error, Flags, Ledger, Result};

use super::common::ResourceFlags;
use super::hints;

#[derive(Subcommand)]
pub enum DepthCommand {
    /// Print the depth at each position, as samtools depth does
    Depth(Box<DepthArgs>),
    /// Print the coverage of each contig, as samtools coverage does
    Coverage(Box<CoverageArgs>),
    /// Count the bases in each region of a BED file, as samtools bedcov does
    Bedcov(Box<BedcovArgs>),
}

impl DepthCommand {
    pub fn run_depth_command(&self) -> Result<()> {
        let (plan, request) = match self {
            DepthCommand::Depth(it) => it.build_request()?,
            DepthCommand::Coverage(it) => it.build_request()?,
            DepthCommand::Bedcov(it) => it.build_request()?,
        };
        let done = count_depth(&plan, &request, &Console::new(plan.resources.verbosity));
        #[cfg(debug_assertions)]
        readmill::audit::check_limits(plan.resources.memory)?;
        done
    }

    /// Returns whether the command writes a file, which must be removed if a signal ends the
    /// process.
    pub fn writes_files(&self) -> bool {
        let output = match self {
            DepthCommand::Depth(it) => &it.output,
            DepthCommand::Coverage(it) => &it.output,
            DepthCommand::Bedcov(it) => &it.output,
        };
        output.as_deref().is_some_and(|path| path.as_os_str() != "-")
    }
}

#[derive(Args)]
#[command(
    mut_arg("quiet", |arg| arg.short(None)),
    mut_arg("temp_dir", |arg| arg.hide(true).short(None)),
    mut_arg("spill_codec", |arg| arg.hide(true)),
    mut_arg("memory", |arg| arg.short(None)),
    after_help = "\
Each line has a contig, a 1-based position, and the depth in each file. The files must be sorted by coordinate and have the \
same contigs. The flags are those of samtools depth, except that -@ is the total number of threads. Without -v, only warnings are logged."
)]
pub struct DepthArgs {
    /// SAM, BAM or CRAM files, sorted by coordinate; - for standard input
    #[arg(value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Also write positions with depth 0. With -aa, also write contigs without reads
    #[arg(short = 'a', action = ArgAction::Count, help_heading = "Output")]
    all: u8,
    /// Write a header line with column names
    #[arg(short = 'H', long, help_heading = "Output")]
    header: bool,
    /// Write the result to this file [default: - (standard output)]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Write only the positions in this file: BED, or a list of contigs and positions
    #[arg(short = 'b', long, value_name = "FILE", help_heading = "Positions")]
    targets_file: Option<PathBuf>,
    /// Use only this contig or region. Each file needs an index
    #[arg(short, long, value_name = "REGION", help_heading = "Positions")]
    region: Option<String>,
    /// Give the index files after the inputs: IN... INDEX...
    #[arg(short = 'X', long, help_heading = "Positions")]
    customized_index: bool,
    /// Read the names of the inputs from this file, one per line
    #[arg(short = 'f', long, value_name = "FILE", conflicts_with_all = ["inputs", "customized_index"])]
    file_list: Option<PathBuf>,
    /// Count reads with these flags, which are excluded by default
    #[arg(short = 'g', long, value_name = "FLAGS", help_heading = "Reads")]
    include_again: Vec<Flags>,
    /// Also exclude reads with any of these flags [default: UNMAP,SECONDARY,QCFAIL,DUP]
    #[arg(short = 'G', long, value_name = "FLAGS", help_heading = "Reads")]
    excl_flags: Vec<Flags>,
    /// Count only reads with any of these flags
    #[arg(long, value_name = "FLAGS", help_heading = "Reads")]
    incl_flags: Vec<Flags>,
    /// Count only reads with all of these flags
    #[arg(long, value_name = "FLAGS", help_heading = "Reads")]
    require_flags: Vec<Flags>,
    /// Count only reads with at least N bases, not counting soft clips
    #[arg(short = 'l', long, value_name = "N", default_value_t = 0, help_heading = "Reads")]
    min_length: u64,
    /// Count only reads with at least this mapping quality
    #[arg(short = 'Q', long = "min-MQ", value_name = "N", default_value_t = 0, help_heading = "Reads")]
    min_mapq: u32,
    /// Count only bases with at least this quality
    #[arg(short = 'q', long = "min-BQ", value_name = "N", default_value_t = 0, help_heading = "Reads")]
    min_base_quality: u32,
    /// Count deletions as covered positions
    #[arg(short = 'J', long, help_heading = "Reads")]
    deletions: bool,
    /// Count bases in the overlap of mates only once
    #[arg(short = 's', long, help_heading = "Reads")]
    once_by_template: bool,
    #[command(flatten)]
    resources: ResourceFlags,
}

impl DepthArgs {
    fn build_request(&self) -> Result<(Plan, DepthRequest)> {
        let output = self.output.clone().unwrap_or_else(|| "-".into());
        let mut plan = plan_without_inputs("depth", &self.resources, &output)?;
        let (inputs, indexes) =
            inputs_and_indexes(&self.inputs, self.file_list.as_deref(), self.customized_index, &plan)?;
        plan.inputs = inputs;
        let bits = |list: &[Flags]| list.iter().fold(0, |bits, flags| bits | flags.0);
        let rules = DepthRules {
            exclude_flags: excluded_flags(&self.include_again, &self.excl_flags)?,
            include_flags: bits(&self.incl_flags),
            require_flags: bits(&self.require_flags),
            min_mapq: self.min_mapq,
            min_length: self.min_length,
            length: ReadLength::Aligned,
            min_base_quality: self.min_base_quality,
            count_deletions: self.deletions,
            ..DepthRules::default()
        };
        let positions = [PositionChoice::Reached, PositionChoice::OfContigs, PositionChoice::All];
        let request = DepthRequest {
            rules,
            gate: self.once_by_template.then_some(GateKind::Mates),
            region: self.region.clone(),
            indexes,
            form: DepthForm::Lines {
                positions: positions[usize::from(self.all).min(2)],
                targets: self.targets_file.clone(),
                header: self.header,
            },
            output,
        };
        Ok((plan, request))
    }
}

#[derive(Args)]
#[command(
    mut_arg("quiet", |arg| arg.short(None)),
    mut_arg("temp_dir", |arg| arg.hide(true).short(None)),
    mut_arg("spill_codec", |arg| arg.hide(true)),
    mut_arg("memory", |arg| arg.short(None)),
    after_help = "\
The columns are contig, first and last position, reads, covered positions, percentage of covered positions, mean depth, mean base quality and mean mapping quality. Contigs without reads are listed last. Several files are counted together. They must be sorted by coordinate. The flags are those of samtools coverage, except that -@ is the total number of threads. Without -v, only warnings are logged."
)]
pub struct CoverageArgs {
    /// SAM, BAM or CRAM files, sorted by coordinate; - for standard input
    #[arg(value_name = "IN")]
    inputs: Vec<PathBuf>,
    /// Read the names of the inputs from this file, one per line
    #[arg(short = 'b', long, value_name = "FILE", conflicts_with = "inputs")]
    bam_list: Option<PathBuf>,
    /// Use only this contig or region. Each file needs an index
    #[arg(short, long, value_name = "REGION")]
    region: Option<String>,
    /// Count only reads with at least N bases
    #[arg(short = 'l', long, value_name = "N", default_value_t = 0, help_heading = "Reads")]
    min_read_len: u64,
    /// Count only reads with at least this mapping quality
    #[arg(short = 'q', long = "min-MQ", value_name = "N", default_value_t = 0, help_heading = "Reads")]
    min_mapq: u32,
    /// Count only bases with at least this quality
    #[arg(short = 'Q', long = "min-BQ", value_name = "N", default_value_t = 0, help_heading = "Reads")]
    min_base_quality: u32,
    /// Count only reads with any of these flags
    #[arg(long = "rf", alias = "incl-flags", value_name = "FLAGS", help_heading = "Reads")]
    include_flags: Option<Flags>,
    /// Exclude reads with any of these flags [default: UNMAP,SECONDARY,QCFAIL,DUP]
    #[arg(long = "ff", alias = "excl-flags", value_name = "FLAGS", help_heading = "Reads")]
    exclude_flags: Option<Flags>,
    /// Maximum depth. 0 means no limit
    ///
    /// If N reads cover a position, further reads that start there are not counted.
    #[arg(short = 'd', long, value_name = "N", default_value_t = 1_000_000, help_heading = "Reads")]
    depth: u32,
    /// Count a position as covered only if its depth is at least N
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Reads")]
    min_depth: u32,
    /// Write the result to this file [default: - (standard output)]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Do not write the header line
    #[arg(short = 'H', long, help_heading = "Output")]
    no_header: bool,
    /// Draw a histogram for each contig instead of a line of numbers
    #[arg(short = 'm', long, help_heading = "Output")]
    histogram: bool,
    /// Draw the depth in each bin instead of the percentage of covered positions
    #[arg(short = 'D', long, help_heading = "Output")]
    plot_depth: bool,
    /// Draw histograms with ASCII characters only
    #[arg(short = 'A', long, help_heading = "Output")]
    ascii: bool,
    /// Number of histogram bins; 0 fits the terminal [default: 50 with -o, otherwise 0]
    #[arg(short = 'w', long, value_name = "N", help_heading = "Output")]
    n_bins: Option<u32>,
    #[command(flatten)]
    resources: ResourceFlags,
}

/// Default number of bins in a histogram that is written to a file.
const DEFAULT_FILE_BINS: u32 = 50;

/// Terminal columns that the text next to the histogram bins takes.
const TEXT_COLUMNS: u32 = 40;
/// Number of bins on a terminal that is too narrow or of unknown width.
const NARROW_TERMINAL_BINS: u32 = 40;

impl CoverageArgs {
    fn build_request(&self) -> Result<(Plan, DepthRequest)> {
        let output = self.output.clone().unwrap_or_else(|| "-".into());
        let mut plan = plan_without_inputs("coverage", &self.resources, &output)?;
        (plan.inputs, _) = inputs_and_indexes(&self.inputs, self.bam_list.as_deref(), false, &plan)?;
        let rules = DepthRules {
            exclude_flags: self
                .exclude_flags
                .map_or(DepthRules::default().exclude_flags, |flags| flags.0),
            include_flags: self.include_flags.map_or(0, |flags| flags.0),
            min_mapq: self.min_mapq,
            min_length: self.min_read_len,
            length: ReadLength::Whole,
            min_base_quality: self.min_base_quality,
            sums_by_contig: true,
            sums_by_position: self.min_depth > 1,
            ..DepthRules::default()
        };
        let draws = self.histogram || self.plot_depth || self.ascii || self.n_bins.is_some();
        let histogram = draws.then(|| Histogram {
            bins: self.bin_count(),
            ascii: self.ascii,
            draws_depth: self.plot_depth,
        });
        let request = DepthRequest {
            rules,
            gate: (self.depth > 0).then_some(GateKind::MaxDepth(self.depth)),
            region: self.region.clone(),
            indexes: Vec::new(),
            form: DepthForm::Table(TableOptions {
                min_depth: self.min_depth.max(1),
                window: None,
                header: !self.no_header,
                histogram,
            }),
            output,
        };
        Ok((plan, request))
    }

    fn bin_count(&self) -> u32 {
        match (self.n_bins, &self.output) {
            (Some(bins @ 1..), _) => bins,
            (None, Some(_)) => DEFAULT_FILE_BINS,
            _ => match terminal_columns() {
                columns if columns > TEXT_COLUMNS + 20 => columns - TEXT_COLUMNS,
                _ => NARROW_TERMINAL_BINS,
            },
        }
    }
}

#[derive(Args)]
#[command(
    mut_arg("quiet", |arg| arg.short(None)),
    mut_arg("temp_dir", |arg| arg.hide(true).short(None)),
    mut_arg("spill_codec", |arg| arg.hide(true)),
    mut_arg("memory", |arg| arg.short(None)),
    after_help = "\
For each region of the BED file and each input, the output has the number of aligned, deleted and skipped bases in the region. With -j or -d, only aligned bases are counted. The files must be sorted by coordinate and have the same contigs. If a file has an index, only the regions are read. The flags are those of samtools bedcov, except that -@ is the total number of threads. Without -v, only warnings are logged."
)]
pub struct BedcovArgs {
    /// BED file with the regions
    #[arg(value_name = "BED")]
    regions: PathBuf,
    /// SAM, BAM or CRAM files, sorted by coordinate; - for standard input
    #[arg(value_name = "IN", required = true)]
    inputs: Vec<PathBuf>,
    /// Give the index files after the inputs: IN... INDEX...
    #[arg(short = 'X', long)]
    customized_index: bool,
    /// Count reads with these flags, which are excluded by default
    #[arg(short = 'g', long, value_name = "FLAGS", help_heading = "Reads")]
    include_again: Vec<Flags>,
    /// Also exclude reads with any of these flags [default: UNMAP,SECONDARY,QCFAIL,DUP]
    #[arg(short = 'G', long, value_name = "FLAGS", help_heading = "Reads")]
    excl_flags: Vec<Flags>,
    /// Count only reads with at least this mapping quality
    #[arg(short = 'Q', long = "min-MQ", value_name = "N", default_value_t = 0, help_heading = "Reads")]
    min_mapq: u32,
    /// Do not count deleted and skipped bases
    #[arg(short = 'j', long, help_heading = "Reads")]
    aligned_only: bool,
    /// Add a column with the number of positions with a depth of at least N. Implies -j
    #[arg(short = 'd', long, value_name = "N", help_heading = "Output")]
    min_depth: Option<u64>,
    /// Add a column with the number of reads
    #[arg(short = 'c', long, help_heading = "Output")]
    count_reads: bool,
    /// Write a header line with column names
    #[arg(short = 'H', long, help_heading = "Output")]
    header: bool,
    /// Write the result to this file [default: - (standard output)]
    #[arg(short, long, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    resources: ResourceFlags,
}

impl BedcovArgs {
    fn build_request(&self) -> Result<(Plan, DepthRequest)> {
        let output = self.output.clone().unwrap_or_else(|| "-".into());
        let mut plan = plan_without_inputs("bedcov", &self.resources, &output)?;
        let (inputs, indexes) = inputs_and_indexes(&self.inputs, None, self.customized_index, &plan)?;
        let rules = DepthRules {
            // A pileup never contains unmapped reads.
            exclude_flags: excluded_flags(&self.include_again, &self.excl_flags)? | Flags::UNMAPPED,
            min_mapq: self.min_mapq,
            count_deletions: !self.aligned_only && self.min_depth.is_none(),
            is_pileup: true,
            ..DepthRules::default()
        };
        let name = |path: &PathBuf| path.as_os_str().as_encoded_bytes().to_vec();
        let options = BedOptions {
            min_depth: self.min_depth,
            reads: self.count_reads,
            header: self.header.then(|| inputs.iter().map(name).collect()),
        };
        plan.inputs = inputs;
        let form = DepthForm::Bed { regions: self.regions.clone(), options };
        Ok((plan, DepthRequest { rules, gate: None, region: None, indexes, form, output }))
    }
}

/// Returns the FLAG bits that exclude reads: the default bits without `again` (`-g`), and with
/// `more` (`-G`).
fn excluded_flags(again: &[Flags], more: &[Flags]) -> Result<u16> {
    let bits = |list: &[Flags]| list.iter().fold(0, |bits, flags| bits | flags.0);
    let (again, more) = (bits(again), bits(more));
    if again & more != 0 {
        return Err(Error::usage(format!(
            "the FLAG bits {:#x} are given to both -g and -G",
            again & more
        ))
        .hint(
            "give each FLAG bit to only one of them: -g counts reads with the bit, and -G excludes them",
        ));
    }
    Ok(DepthRules::default().exclude_flags & !again | more)
}

/// Returns the width of the terminal: the variable COLUMNS, otherwise the width that the terminal
/// of standard error reports, or 0 if there is no terminal.
fn terminal_columns() -> u32 {
    match std::env::var("COLUMNS") {
        Ok(text) => text.trim().parse().unwrap_or(0),
        Err(_) => rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_col.into()),
    }
}

/// Returns a plan for the command `name`, without inputs yet. These commands log only warnings,
/// unless `-v` is given.
fn plan_without_inputs(name: &'static str, resources: &ResourceFlags, output: &Path) -> Result<Plan> {
    let mut resources = resources.build_resources(output)?;
    if resources.verbosity == Verbosity::Normal {
        resources.verbosity = Verbosity::Quiet;
    }
    Ok(Plan {
        command: plan::Command::Tally(name),
        inputs: Vec::new(),
        regions: None,
        aligning: None,
        merging: None,
        steps: Steps::default(),
        destination: Destination::Nowhere,
        reports: Reports::default(),
        resources,
    })
}

/// Returns the inputs and their indexes. The inputs are the given files, the files in the list, or
/// standard input. With `-X`, the second half of the given files are the indexes.
fn inputs_and_indexes(
    given: &[PathBuf],
    list: Option<&Path>,
    with_indexes: bool,
    plan: &Plan,
) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    if let Some(list) = list {
        let names = read_file_list(list, &Ledger::with_capacity(plan.resources.memory))?;
        if names.is_empty() {
            return Err(Error::usage(format!("{} contains no file names", list.display()))
                .hint("write the names of SAM, BAM or CRAM files to it, one per line"));
        }
        return Ok((names, Vec::new()));
    }
    if given.is_empty() && hints::has_no_standard_input() {
        return Err(hints::missing_input_error(
            "give SAM, BAM or CRAM files sorted by coordinate, or pipe reads to standard input",
        ));
    }
    hints::refuse_picard_arguments(given)?;
    if given.is_empty() {
        return Ok((vec!["-".into()], Vec::new()));
    }
    if !with_indexes {
        return Ok((given.to_vec(), Vec::new()));
    }
    if !given.len().is_multiple_of(2) {
        return Err(Error::usage(
            "-X needs one index file for each input, but an index file is missing",
        )
        .hint("give all inputs first, then their index files in the same order"));
    }
    let (inputs, indexes) = given.split_at(given.len() / 2);
    Ok((inputs.to_vec(), indexes.to_vec()))
}
