//! Shapes of input that cost memory: each run holds its `-m`, or is refused with the `-m` that would do.
//!
//! The program that is tested audits itself (see `src/run/audit.rs`): it ends with code 101 where more is allocated than charged,
//! or where the process outgrows `-m`. So code 0 says that a run held, and code 1 that it was refused in time.

mod alignments;
mod files;
mod headers;

use std::fmt::Write;
use std::path::Path;

use crate::support::{Desk, Outcome, readmill};

/// An input that costs memory.
struct Shape {
    name: &'static str,
    /// Makes its files; `scale` is 1 for the whole thing, more for a smaller one.
    make: fn(&Desk, usize),
    /// What is run on them; %NAME is a file of the desk, %* all inputs.
    commands: &'static [&'static str],
}

/// How a run ended.
enum End {
    /// With so many MiB at most.
    Held(usize),
    /// Before it read, with the MiB that would do.
    Refused(usize),
    /// By the audit, or by a crash.
    Failed(String),
}

/// Runs a command with some memory, or with the least that its plan accepts.
fn run(desk: &Desk, command: &str, memory: &str, threads: usize) -> End {
    let path = |name: &str| desk.path(name).display().to_string();
    let inputs =
        || desk.names().into_iter().filter(|name| name.starts_with("in")).map(|name| path(&name));
    let words = command.split(' ').flat_map(|word| match word.strip_prefix('%') {
        Some("*") => inputs().collect(),
        Some(name) => vec![path(name)],
        None => vec![word.to_string()],
    });
    let mut args: Vec<String> = words.collect();
    args.extend(["-@".into(), threads.to_string(), "-m".into(), memory.into()]);
    let Outcome { code, stderr, .. } = readmill(&args);
    let number = |text: Option<(&str, &str)>| {
        let digits = text.map(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next());
        digits.flatten().and_then(|digits| digits.parse().ok())
    };
    match code {
        Some(0) => End::Held(number(stderr.split_once("peak memory ")).unwrap_or(0)),
        Some(1) => {
            let least = number(stderr.split_once("raise -m to "));
            let least = least.or_else(|| number(stderr.split_once("at least -m ")));
            End::Refused(least.unwrap_or_else(|| panic!("{command} -m {memory}: {stderr}")))
        }
        _ => End::Failed(format!("{command} -m {memory} -@ {threads}: {code:?}: {stderr}")),
    }
}

/// The memory with which a run holds: what refusals ask for, again and again until there is no refusal.
fn least(desk: &Desk, command: &str, threads: usize, failures: &mut Vec<String>) -> (usize, usize) {
    let mut memory = 1;
    for _ in 0..20 {
        match run(desk, command, &format!("{memory}M"), threads) {
            End::Held(peak) => return (memory, peak),
            End::Failed(text) => {
                failures.push(text);
                memory += memory.div_ceil(4);
            }
            End::Refused(needs) => {
                assert!(needs > memory, "{command} -m {memory}M asks for {needs}M");
                memory = needs;
            }
        }
    }
    panic!("{command} asks for more memory again and again, last for {memory}M")
}

/// A table line of a shape: each command with the least memory, and with each of `caps`.
fn line(
    shape: &Shape,
    scale: usize,
    threads: usize,
    caps: &[&str],
    failures: &mut Vec<String>,
) -> String {
    let desk = Desk::new();
    (shape.make)(&desk, scale);
    let mut table = String::new();
    for command in shape.commands {
        let (memory, peak) = least(&desk, command, threads, failures);
        let _ = write!(table, "| {} | `{command}` -@ {threads} | {memory}: {peak} |", shape.name);
        for cap in caps {
            let _ = match run(&desk, command, cap, threads) {
                End::Held(peak) => write!(table, " {peak} |"),
                End::Refused(needs) => write!(table, " needs {needs} |"),
                End::Failed(text) => {
                    failures.push(text);
                    write!(table, " failed |")
                }
            };
        }
        table.push('\n');
    }
    table
}

fn all() -> impl Iterator<Item = &'static Shape> {
    [headers::SHAPES, alignments::SHAPES, files::SHAPES].into_iter().flatten()
}

#[test]
fn small_ones_hold_the_memory_that_they_ask_for() {
    let mut failures = Vec::new();
    all().for_each(|shape| print!("{}", line(shape, 20, 2, &[], &mut failures)));
    assert!(failures.is_empty(), "{failures:#?}");
}

/// The table of design note 0005: `cargo test --test program -- --ignored --nocapture shapes::`.
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

/// Writes a file of a desk piece by piece.
fn written(desk: &Desk, name: &str, write: impl FnOnce(&mut dyn std::io::Write)) {
    let file = std::fs::File::create(desk.path(name)).expect("a file");
    let mut file = std::io::BufWriter::new(file);
    write(&mut file);
    std::io::Write::flush(&mut file).expect("a file");
}

/// Makes another format of a file.
fn converted(from: &Path, to: &Path) {
    let path = |path: &Path| path.display().to_string();
    let format = if to.extension().is_some_and(|it| it == "cram") { "cram,no-ref" } else { "bam" };
    let args = ["filter".into(), path(from), "-o".into(), path(to), "-O".into(), format.into()];
    let Outcome { code, stderr, .. } = readmill(args);
    assert_eq!(code, Some(0), "{stderr}");
}
