//! Small commands that process files without a pipeline: `faidx`, `dict`, `quickcheck`, `head`,
//! `cat`, `reheader` and others. `readmill_files` implements them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use readmill::Plan;
use readmill::plan::{self, Steps, Verbosity};
use readmill_files::cat::{CatOptions, join_files};
use readmill_files::dict::{DictOptions, write_sequence_dictionary};
use readmill_files::head::{HeadOptions, print_head};
use readmill_files::quickcheck::find_faults;
use readmill_files::reheader::{ReheaderOptions, replace_header};
use readmill_files::{CommandMemory, FileOutput, read_file_list};
use readmill_format::reference::LazyReference;
use readmill_process::console::{Console, write_log_line};
use readmill_record::{Error, ErrorKind, Ledger, Result};
use readmill_sort::Order;

use super::common::{Io, MemoryFlag};
use super::hints;
use super::index::{FaidxArgs, IndexArgs};

#[derive(Subcommand)]
pub enum FileCommand {
    /// Index a file: BAM, CRAM, VCF, BED or FASTA
    Index(IndexArgs),
    /// Index a FASTA file, or print sequences from it
    Faidx(FaidxArgs),
    /// Write the sequence dictionary of a FASTA file
    Dict(DictArgs),
    /// Quickly check that files are complete (header and end-of-file marker)
    Quickcheck(QuickcheckArgs),
    /// Print the header and the first records
    Head(HeadArgs),
    /// Group reads by name
    Collate(Box<CollateArgs>),
    /// Concatenate BAM files without recompression
    Cat(CatArgs),
    /// Replace the header of a file without recompression
    Reheader(ReheaderArgs),
    #[command(hide = true)]
    Addreplacerg(UnsupportedCommand),
}

impl FileCommand {
    /// Runs the command. `collate` needs the pipeline, so its plan is passed to `process`.
    pub fn run_file_command(&self, process: impl Fn(&Plan) -> Result<ExitCode>) -> Result<ExitCode> {
        let success = |()| ExitCode::SUCCESS;
        match self {
            FileCommand::Index(it) => it.run_index_command().map(success),
            FileCommand::Collate(it) => process(&it.build_plan()?),
            FileCommand::Faidx(it) => {
                run_with_audit(&it.memory, |ledger| it.index_or_print_sequences(ledger).map(success))
            }
            FileCommand::Dict(it) => {
                run_with_audit(&it.memory, |ledger| it.write_dict(ledger).map(success))
            }
            FileCommand::Quickcheck(it) => run_with_audit(&it.memory, |ledger| it.check_files(ledger)),
            FileCommand::Head(it) => {
                run_with_audit(&it.memory, |ledger| it.print_head(ledger).map(success))
            }
            FileCommand::Cat(it) => {
                run_with_audit(&it.memory, |ledger| it.join_files(ledger).map(success))
            }
            FileCommand::Reheader(it) => {
                run_with_audit(&it.memory, |ledger| it.write_reheadered(ledger).map(success))
            }
            FileCommand::Addreplacerg(_) => Err(unsupported_command_error(
                "addreplacerg",
                "use readmill samtools addreplacerg, or readmill filter with --read-group, --to-read-group or --orphans-to-read-group",
            )),
        }
    }
}

/// Runs `work` with a ledger for the command's memory. Builds with debug assertions return an error
/// if the command used more memory.
fn run_with_audit(
    memory: &MemoryFlag,
    work: impl FnOnce(&Ledger) -> Result<ExitCode>,
) -> Result<ExitCode> {
    let divided = CommandMemory::divide(memory.bytes())?;
    #[cfg(debug_assertions)]
    let audit = readmill::audit::begin_audit();
    let done = work(&divided.ledger);
    #[cfg(debug_assertions)]
    {
        drop(audit);
        readmill::audit::check_limits(memory.bytes())?;
    }
    done
}

/// A samtools command that readmill does not have. It is parsed, so that the error can name the
/// command to use instead.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct UnsupportedCommand {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

fn unsupported_command_error(name: &str, way: &'static str) -> Error {
    Error::usage(format!("readmill has no {name}")).hint(way)
}

fn new_console(is_quiet: bool) -> Console {
    Console::new(if is_quiet { Verbosity::Quiet } else { Verbosity::Normal })
}

/// Opens an output for BAM or CRAM; `None` is standard output.
///
/// # Errors
/// Fails if the output is a terminal, or if it is one of `inputs`, which are read after the output
/// is opened.
fn open_records_output(path: Option<&PathBuf>, inputs: &[&Path]) -> Result<FileOutput> {
    let output = FileOutput::open(path.map(PathBuf::as_path), inputs)?;
    if output.is_terminal() {
        return Err(Error::usage("BAM and CRAM are not written to a terminal")
            .hint("give an output file with -o, or use a pipe"));
    }
    Ok(output)
}

