//! Inputs that cost memory: each run stays within `-m`, or is refused with the `-m` that is enough.
//!
//! The tested program audits itself (see `src/run/audit.rs`). It ends with code 101 if more is allocated than charged, or
//! if the process exceeds `-m`. So code 0 means that a run stayed within `-m`, and code 1 that it was refused in
//! time.

mod files;
mod newer;
mod reads;

use std::fmt::Write;
use std::path::Path;

use crate::support::{ProgramRun, TestDir, readmill};

/// An input that costs memory.
struct CostlyInput {
    name: &'static str,
    /// Makes its files; `scale` is 1 for the full size, larger for a smaller input.
    make: fn(&TestDir, usize),
    /// The commands to run; %NAME is a file in the test's directory, %* all inputs.
    commands: &'static [&'static str],
}

/// Commands that have no `-@`.
const WITHOUT_THREADS: &[&str] = &["head", "cat", "reheader", "dict", "faidx"];

/// How a run ended.
enum RunEnd {
    /// Succeeded, with this peak in MiB.
    Held(usize),
    /// Refused before reading, with the MiB that are enough.
    Refused(usize),
    /// By the audit, or by a crash.
    Failed(String),
}

/// Runs a command with some memory, or with the least that its plan accepts.
fn run(dir: &TestDir, command: &str, memory: &str, threads: usize) -> RunEnd {
    let path = |name: &str| dir.path(name).display().to_string();
    let inputs =
        || dir.names().into_iter().filter(|name| name.starts_with("in")).map(|name| path(&name));
    let words = command.split(' ').flat_map(|word| match word.strip_prefix('%') {
        Some("*") => inputs().collect(),
        Some(name) => vec![path(name)],
        None => match word.split_once('%') {
            Some((before, name)) => vec![format!("{before}{}", path(name))],
            None => vec![word.to_string()],
        },
    });
    let mut args: Vec<String> = words.collect();
    args.extend(["--memory".into(), memory.into()]);
    if !WITHOUT_THREADS.contains(&args[0].as_str()) {
        args.extend(["-@".into(), threads.to_string()]);
    }
    let ProgramRun { code, stderr, .. } = readmill(&args);
    let number = |text: Option<(&str, &str)>| {
        let digits = text.map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
        digits.flatten().and_then(|digits| digits.parse().ok())
    };
    match code {
        Some(0) => RunEnd::Held(number(stderr.split_once("peak memory ")).unwrap_or(0)),
        Some(1) => {
            let min_memory = number(stderr.split_once("raise -m to "));
            let min_memory = min_memory.or_else(|| number(stderr.split_once("at least -m ")));
            min_memory.map_or(
                RunEnd::Failed(format!("{command} -m {memory} names no -m: {stderr}")),
                RunEnd::Refused,
            )
        }
        _ => RunEnd::Failed(format!("{command} -m {memory} -@ {threads}: {code:?}: {stderr}")),
    }
}

/// The memory that a run needs: follows the refusals until there is none.
fn find_min_memory(
    dir: &TestDir,
    command: &str,
    threads: usize,
    failures: &mut Vec<String>,
) -> (usize, usize) {
    let mut memory = 1;
    for _ in 0..20 {
        match run(dir, command, &format!("{memory}M"), threads) {
            RunEnd::Held(peak) => return (memory, peak),
            RunEnd::Failed(text) => {
                failures.push(text);
                memory += memory.div_ceil(2);
            }
            RunEnd::Refused(needs) if needs > memory => memory = needs,
            RunEnd::Refused(needs) => {
                failures.push(format!("{command} -m {memory}M -@ {threads} asks for {needs}M"));
                break;
            }
        }
    }
    failures.push(format!("{command} -@ {threads} does not run; it asked for {memory}M last"));
    (memory, 0)
}

