//! The command line of readmill.
//!
//! [`main`] works in three steps:
//!
//! 1. `fronts` translates a command line of samtools, Picard, GATK, elPrep or bwa to a native one.
//! 2. clap parses the native command line. The flags of each subcommand are in its own module.
//! 3. The subcommand creates a [`Plan`] from its flags, and [`process`] runs it. A few commands on
//!    files (`files.rs`, `page.rs`, `compare.rs`) need no plan.
//!
//! An [`Error`] in any step is logged by [`log_error`], which also chooses the exit code.

mod addons;
#[cfg(any(feature = "bwa", feature = "minibwa"))]
mod align;
#[cfg(any(feature = "bwa", feature = "minibwa"))]
mod aligner_index;
mod bqsr;
mod call;
mod cluster;
mod common;
mod compare;
mod demo;
mod depth;
mod examples;
mod fastq;
mod files;
mod filter;
mod filter_flags;
mod fingerprint;
#[cfg(test)]
mod front_lines;
mod front_source;
mod help;
mod help_topics;
mod hints;
mod import;
mod index;
mod manual;
mod markdup;
mod merge_alignment;
mod page;
mod pager;
mod prep;
mod preset;
mod read_tags;
mod reads;
mod recalibration;
mod same_pass;
mod sample_flag;
mod shard;
mod sort;
mod split;
mod stats;
mod tally;
mod trim_flags;
mod version;
mod view;

use std::ffi::OsString;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::{ColorChoice, CommandFactory as _, Parser, Subcommand};
use help_topics::{find_help_topic, shorten_shared_flags};
use preset::Preset;
use readmill::Plan;
use readmill::plan;
use readmill_fronts::{self as fronts, FrontFiles, TranslatedLine};
use readmill_process::allocator::{self, Heaps};
use readmill_process::console::{Console, set_json_messages, write_log_line};
use readmill_process::drawing;
use readmill_process::pause::{self, Moment};
use readmill_record::{Error, ErrorKind};

/// Turns sequencing reads into analysis-ready reads, in one pass and with a fixed amount of memory.
#[derive(Parser)]
#[command(
    name = "readmill",
    version,
    max_term_width = 100,
    subcommand_required = true,
    after_help = "Command lines of samtools, Picard, GATK, elPrep and bwa work unchanged: readmill samtools sort …, \
readmill picard MarkDuplicates …. docs/fronts.md describes how each option is translated."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Align FASTQ reads, and sort, mark duplicates and more in the same pass
    #[cfg(any(feature = "bwa", feature = "minibwa"))]
    Align(Box<align::AlignArgs>),
    /// Convert FASTQ to unaligned SAM, BAM or CRAM
    Import(Box<import::ImportArgs>),
    /// Merge alignments of another aligner with the unaligned reads
    MergeAlignment(Box<merge_alignment::MergeAlignmentArgs>),
    #[command(flatten)]
    Files(files::FileCommand),
    /// Run any combination of steps in a single pass
    Prep(Box<prep::PrepArgs>),
    /// Sort reads
    Sort(sort::SortArgs),
    /// Mark duplicates
    Markdup(markdup::MarkdupArgs),
    /// Drop or change reads, without sorting
    Filter(Box<filter::FilterArgs>),
    /// Print or convert reads, optionally by region
    View(Box<view::ViewArgs>),
    /// Recalibrate base qualities in separate steps
    #[command(subcommand)]
    Bqsr(bqsr::Bqsr),
    /// Merge files, and sort unsorted inputs first
    Merge(sort::SortArgs),
    /// Split a file by read group, contigs or number of reads
    Split(split::SplitArgs),
    /// Convert reads to FASTQ
    Fastq(Box<fastq::FastqArgs>),
    #[command(flatten)]
    Tally(tally::TallyCommand),
    /// Compute statistics of reads, as samtools stats does
    Stats(Box<stats::StatsArgs>),
    #[command(flatten)]
    Depth(depth::DepthCommand),
    /// Compute the quality metrics of Picard, FastQC and mosdepth
    Qc(Box<tally::QcArgs>),
    /// Call variants, with the records of GATK HaplotypeCaller
    Call(Box<call::CallArgs>),
    /// Check sample identity and sex from common variants
    #[command(subcommand)]
    Fingerprint(fingerprint::FingerprintCommand),
    /// Compute checksums of reads that do not depend on their order
    Checksum(tally::ChecksumArgs),
    /// Make an HTML report from run files, which --json writes
    Report(page::ReportArgs),
    /// Compare the records of two files
    Compare(compare::CompareArgs),
    /// Split a job into stages that can be resumed or distributed
    #[command(subcommand)]
    Shard(shard::Shard),
    /// Run a command on several workers, local or on SLURM (needs Python and Dask)
    Cluster(cluster::ClusterArgs),
    /// Simulate reads, then sort them and mark duplicates
    Demo(demo::DemoArgs),
    #[command(flatten)]
    Manual(manual::ManualCommand),
}

