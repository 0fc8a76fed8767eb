//! A fuzzer of the command line.
//!
//! A case takes a command line, damages one of its inputs according to its format (and corrects
//! checksums), and runs the real program with one and with two threads under a memory limit.
//!
//! Findings are: a panic, a signal, a hang, more memory than `-m`, a leftover file after a failure,
//! an undocumented exit code, and a result that differs between one and two threads. Cases are
//! derived from their number, so `--case N` repeats one. The program itself first creates the
//! undamaged inputs.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![allow(clippy::disallowed_methods, reason = "programs run in parallel")]

mod case;
mod damage;
mod judge;
mod lines;
mod measured;
mod run;
mod seeds;
mod summary;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use case::{Target, Workplace};
use clap::Parser;
use seeds::Seeds;
use summary::Summary;
use tempfile::TempDir;

/// Run command lines on damaged inputs, and report faulty behaviour
#[derive(Parser)]
#[command(name = "readmill-cli-fuzz", max_term_width = 100)]
struct FuzzArgs {
    /// The program [default: the debug build of this workspace]
    #[arg(long, value_name = "FILE")]
    readmill: Option<PathBuf>,
    /// Number of the first case
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    /// Maximum number of cases
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    cases: u64,
    /// Do not start cases after this many minutes
    #[arg(long, value_name = "N")]
    minutes: Option<u64>,
    /// Run only this case, and print its result
    #[arg(long, value_name = "N")]
    case: Option<u64>,
    /// Run only command lines that contain this text; may be repeated. This changes case numbers
    #[arg(long, value_name = "TEXT")]
    only: Vec<String>,
    /// List the command lines without running them
    #[arg(long)]
    list: bool,
    /// Number of simultaneous cases [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Directory for inputs and cases [default: in memory if possible, otherwise in target]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Directory for cases with findings [default: target/cli-fuzz]
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

fn main() -> Result<()> {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    if let [first, words @ ..] = &words[..]
        && first == measured::MEASURE
    {
        return measured::run_measured(words);
    }
    let args = FuzzArgs::parse();
    let wanted = |text: &str| args.only.is_empty() || args.only.iter().any(|part| text.contains(part));
    let lines: Vec<_> = lines::load_lines()?.into_iter().filter(|line| wanted(&line.text)).collect();
    if args.list {
        lines.iter().for_each(|line| println!("{}", line.text));
        return Ok(());
    }
    let target = readmill_peers::target_directory();
    let program = args.readmill.clone().unwrap_or_else(|| target.join("debug/readmill"));
    let program =
        program.canonicalize().with_context(|| format!("{}: no program", program.display()))?;
    let found = args.keep.clone().unwrap_or_else(|| target.join("cli-fuzz"));
    let (_guard, home) = work_directory(&args, &target)?;
    let seeds = Seeds::make_inputs(&home.join("inputs"), &program)?;
    let examiner = Workplace::new(home.join("first"), &program, &seeds);
    let (mut targets, mut left_out) = (Vec::new(), 0);
    for line in lines {
        let text = line.text.clone();
        match examiner.examine_line(line).with_context(|| text.clone())? {
            Ok(target) => targets.push(target),
            Err(reason) => {
                println!("left out: {text}\n    {reason}");
                left_out += 1;
            }
        }
    }
    if targets.is_empty() {
        bail!("no command line contains {}", args.only.join(" or "));
    }
    println!("{} command lines, {left_out} left out, {} inputs", targets.len(), seeds.files.len());
    if let Some(number) = args.case {
        return repeat_case(&examiner, number, &targets, &found);
    }
    let summary = run_all(&args, &program, [&home, &found], &seeds, &targets)?;
    println!("{}", summary.format_tables());
    if summary.has_findings() {
        bail!("cases with findings are kept in {}", found.display());
    }
    Ok(())
}

/// Returns the directory in which cases run, and a guard that removes it at the end unless the user
/// has named it. `/dev/shm` is preferred: outputs are synced before they are renamed, which makes
/// cases many times slower on a disk.
fn work_directory(args: &FuzzArgs, target: &Path) -> Result<(Option<TempDir>, PathBuf)> {
    if let Some(directory) = &args.directory {
        std::fs::create_dir_all(directory)?;
        return Ok((None, directory.canonicalize()?));
    }
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { memory } else { target };
    let guard = tempfile::Builder::new().prefix("readmill-cli-fuzz").tempdir_in(place)?;
    let home = guard.path().canonicalize()?;
    Ok((Some(guard), home))
}

fn repeat_case(workplace: &Workplace<'_>, number: u64, targets: &[Target], found: &Path) -> Result<()> {
    let (which, done) = workplace.run_case(number, targets)?;
    println!("readmill {}\ndamaged: {}", targets[which].line.text, done.damaged.join(", "));
    println!("exit code {:?}, {:.0} % of the memory", done.code, done.memory_share * 100.0);
    done.findings.iter().for_each(|finding| println!("{}: {}", finding.kind, finding.detail));
    let place = found.join(number.to_string());
    workplace.keep_files(&place)?;
    println!("its files are in {}", place.display());
    Ok(())
}

/// Runs all cases with one worker thread per job. Cases with a new finding are kept. An error of
/// the fuzzer itself stops all workers.
fn run_all(
    args: &FuzzArgs,
    program: &Path,
    [home, found]: [&Path; 2],
    seeds: &Seeds,
    targets: &[Target],
) -> Result<Summary> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = args.jobs.map_or(cores, usize::from);
    let started = Instant::now();
    let end = args.minutes.map(|minutes| started + Duration::from_secs(60 * minutes));
    let (next, failed) = (AtomicU64::new(args.from), AtomicBool::new(false));
    let state = Mutex::new((Summary::default(), None));
    std::thread::scope(|scope| {
        for worker in 0..at_once {
            let (next, failed, state) = (&next, &failed, &state);
            scope.spawn(move || {
                let workplace = Workplace::new(home.join(format!("worker-{worker}")), program, seeds);
                while !failed.load(Ordering::Relaxed) && end.is_none_or(|end| Instant::now() < end) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= args.from.saturating_add(args.cases) {
                        return;
                    }
                    let done = workplace.run_case(number, targets);
                    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                    let kept =
                        done.with_context(|| format!("case {number}")).and_then(|(which, done)| {
                            let is_new = state.0.add_case(number, &targets[which].line, &done);
                            if is_new {
                                workplace.keep_files(&found.join(number.to_string()))
                            } else {
                                Ok(())
                            }
                        });
                    if let Err(error) = kept {
                        failed.store(true, Ordering::Relaxed);
                        state.1 = Some(error);
                    }
                }
            });
        }
    });
    let (mut summary, error) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    summary.seconds = started.elapsed().as_secs_f64();
    error.map_or(Ok(summary), Err)
}