/// The table line of an input: each command with the least memory, and with each of `caps`.
fn line(
    shape: &CostlyInput,
    scale: usize,
    threads: usize,
    caps: &[&str],
    failures: &mut Vec<String>,
) -> String {
    let dir = TestDir::new();
    (shape.make)(&dir, scale);
    let mut table = String::new();
    for command in shape.commands {
        let (memory, peak) = find_min_memory(&dir, command, threads, failures);
        let _ = write!(table, "| {} | `{command}` -@ {threads} | {memory}: {peak} |", shape.name);
        for cap in caps {
            let _ = match run(&dir, command, cap, threads) {
                RunEnd::Held(peak) => write!(table, " {peak} |"),
                RunEnd::Refused(needs) => write!(table, " needs {needs} |"),
                RunEnd::Failed(text) => {
                    failures.push(text);
                    write!(table, " failed |")
                }
            };
        }
        table.push('\n');
    }
    table
}

/// All inputs, or those whose name contains the text in `READMILL_SHAPES`.
fn all() -> impl Iterator<Item = &'static CostlyInput> {
    let wanted = std::env::var("READMILL_SHAPES").unwrap_or_default();
    let all =
        [reads::HEADER_SHAPES, reads::READ_SHAPES, files::SHAPES, newer::SHAPES].into_iter().flatten();
    all.filter(move |shape| shape.name.contains(&wanted))
}

#[test]
fn each_command_is_run_on_some_shape_or_says_why_not() {
    let help = String::from_utf8(readmill(["--help"]).stdout).expect("text");
    let (_, listed) = help.split_once("Commands:\n").expect("commands");
    let listed = listed.lines().take_while(|line| !line.is_empty());
    // A long text goes on in lines that begin further to the right.
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let names: Vec<&str> = names.filter(|name| !name.is_empty() && *name != "help").collect();
    assert!(names.len() > 30, "{names:?}");
    let shapes = [reads::HEADER_SHAPES, reads::READ_SHAPES, files::SHAPES, newer::SHAPES];
    let run = shapes.into_iter().flatten().flat_map(|shape| shape.commands);
    let run: Vec<&str> = run.filter_map(|command| command.split(' ').next()).collect();
    for name in &names {
        let why = newer::OTHERS.iter().find(|(other, _)| other == name);
        assert!(run.contains(name) != why.is_some(), "{name} is run: {}", run.contains(name));
    }
    for (name, _) in newer::OTHERS {
        assert!(names.contains(name), "{name} is no command");
    }
}

#[test]
fn small_ones_hold_the_memory_that_they_ask_for() {
    let mut failures = Vec::new();
    all().for_each(|shape| print!("{}", line(shape, 20, 2, &[], &mut failures)));
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Prints the table of docs/design/measurements/0005.md: `cargo test --test program -- --ignored --nocapture shapes::`.
#[test]
#[ignore = "takes minutes; nightly runs it"]
fn large_ones_hold_or_are_refused() {
    let caps = ["64M", "128M", "512M", "2G"];
    println!(
        "| shape | command | least -m: peak | {} |\n|---|---|{}",
        caps.join(" | "),
        "---|".repeat(5)
    );
    let mut failures = Vec::new();
    for threads in [1, 8] {
        all().for_each(|shape| print!("{}", line(shape, 1, threads, &caps, &mut failures)));
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Writes a file into the test's directory piece by piece.
fn written(dir: &TestDir, name: &str, write: impl FnOnce(&mut dyn std::io::Write)) {
    let file = std::fs::File::create(dir.path(name)).expect("a file");
    let mut file = std::io::BufWriter::new(file);
    write(&mut file);
    std::io::Write::flush(&mut file).expect("a file");
}

/// Converts a file to another format.
fn converted(from: &Path, to: &Path) {
    let path = |path: &Path| path.display().to_string();
    let format = if to.extension().is_some_and(|it| it == "cram") { "cram,no-ref" } else { "bam" };
    let args = ["filter".into(), path(from), "-o".into(), path(to), "-O".into(), format.into()];
    let ProgramRun { code, stderr, .. } = readmill(args);
    assert_eq!(code, Some(0), "{stderr}");
}
