//! `readmill cluster` hands over to Python, which is a script here. The package's own tests are in `python/tests`.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::{ProgramRun, TestDir, finish};

/// Runs `readmill cluster` with a python3 that is this shell script, and with no other program but `READMILL`.
fn run(script: &str, words: &[&str], program: Option<&str>) -> ProgramRun {
    let dir = TestDir::new();
    let python = dir.file("python3", format!("#!/bin/sh\n{script}"));
    std::fs::set_permissions(python, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let mut command = Command::new(env!("CARGO_BIN_EXE_readmill"));
    command.arg("cluster").args(words).env("PATH", dir.path("")).env_remove("READMILL");
    if let Some(program) = program {
        command.env("READMILL", program);
    }
    finish(&mut command)
}

#[test]
fn words_and_the_exit_code_are_those_of_python() {
    let script = "[ \"$1\" = -c ] || { printf '[%s]' \"$@\"; echo \" $READMILL\"; exit 75; }\n";
    let words = ["local", "--run", "--", "sort", "it's.bam", "-o", "-h", "--help"];
    let done = run(script, &words, None);
    let this = env!("CARGO_BIN_EXE_readmill");
    let expected = "[-m][readmill.cluster][local][--run][--][sort][it's.bam][-o][-h][--help]";
    assert_eq!(String::from_utf8_lossy(&done.stdout), format!("{expected} {this}\n"), "{}", done.stderr);
    assert_eq!(done.code, Some(75));
    let done = run(script, &["local", "--help"], Some("/opt/readmill"));
    let expected = "[-m][readmill.cluster][local][--help] /opt/readmill\n";
    assert_eq!(String::from_utf8_lossy(&done.stdout), expected);
}

#[test]
fn without_python_or_its_package_it_says_what_to_install() {
    let done =
        run("echo 'Traceback' >&2; echo 'No module named readmill' >&2; exit 1\n", &["local"], None);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(
        done.stderr.contains("python3 cannot import the package readmill (No module named readmill)"),
        "{}",
        done.stderr
    );
    assert!(done.stderr.contains("pip install './python[slurm]'"), "{}", done.stderr);
    let dir = TestDir::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_readmill"));
    let done = finish(command.args(["cluster", "local"]).env("PATH", dir.path("")));
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert!(done.stderr.contains("install Python 3.10 or later"), "{}", done.stderr);
}

#[test]
fn help_of_both_places_needs_no_python() {
    let source = include_str!("../../python/readmill/cluster.py");
    let (_, local) = source.split_once("local = places.add_parser").expect("local");
    let (local, slurm) = local.split_once("slurm = places.add_parser").expect("slurm");
    let (slurm, both) = slurm.split_once("for place in (local, slurm)").expect("both");
    let flags = |text: &str| -> Vec<String> {
        let quoted = text.split('"').filter(|word| word.starts_with("--") && !word.contains(' '));
        quoted.map(str::to_string).collect()
    };
    for (place, own) in [("local", local), ("slurm", slurm)] {
        let done = run("echo 'No module named readmill' >&2; exit 1\n", &[place, "--help"], None);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(text.starts_with(&format!("usage: readmill cluster {place} [-h]")), "{text}");
        assert!(
            text.contains("python3 cannot import the package readmill") && text.contains("pip install"),
            "{text}"
        );
        let mut wanted = [flags(own), flags(both), vec!["--help".into()]].concat();
        let lines = text.lines().filter_map(|line| {
            line.trim_start().split(' ').find(|word| word.starts_with("--") && line.starts_with("  -"))
        });
        let mut found: Vec<String> = lines.filter(|word| word.len() > 2).map(str::to_string).collect();
        wanted.sort();
        found.sort();
        assert_eq!(found, wanted, "{text}");
    }
    let done = run("exit 1\n", &["slurm", "--", "sort", "--help"], None);
    assert_eq!(done.code, Some(1), "help of the command is for Python");
}