/// Runs the command line and returns the exit code, which is 0 only if all outputs are complete.
pub fn main() -> ExitCode {
    allocator::refuse_huge_pages();
    readmill_process::streams::report_closed_stdin();
    let given: Vec<OsString> = std::env::args_os().collect();
    let is_json = hints::wants_json(&given);
    set_json_messages(is_json);
    drawing::set_coloured(std::io::stderr().is_terminal() && hints::wants_colour(&given));
    let (arguments, files) = match fronts::translate_arguments(&given) {
        Ok(Some(TranslatedLine::Native(arguments, files))) => (arguments, files),
        Ok(Some(TranslatedLine::Answer(text))) => return print_answer(&text),
        Ok(None) => match hints::without_header_flag(given) {
            Ok(arguments) => (arguments, FrontFiles::default()),
            Err(error) => return log_error(&error),
        },
        Err(error) => return log_error(&error),
    };
    let (arguments, mut source) = match front_source::start_source(arguments, files.source.as_deref()) {
        Ok(started) => started,
        Err(error) => return log_error(&error),
    };
    let asks_for_help = arguments.get(1).is_some_and(|word| word == "help");
    let topic = asks_for_help.then(|| help::complete_help(Cli::command()));
    if let Some(help) = topic.and_then(|root| find_help_topic(&arguments, &root)) {
        return help.map_or_else(|error| log_error(&error), |text| print_help(&text, &arguments));
    }
    let (cli, preset) = match parse_command_line(&arguments) {
        Ok(parsed) => parsed,
        Err(error) => return report_parse_error(error, &arguments, is_json),
    };
    preset.write_note();
    allocator::configure_allocator(cli.command.allocator_heaps());
    // A command that leaves no files needs no signal handlers.
    let watch = if cli.command.writes_files() {
        readmill_process::signal::start_signal_thread
    } else {
        || Ok(())
    };
    if let Err(error) = readmill_process::signal::survive_size_limit_signal().and_then(|()| watch()) {
        return log_error(&Error::io("signals cannot be watched", &error));
    }
    pause::at(Moment::Started);
    let done = files.create_directories().and_then(|()| dispatch(cli.command, &arguments));
    let done = done.and_then(|code| files.rename_index().map(|()| code));
    let code = match (done, source.as_mut().and_then(front_source::Source::wait_for_failure)) {
        (_, Some(code)) => code, // the other process has logged its error
        (Ok(code), None) => code,
        (Err(error), None) => log_error(&error),
    };
    readmill_process::signal::wait_for_signal_exit();
    code
}

/// The command line of `view`. clap needs more time to build the flags of all commands than `view`
/// needs to read a small region, so [`parse_command_line`] builds only its flags.
#[derive(Parser)]
#[command(name = "readmill", version, max_term_width = 100, subcommand_required = true)]
struct ViewCli {
    #[command(subcommand)]
    command: ViewCommand,
}

