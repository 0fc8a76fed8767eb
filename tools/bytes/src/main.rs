//! `./dev bytes`: compares the outputs of the working tree with those of another revision, for many
//! command lines, each with several thread counts and memory limits.
//!
//! ```text
//! trees    copies and builds both revisions in target/bytes
//! inputs   creates the inputs, with the base revision
//! jobs     runs every line with every program and all resources
//! digest   hashes the outputs
//! verdict  same, new, other blocks, differ, or not invariant
//! ```
//!
//! Both trees are built in the dev profile with the same version number, and kept for the next
//! call. A second hash, of inflated BGZF data, distinguishes different blocks from different
//! records.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod digest;
mod jobs;
mod trees;
mod verdict;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use clap::Parser;
use digest::Digest;
use jobs::{Job, RESOURCES, Resources};
use readmill_bytes::inputs::{self, Scale};
use readmill_bytes::lines::{self, CommandLine};
use trees::Tree;
use verdict::{Judgement, LineVerdict, RunResult};

/// Compare all output bytes with those of a different revision
#[derive(Parser)]
#[command(name = "./dev bytes", bin_name = "./dev bytes", max_term_width = 100)]
struct BytesArgs {
    /// Revision to compare with
    #[arg(value_name = "BASE", required_unless_present = "list")]
    base: Option<String>,
    /// Run only command lines that contain this text; repeatable
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// List the command lines without running them
    #[arg(long)]
    list: bool,
    /// Number of simultaneous runs [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Features to build both trees with, such as minibwa
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    features: Vec<String>,
    /// Accept different blocks with the same records
    #[arg(long)]
    allow_blocks: bool,
    /// Run nothing if both programs are equal except for their build directory
    #[arg(long)]
    quick_same: bool,
}

fn main() -> Result<()> {
    let args = BytesArgs::parse();
    let is_wanted = |line: &CommandLine| {
        args.only.is_empty() || args.only.iter().any(|text| line.text.contains(text))
    };
    let mut lines: Vec<CommandLine> = lines::load_lines()?.into_iter().filter(is_wanted).collect();
    let Some(revision) = args.base.as_deref().filter(|_| !args.list) else {
        lines.iter().for_each(|line| println!("{}", line.text));
        return Ok(());
    };
    if lines.is_empty() {
        bail!("no command line contains {}", args.only.join(" or "));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).context("no workspace")?;
    let target = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(directory) if !directory.is_empty() => PathBuf::from(directory),
        _ => root.join("target"),
    };
    let home = target.join("bytes");
    std::fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    // Waits for other calls, which use the same trees and inputs.
    let lock = std::fs::File::create(home.join("lock"))?;
    lock.lock().context("cannot lock target/bytes/lock")?;
    let (base, here) = build_trees(root, &target, &home, revision, &args.features)?;
    if program_hash(&base)? == program_hash(&here)? {
        println!("both programs are the same");
        if args.quick_same {
            return Ok(());
        }
    }
    let has_minibwa = supports_minibwa(&base)? && supports_minibwa(&here)?;
    if !has_minibwa {
        lines.retain(|line| !line.text.contains("minibwa"));
    }
    let inputs = home.join("inputs");
    inputs::make_inputs(&inputs, &base, &Scale::FULL, has_minibwa)?;
    let at_once = args.jobs.map(usize::from);
    let at_once =
        at_once.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let sum = compare_lines(&lines, [&base, &here], &home.join("runs"), &inputs, at_once)?;
    println!("{}", sum.summary_line());
    if sum.is_bad(args.allow_blocks) {
        bail!("the working tree does not write the bytes of {revision}");
    }
    Ok(())
}

/// Builds both trees and returns the two programs, base first.
fn build_trees(
    root: &Path,
    target: &Path,
    home: &Path,
    revision: &str,
    features: &[String],
) -> Result<(PathBuf, PathBuf)> {
    let (base, here) = (Tree::at(&home.join("base")), Tree::at(&home.join("here")));
    base.copy_revision(root, revision)?;
    here.copy_working_tree(root)?;
    eprintln!("building the working tree");
    here.seed_build_from(target)?;
    let here_program = here.build(features)?;
    eprintln!("building {revision}");
    base.seed_build_from(here.target())?;
    Ok((base.build(features)?, here_program))
}

