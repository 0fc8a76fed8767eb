//! `readmill cluster` hands over to Python, which is a script here. The package's own tests are in `python/tests`.
#![allow(clippy::unwrap_used)]

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
        done.stderr.contains("python3 has no package readmill (No module named readmill)"),
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