#[derive(Subcommand)]
enum ViewCommand {
    /// Print or convert reads, optionally by region
    View(Box<view::ViewArgs>),
}

/// Parses a native command line, whose first word is the program name. Also returns the flags that
/// `--assay` added.
fn parse_command_line(words: &[OsString]) -> Result<(Cli, Preset), clap::Error> {
    if words.get(1).is_some_and(|command| command == "view") && !help::wants_long_help(words) {
        let (ViewCli { command: ViewCommand::View(view) }, preset) = parse_as(words)?;
        return Ok((Cli { command: Command::View(view) }, preset));
    }
    parse_as(words)
}

fn parse_as<T: Parser>(words: &[OsString]) -> Result<(T, Preset), clap::Error> {
    // `--version` is short, because programs read it; `-V` also describes the build.
    let version = clap::builder::Str::from(&*version::version_text().leak());
    let mut command = help::ignore_case_of_values(T::command());
    if help::may_print_help(words) {
        command = help::complete_help(command);
    }
    if help::wants_long_help(words) {
        command = shorten_shared_flags(command);
    }
    let colour = if hints::wants_colour(words) { ColorChoice::Auto } else { ColorChoice::Never };
    let mut command = command.color(colour).version(version).long_version(env!("CARGO_PKG_VERSION"));
    let parse = |command: &mut clap::Command, words: &[OsString]| {
        let matches = command.try_get_matches_from_mut(words);
        matches.map_err(|error| hints::name_environment_variable(error, words))
    };
    let mut matches = parse(&mut command, words)?;
    let preset = Preset::for_command_line(&command, &matches).unwrap_or_default();
    if !preset.words.is_empty() {
        matches = parse(&mut command, &preset.complete(words))?;
    }
    let parsed = T::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    Ok((parsed, preset))
}

impl Command {
    /// Returns whether unfinished files must be removed if a signal ends the process. Otherwise,
    /// signals keep their default action.
    fn writes_files(&self) -> bool {
        match self {
            Command::View(it) => it.writes_files(),
            Command::Depth(it) => it.writes_files(),
            Command::Cluster(_) => false,
            _ => true,
        }
    }

    /// Returns the allocator configuration, which is applied before the first thread starts.
    fn allocator_heaps(&self) -> Heaps {
        match self {
            #[cfg(any(feature = "bwa", feature = "minibwa"))]
            Command::Align(it) => it.heaps(),
            #[cfg(feature = "bwa")]
            Command::Demo(it) => it.allocator_heaps(),
            // For CRAM, but the input is not open yet, so this also applies to BAM and SAM.
            Command::View(_) | Command::Depth(_) => Heaps::FewKept,
            _ => Heaps::Few,
        }
    }
}