/// Hashes a program. If `strip` is available, the build path is removed first.
fn program_hash(program: &Path) -> Result<String> {
    let stripped = tempfile::NamedTempFile::new()?;
    let arguments = ["--strip-all", "--remove-section=.note.gnu.build-id", "-o"];
    let done = Command::new("strip").args(arguments).arg(stripped.path()).arg(program).status();
    let is_stripped = done.is_ok_and(|status| status.success());
    Ok(Digest::of_bytes(&std::fs::read(if is_stripped { stripped.path() } else { program })?).bytes)
}

fn supports_minibwa(program: &Path) -> Result<bool> {
    let help = Command::new(program).args(["align", "-h"]).output()?;
    Ok(String::from_utf8_lossy(&help.stdout).contains("--minibwa <"))
}

/// Runs every line with all resources and both programs. Prints each verdict other than "same" as
/// soon as it is known.
fn compare_lines(
    lines: &[CommandLine],
    programs: [&Path; 2],
    runs: &Path,
    inputs: &Path,
    at_once: usize,
) -> Result<CompareSummary> {
    let (mut jobs, mut ends) = (Vec::new(), Vec::new());
    for line in lines {
        let resources = resources_of(line);
        for program in programs {
            jobs.extend(resources.iter().map(|&resources| Job { program, line, resources }));
        }
        ends.push(jobs.len());
    }
    let mut outcomes: Vec<Option<Result<RunResult>>> = Vec::new();
    outcomes.resize_with(jobs.len(), || None);
    let state =
        Mutex::new((outcomes, CompareSummary { runs: jobs.len(), ..CompareSummary::default() }, None));
    jobs::run_all(&jobs, at_once, runs, inputs, |number, outcome| {
        let mut state = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let (outcomes, sum, failed) = &mut *state;
        outcomes[number] = Some(outcome);
        let which = ends.partition_point(|&end| end <= number);
        let first = which.checked_sub(1).map_or(0, |before| ends[before]);
        let of_line = &mut outcomes[first..ends[which]];
        if of_line.iter().any(Option::is_none) {
            return;
        }
        match of_line.iter_mut().filter_map(Option::take).collect::<Result<Vec<RunResult>>>() {
            Ok(outcomes) => sum.add_line(&lines[which], &outcomes),
            Err(error) => *failed = failed.take().or(Some(error)),
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r{} of {} command lines\r", sum.line_count(), lines.len());
        }
    });
    let (_, sum, failed) = state.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    failed.map_or(Ok(sum), Err)
}

/// Returns the resource combinations of a line. Lines without resource options run once.
fn resources_of(line: &CommandLine) -> &'static [Resources] {
    if line.takes_resources() { &RESOURCES } else { &RESOURCES[..1] }
}

#[derive(Default)]
struct CompareSummary {
    runs: usize,
    found: Vec<(String, Judgement)>,
}

impl CompareSummary {
    /// Judges a line by its outcomes, those of the base first, and prints the differences.
    fn add_line(&mut self, line: &CommandLine, outcomes: &[RunResult]) {
        let resources = resources_of(line);
        let (base, here) = outcomes.split_at(resources.len());
        let names: Vec<String> = resources.iter().map(|resources| resources.describe()).collect();
        let judgement = verdict::judge_line(&names, line.code, base, here);
        if judgement.verdict != LineVerdict::Same {
            println!("{}: {}", judgement.verdict.describe(), line.text);
            judgement.reasons.iter().for_each(|reason| println!("    {reason}"));
        }
        self.found.push((line.text.clone(), judgement));
    }

    fn line_count(&self) -> usize {
        self.found.len()
    }

    fn count_verdicts(&self, verdict: LineVerdict) -> usize {
        self.found.iter().filter(|(_, judgement)| judgement.verdict == verdict).count()
    }

    fn is_bad(&self, allow_blocks: bool) -> bool {
        let blocks = if allow_blocks { 0 } else { self.count_verdicts(LineVerdict::OtherBlocks) };
        blocks
            + self.count_verdicts(LineVerdict::Differs)
            + self.count_verdicts(LineVerdict::NotInvariant)
            > 0
    }

    fn summary_line(&self) -> String {
        let mut line = format!("{} command lines, {} runs:", self.line_count(), self.runs);
        let verdicts = [
            LineVerdict::Same,
            LineVerdict::OtherBlocks,
            LineVerdict::Differs,
            LineVerdict::NotInvariant,
            LineVerdict::New,
        ];
        let counts =
            verdicts.map(|verdict| format!(" {} {}", verdict.describe(), self.count_verdicts(verdict)));
        line.push_str(&counts.join(","));
        line
    }
}