#[derive(Args)]
#[command(
    after_help = "The output is identical to the output of samtools dict. With --as-picard, it is identical to the output of Picard \
CreateSequenceDictionary: @HD has VN:1.6 and no SO, and UR is the path as given."
)]
pub struct DictArgs {
    /// FASTA file, plain or compressed; - for standard input
    #[arg(value_name = "REF")]
    reference: PathBuf,
    /// Write the dictionary to this file [default: - (standard output)]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Name of the assembly (AS)
    #[arg(short, long, value_name = "TEXT")]
    assembly: Option<String>,
    /// Name of the species (SP)
    #[arg(short, long, value_name = "TEXT")]
    species: Option<String>,
    /// Location of the FASTA file (UR) [default: file:// and its path]
    #[arg(short, long, value_name = "URI")]
    uri: Option<String>,
    /// Do not write the @HD line
    #[arg(short = 'H', long)]
    no_header: bool,
    /// Add an alternative name to each contig (AN), with the prefix chr added or removed
    #[arg(short = 'A', long, alias = "alternative-name")]
    alias: bool,
    /// Write @HD and UR as Picard CreateSequenceDictionary does
    #[arg(long)]
    as_picard: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    memory: MemoryFlag,
}

impl DictArgs {
    fn write_dict(&self, ledger: &Ledger) -> Result<()> {
        let options = DictOptions {
            assembly: self.assembly.clone(),
            species: self.species.clone(),
            uri: self.uri.clone(),
            no_header: self.no_header,
            aliases: self.alias,
            as_picard: self.as_picard,
        };
        let output = FileOutput::open(self.output.as_deref(), &[&self.reference])?;
        write_sequence_dictionary(&self.reference, &options, output, ledger)
    }
}

#[derive(Args)]
#[command(
    after_help = "A file is complete if it is SAM, BAM or CRAM, its header has reference sequences, and it ends with an end-of-file marker. Records are not read, so damage in the middle of a file is not detected. To read whole files, use readmill flagstat.

Exit code: 0 if all files are complete, 2 if any is not, 3 if any cannot be read."
)]
pub struct QuickcheckArgs {
    /// SAM, BAM or CRAM files to check
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Print the names of incomplete files
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Print nothing; only set the exit code
    #[arg(short, long)]
    quiet: bool,
    /// Accept headers without reference sequences, as in files of unaligned reads
    #[arg(short, long)]
    unmapped: bool,
    #[command(flatten)]
    memory: MemoryFlag,
}

impl QuickcheckArgs {
    fn check_files(&self, ledger: &Ledger) -> Result<ExitCode> {
        let (mut is_bad, mut is_unreadable) = (false, false);
        let mut bad = String::new();
        for file in &self.files {
            let faults = find_faults(file, self.unmapped, ledger);
            if !faults.is_empty() {
                bad += &format!("{}\n", file.display());
            }
            for fault in faults {
                is_bad = true;
                is_unreadable |= fault.kind == ErrorKind::Io;
                if !self.quiet {
                    write_log_line(&format!("readmill: error: {fault}"));
                }
            }
        }
        if self.verbose > 0 {
            let mut out = FileOutput::open(None, &[])?;
            out.write_buffered(bad.as_bytes())?;
            out.finish()?;
        }
        Ok(match (is_bad, is_unreadable) {
            (_, true) => ExitCode::from(3),
            (true, _) => ExitCode::from(2),
            _ => ExitCode::SUCCESS,
        })
    }
}

#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct HeadArgs {
    /// SAM, BAM or CRAM file [default: - (standard input)]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Print the first N header lines [default: all]
    #[arg(short = 'h', long, value_name = "N")]
    headers: Option<u64>,
    /// Print the first N records
    #[arg(short = 'n', long, value_name = "N", default_value_t = 0)]
    records: u64,
    /// Reference FASTA file, if a CRAM file needs it
    #[arg(short = 'T', long, value_name = "FASTA")]
    reference: Option<PathBuf>,
    #[command(flatten)]
    memory: MemoryFlag,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

impl HeadArgs {
    fn print_head(&self, ledger: &Ledger) -> Result<()> {
        if self.file.is_none() && hints::has_no_standard_input() {
            return Err(hints::missing_input_error("give a SAM, BAM or CRAM file"));
        }
        let options = HeadOptions {
            headers: self.headers,
            records: self.records,
            reference: self.reference.as_deref().map(LazyReference::new),
        };
        let mut out = FileOutput::open(None, &[])?;
        print_head(&self.file.clone().unwrap_or_else(|| "-".into()), &options, &mut out, ledger)?;
        out.finish()
    }
}