fn dispatch(command: Command, arguments: &[OsString]) -> Result<ExitCode, Error> {
    match command {
        #[cfg(any(feature = "bwa", feature = "minibwa"))]
        Command::Align(it) => {
            it.complete_index_if_asked()?;
            run_plan_maybe_in_stages(it.resume(), &it.build_plan()?, arguments)
        }
        Command::Import(it) => run_plan(&it.build_plan()?),
        Command::MergeAlignment(it) => it.run_or_sort_first(run_plan, plan_command),
        Command::Files(it) => it.run_file_command(run_plan),
        Command::Prep(it) => run_plan_maybe_in_stages(it.resume(), &it.build_plan()?, arguments),
        Command::Sort(it) => {
            run_plan_maybe_in_stages(it.resume(), &it.build_plan(plan::Command::Sort)?, arguments)
        }
        Command::Merge(it) => {
            run_plan_maybe_in_stages(it.resume(), &it.build_plan(plan::Command::Merge)?, arguments)
        }
        Command::Markdup(it) => run_plan_maybe_in_stages(it.resume(), &it.build_plan()?, arguments),
        Command::Shard(it) => it.run(plan_command).map(|()| ExitCode::SUCCESS),
        Command::Cluster(it) => it.run().map(|()| ExitCode::SUCCESS),
        Command::Filter(it) => run_plan(&it.build_plan()?),
        Command::View(it) => run_plan(&it.build_plan()?),
        Command::Bqsr(it) => it.plan_or_run()?.as_ref().map_or(Ok(ExitCode::SUCCESS), run_plan),
        Command::Split(it) => run_plan(&it.build_plan()?),
        Command::Fastq(it) => run_plan(&it.build_plan()?),
        Command::Tally(it) => run_plan(&it.build_plan()?),
        Command::Stats(it) => run_plan(&it.build_plan()?),
        Command::Depth(it) => it.run_depth_command().map(|()| ExitCode::SUCCESS),
        Command::Qc(it) => run_plan(&it.build_plan()?),
        Command::Call(it) => run_plan(&it.build_plan()?),
        Command::Fingerprint(it) => it.run(run_plan),
        Command::Checksum(it) => run_plan(&it.build_plan()?),
        Command::Report(it) => it.write_report().map(|()| ExitCode::SUCCESS),
        Command::Compare(it) => it.compare_and_print(),
        Command::Demo(it) => it.run(plan_command).map(|()| ExitCode::SUCCESS),
        Command::Manual(it) => it.run(help::complete_help(Cli::command())).map(|()| ExitCode::SUCCESS),
    }
}

/// Runs the plan, in stages if `--resume` is given.
fn run_plan_maybe_in_stages(
    flag: &shard::ResumeFlag,
    plan: &Plan,
    arguments: &[OsString],
) -> Result<ExitCode, Error> {
    let in_stages = flag.run(plan, arguments);
    #[cfg(debug_assertions)]
    readmill::audit::check_limits(plan.resources.memory)?;
    if in_stages? { Ok(ExitCode::SUCCESS) } else { run_plan(plan) }
}

fn run_plan(plan: &Plan) -> Result<ExitCode, Error> {
    let console = Console::new(plan.resources.verbosity);
    let done = readmill::run(plan, &console);
    #[cfg(debug_assertions)]
    readmill::audit::check_limits(plan.resources.memory)?;
    done.map(|_| ExitCode::SUCCESS)
}

/// Parses another readmill command and returns its plan. Used for the command of `shard plan`, for
/// the second process of `merge-alignment`, and for `demo --page`. `command` does not include the
/// program name.
///
/// The messages and the hint are for `shard plan`, because only there the user writes the command.
///
/// # Errors
/// Fails if the command line is invalid, or if the command cannot run in stages.
fn plan_command(command: &[String]) -> Result<Plan, Error> {
    let name = command.first().map_or("", String::as_str);
    let words = ["readmill"].into_iter().chain(command.iter().map(String::as_str));
    let words: Vec<OsString> = words.map(OsString::from).collect();
    let refused = |what: String| {
        Error::usage(what).hint(
            "use readmill shard plan --work DIR COMMAND …, where COMMAND is sort, merge, markdup, prep or align with its flags",
        )
    };
    let (parsed, _) = parse_command_line(&words).map_err(|error| refused(error_message(&error)))?;
    match parsed.command {
        Command::Sort(it) => it.build_plan(plan::Command::Sort),
        Command::Merge(it) => it.build_plan(plan::Command::Merge),
        Command::Markdup(it) => it.build_plan(),
        Command::Prep(it) => it.build_plan(),
        #[cfg(any(feature = "bwa", feature = "minibwa"))]
        Command::Align(it) => {
            it.complete_index_if_asked()?;
            it.build_plan()
        }
        _ => Err(refused(format!("{name} cannot be run in stages"))),
    }
}

/// Returns the message of a parse error without the prefix `error:`, and without the usage and the
/// hint that clap appends. Used in single-line messages, such as JSON.
fn error_message(error: &clap::Error) -> String {
    let text = error.to_string();
    let text = text.split("\n\nUsage:").next().unwrap_or_default();
    let text = text.split("\n\nFor more information").next().unwrap_or_default();
    in_plain_words(text.trim().trim_start_matches("error: "))
}

/// Messages of Rust's number parsers, each with the text that users see instead.
const NUMBERS: &[(&str, &str)] = &[
    ("invalid digit found in string", "must be a whole number"),
    ("cannot parse integer from empty string", "must be a whole number"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid float literal", "must be a number"),
    ("cannot parse float from empty string", "must be a number"),
];

/// Replaces messages of Rust's number parsers, and ranges such as `300 is not in 0..=255`.
fn in_plain_words(text: &str) -> String {
    let mut text = NUMBERS.iter().fold(text.to_string(), |text, (from, to)| text.replace(from, to));
    // "300 is not in 0..=255"
    if let Some((before, range)) = text.split_once(" is not in ")
        && let Some((low, rest)) = range.split_once("..=")
        && !low.contains(char::is_whitespace)
    {
        let before = before.rsplit_once(": ").map_or(before, |(before, _)| before);
        text = format!("{before}: must be from {low} to {rest}");
    }
    text
}

/// Prints the help or the version if it was requested, otherwise the error in the command line. The
/// exit code of an error is 1, because clap's own code, 2, means invalid input in readmill.
fn report_parse_error(error: clap::Error, words: &[OsString], is_json: bool) -> ExitCode {
    if !error.use_stderr() {
        return match error.kind() {
            clap::error::ErrorKind::DisplayVersion => print_answer(&error.render().to_string()),
            _ => print_help(&error.render(), words),
        };
    }
    let tip = hints::hint_for_other_tool(&error, fronts::native_hint);
    let error = if tip.is_some() { hints::remove_suggestions(error) } else { error };
    if is_json {
        write_log_line(&format!("readmill: error: {}", error_message(&error)));
    } else {
        let text = error.render();
        let text = if drawing::is_coloured() { text.ansi().to_string() } else { text.to_string() };
        let _ = std::io::stderr().write_all(in_plain_words(&text).as_bytes()); // an error here cannot be reported
    }
    tip.iter().for_each(|tip| write_log_line(&format!("  tip: {tip}")));
    ExitCode::from(1)
}

/// Prints help. On a terminal, the user's pager shows it.
fn print_help(text: &StyledStr, words: &[OsString]) -> ExitCode {
    let is_terminal = std::io::stdout().is_terminal();
    let is_coloured = is_terminal && hints::wants_colour(words);
    let text = if is_coloured { text.ansi().to_string() } else { text.to_string() };
    if is_terminal && pager::show_in_pager(&text) { ExitCode::SUCCESS } else { print_answer(&text) }
}

/// Prints the answer of a front, such as the help or version of a tool.
fn print_answer(text: &str) -> ExitCode {
    readmill_process::streams::write_stdout(text)
        .map_or_else(|error| log_error(&error), |()| ExitCode::SUCCESS)
}

/// Logs an error and returns its exit code. docs/running.md lists the codes.
fn log_error(error: &Error) -> ExitCode {
    let code = match error.kind {
        ErrorKind::Usage => 1,
        ErrorKind::Input => 2,
        ErrorKind::Io => 3,
        ErrorKind::Different => 4,
        ErrorKind::Temporary => 75,
        ErrorKind::Bug => 101,
        ErrorKind::BrokenPipe => return ExitCode::from(141), // the reader closed the pipe, which is not reported
    };
    write_log_line(&format!("readmill: error: {error}"));
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn no_flag_has_two_meanings() {
        super::help::complete_help(super::Cli::command()).debug_assert();
    }
}