#[derive(Args)]
#[command(
    after_help = "Reads are sorted by name, byte by byte, so their order is the same in every run. samtools collate only groups them. readmill fastq, markdup and filter --fix-mates do not need collated input."
)]
pub struct CollateArgs {
    #[command(flatten)]
    io: Io,
}

impl CollateArgs {
    fn build_plan(&self) -> Result<Plan> {
        let steps = Steps { sort: Some(Order::Lexicographic), ..Steps::default() };
        self.io.build_plan(plan::Command::Sort, steps)
    }
}

#[derive(Args)]
#[command(
    disable_help_flag = true,
    after_help = "Compressed blocks are copied unchanged. All files must have the same contigs. The output gets the header of the first file, including @HD. If the joined records would not be in the order that @HD states, use readmill merge instead."
)]
pub struct CatArgs {
    /// BAM files to join, in this order
    #[arg(value_name = "FILE", required_unless_present = "list")]
    files: Vec<PathBuf>,
    /// Read names of BAM files from this file, one per line. These files are joined first. May be
    /// repeated
    #[arg(short = 'b', long = "list", id = "list", value_name = "FILE")]
    lists: Vec<PathBuf>,
    /// Use the header of this file [default: the header of the first input]
    #[arg(short = 'h', long, value_name = "FILE")]
    header: Option<PathBuf>,
    /// Write the joined file to FILE [default: - (standard output)]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Do not add a @PG line to the header
    #[arg(long = "no-PG", alias = "no-pg")]
    no_pg: bool,
    /// Accept files without an end-of-file marker
    #[arg(long)]
    allow_missing_eof: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    memory: MemoryFlag,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
}

impl CatArgs {
    fn join_files(&self, ledger: &Ledger) -> Result<()> {
        let mut inputs = Vec::new();
        for list in &self.lists {
            inputs.extend(read_file_list(list, ledger)?);
        }
        inputs.extend(self.files.iter().cloned());
        if inputs.is_empty() {
            return Err(Error::usage("the list contains no file names"));
        }
        let options = CatOptions {
            inputs,
            header: self.header.clone(),
            program: (!self.no_pg).then(|| "readmill cat".to_string()),
            allow_missing_eof: self.allow_missing_eof,
        };
        let read = options.inputs.iter().chain(&self.lists).chain(&self.header);
        let read: Vec<&Path> = read.map(PathBuf::as_path).collect();
        join_files(
            &options,
            open_records_output(self.output.as_ref(), &read)?,
            &new_console(self.quiet),
            ledger,
        )
    }
}

#[derive(Args)]
#[command(
    after_help = "Records refer to contigs by number and, in CRAM, also to read groups by number. So the new header must have contigs of the same lengths in the same order. Contigs can have new names, and you can add contigs at the end."
)]
pub struct ReheaderArgs {
    /// SAM, BAM or CRAM file with the new header
    #[arg(value_name = "HEADER", required_unless_present_any = ["command", "in_place"])]
    header: Option<PathBuf>,
    /// BAM or CRAM file with the reads
    #[arg(value_name = "FILE", required_unless_present_any = ["command", "in_place"])]
    input: Option<PathBuf>,
    /// Write the reads with the new header to FILE [default: - (standard output)]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Do not add a @PG line to the header
    #[arg(short = 'P', long = "no-PG", alias = "no-pg")]
    no_pg: bool,
    /// Accept a file without an end-of-file marker
    #[arg(long)]
    allow_missing_eof: bool,
    /// Print only errors
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    memory: MemoryFlag,
    #[arg(short, long, value_name = "CMD", hide = true)]
    command: Option<OsString>,
    #[arg(short, long, hide = true)]
    in_place: bool,
}

impl ReheaderArgs {
    fn write_reheadered(&self, ledger: &Ledger) -> Result<()> {
        if self.command.is_some() {
            return Err(Error::usage("reheader has no -c").hint(
                "write the new header to a file first: readmill head FILE | CMD > new.sam; readmill reheader new.sam FILE",
            ));
        }
        if self.in_place {
            return Err(Error::usage("reheader has no -i: readmill never changes its input")
                .hint("write to another file with -o"));
        }
        let (Some(header), Some(input)) = (self.header.clone(), self.input.clone()) else {
            return Err(Error::usage("give a file with the new header and a file with reads"));
        };
        let options = ReheaderOptions {
            header,
            input,
            program: (!self.no_pg).then(|| "readmill reheader".to_string()),
            allow_missing_eof: self.allow_missing_eof,
        };
        let output = open_records_output(self.output.as_ref(), &[&options.header, &options.input])?;
        replace_header(&options, output, &new_console(self.quiet), ledger)
    }
}
