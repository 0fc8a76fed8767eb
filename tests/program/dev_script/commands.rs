//! The commands of `./dev` for developers: which programs they run, in which order, and what a failure of one does.

use std::os::unix::fs::symlink;

use super::{COMPARED, INSTALLS, Machine};

#[test]
fn the_site_needs_rust_and_a_c_compiler_and_its_commands_a_build() {
    let cases = [
        ("docs", "gcc libc6-dev", "cargo run --locked -p readmill-docs --"),
        ("docs --serve", "gcc libc6-dev", "cargo run --locked -p readmill-docs -- --serve"),
        (
            "docs --run --readmill p a.md",
            "g++ gcc libc6-dev zlib1g-dev bash",
            "cargo run --locked -p readmill-docs -- --run --readmill p a.md",
        ),
    ];
    for (words, packages, cargo) in cases {
        let machine = Machine::new();
        machine.program("spare/bash", "true");
        machine.noted("apt-get", INSTALLS);
        let done = machine.dev(&format!("{words} --yes"));
        assert_eq!(done.code, Some(0), "{words}: {}", done.said);
        let install = format!("apt-get install -y --no-install-recommends {packages}");
        assert_eq!(done.ran, ["apt-get update", &install, cargo], "{words}");
    }
}

#[test]
fn quick_commands_of_pages_run_with_the_build_of_the_tests() {
    for (program, code) in [("echo \"said $*\"", 0), ("exit 1", 1)] {
        let machine = Machine::complete();
        machine.program("bin/bash", "true");
        machine.program("target/debug/readmill-docs", program);
        let done = machine.dev("docs --run --quick");
        assert_eq!(done.code, Some(code), "{}", done.said);
        let build = "cargo build --locked --workspace --tests --bin readmill --bin readmill-docs";
        assert_eq!(done.ran, [build]);
        let readmill = machine.0.path("target/debug/readmill");
        let said = format!("said --readmill {} --run --quick\n", readmill.display());
        assert_eq!(done.said.starts_with(&said), code == 0, "{}", done.said);
    }
}

#[test]
fn quick_parity_compares_all_parts_and_fails_if_either_half_fails() {
    for (fails, code) in [("nowhere", 0), ("--only", 1), ("--except", 1)] {
        let machine = Machine::complete();
        for name in COMPARED {
            machine.program(&format!("bin/{name}"), "true");
        }
        machine.program(
            "target/debug/readmill-parity",
            &format!("echo said; case $* in *{fails}*) exit 1 ;; esac"),
        );
        let done = machine.dev("parity --quick");
        assert_eq!(done.code, Some(code), "{fails}: {}", done.said);
        assert_eq!(done.said.matches("said\n").count(), 2, "{fails}: {}", done.said);
        assert_eq!(
            done.ran,
            ["cargo build --locked --workspace --tests --bin readmill --bin readmill-parity"]
        );
    }
}

#[test]
fn full_parity_runs_in_halves_unless_a_part_is_chosen() {
    let cases: [(&str, &[&str]); 3] = [
        (
            "parity",
            &[
                "--only samples,metrics,align,reports,qc,fastqc",
                "--except samples,metrics,align,reports,qc,fastqc",
            ],
        ),
        ("parity --readmill p", &["--readmill p --only", "--readmill p --except"]),
        ("parity --only fronts --keep d", &["--only fronts --keep d"]),
    ];
    for (words, wanted) in cases {
        let machine = Machine::complete();
        for name in COMPARED {
            machine.program(&format!("bin/{name}"), "true");
        }
        std::fs::create_dir_all(machine.0.path("target/release")).unwrap();
        machine.program("target/release/readmill-parity", "echo \"said $*\"");
        let done = machine.dev(words);
        assert_eq!(done.code, Some(0), "{words}: {}", done.said);
        assert_eq!(done.said.matches("said ").count(), wanted.len(), "{words}: {}", done.said);
        for half in wanted {
            assert!(done.said.contains(&format!("said {half}")), "{words}: {}", done.said);
        }
        assert_eq!(done.ran, ["cargo build --release --locked -p readmill-parity"]);
    }
}

#[test]
fn nightly_goes_on_after_a_failure_and_ends_with_a_table() {
    let machine = Machine::complete();
    for name in COMPARED
        .iter()
        .chain(&["rustfmt", "clippy-driver", "go", "qemu-x86_64", "strace", "faketime", "zsh", "fish"])
        .chain(&["bash", "chromium", "node", "npm", "python3", "qemu-aarch64"])
    {
        machine.program(&format!("bin/{name}"), "true");
    }
    machine.program("bin/git", "echo 0123456789");
    std::fs::create_dir_all(machine.0.path("target/release")).unwrap();
    machine.program("target/release/readmill-parity", "true");
    machine.program(
        "bin/cargo",
        "echo \"cargo $*\" >>ran; case $* in *' deny '*|'deny check'*|*--no-default*) exit 9 ;; esac",
    );
    let done = machine.dev("nightly");
    let (_, table) = done.said.split_once("\n0123456789, rustc 1.95.0").expect("the commit");
    let outcome = |step: &str| {
        let row = table.lines().find(|row| row.split(' ').next() == Some(step));
        row.unwrap_or_else(|| panic!("no {step}: {}", done.said)).split_whitespace().nth(1)
    };
    assert_eq!(done.code, Some(1));
    assert_eq!((outcome("licences"), outcome("no-kernels")), (Some("FAILED"), Some("FAILED")));
    assert_eq!((outcome("kernels"), outcome("documentation")), (Some("ok"), Some("ok")));
    assert_eq!((outcome("fuzz"), outcome("parity")), (Some("ok"), Some("ok")));
    assert_eq!(outcome("integrations"), Some("ok"));
    assert_eq!(outcome("cli-fuzz"), Some("ok"));
    let fuzzed = done.ran.iter().find(|line| line.contains("-p readmill-cli-fuzz")).unwrap();
    assert!(fuzzed.contains("--minutes 15") && fuzzed.contains("checked/readmill"), "{fuzzed}");
    assert!(table.contains("bytes            skipped: no revision was given"), "{table}");

    // A step whose programs cannot be installed is left out with the reason, and no other step is.
    std::fs::remove_file(machine.0.path("bin/qemu-x86_64")).unwrap();
    let done = machine.dev("nightly --yes");
    let (_, table) = done.said.split_once("\n0123456789, rustc 1.95.0").expect("the commit");
    assert_eq!(done.code, Some(1));
    assert!(table.contains("processors       skipped: lacking: qemu's user mode\n"), "{table}");
    assert!(table.contains("shapes           ok"), "{table}");

    std::fs::remove_file(machine.0.path("ran")).unwrap();
    let done = machine.dev("nightly --only bytes v1");
    assert_eq!(done.code, Some(0), "{}", done.said);
    assert!(
        done.ran.iter().any(|line| line.ends_with("-p readmill-bytes -- v1 --features minibwa")),
        "{:?}",
        done.ran
    );
    let done = machine.dev("nightly --only cli-fuzz --short");
    assert!(done.said.contains("\n--short: what is random"), "{}", done.said);
    assert!(done.ran.iter().any(|line| line.contains("--minutes 3 ")), "{:?}", done.ran);
    let done = machine.dev("nightly --only bytes");
    assert_eq!(done.code, Some(1), "a base is needed: {}", done.said);
    let done = machine.dev("nightly --only tea");
    assert_eq!(done.code, Some(1));
    assert!(done.said.starts_with("dev: there is no step tea; the steps are: lint "), "{}", done.said);
}

/// A build makes a program that says how it was called and what libFuzzer says at the end; the target `two` fails.
const FUZZED: &str = "[ \"$1\" = build ] || exit 0
mkdir -p target/host/checked
printf '%s\\n' '#!/bin/sh' 'echo called \"$@\"' 'echo \"#9 DONE cov: 7 ft: 8\"' 'echo stat::number_of_executed_units: 9' \\
    'case $0 in *two) exit 77 ;; esac' >target/host/checked/fuzz
chmod +x target/host/checked/fuzz
echo \"cargo $READMILL_FUZZ_TARGET $RUSTC_BOOTSTRAP $*\" >>ran";

#[test]
fn each_target_is_fuzzed_and_one_that_fails_stops_none() {
    let machine = Machine::complete();
    let path = std::env::var_os("PATH").unwrap();
    let chmod = std::env::split_paths(&path).map(|at| at.join("chmod")).find(|at| at.exists());
    symlink(chmod.unwrap(), machine.0.path("tools/chmod")).unwrap();
    std::fs::create_dir_all(machine.0.path("fuzz/src")).unwrap();
    let row = |name: &str, max_bytes| {
        format!("    Target {{ name: \"{name}\", max_bytes: {max_bytes}, run: f, seeds: g }},\n")
    };
    machine.0.file("fuzz/src/lib.rs", row("one", 10) + &row("two", 20) + &row("three", 30));
    machine.program("bin/cargo", FUZZED);
    let without = machine.dev("fuzz");
    assert!(without.code == Some(1) && without.said.contains("no AddressSanitizer"), "{}", without.said);

    let says = "case $* in -vV) echo host: host ;; *sysroot) echo sys ;; *) echo rustc 1.95.0 ;; esac";
    machine.program("bin/rustc", says);
    std::fs::create_dir_all(machine.0.path("sys/lib/rustlib/host/lib")).unwrap();
    machine.0.file("sys/lib/rustlib/host/lib/librustc-stable_rt.asan.a", "");
    machine.program("bin/nproc", "echo 2"); // so two targets run at the same time
    let done = machine.dev("fuzz --runs 5");
    assert_eq!(done.code, Some(1), "{}", done.said);
    let built =
        "1 build --locked --quiet --profile checked --target host -p readmill-fuzz --features libfuzzer";
    assert_eq!(done.ran, ["one", "two", "three"].map(|name| format!("cargo {name} {built}")));
    assert!(done.said.contains("dev: two failed\n") && !done.said.contains("dev: one failed"));
    for name in ["one", "two", "three"] {
        let row = done.said.lines().find(|line| line.starts_with(&format!("{name} ")));
        assert_eq!(row.unwrap().split_whitespace().nth(1), Some("9"), "{}", done.said);
    }
    let log = std::fs::read_to_string(machine.0.path("target/fuzzing/three.log")).unwrap();
    assert!(log.contains("-runs=5 -max_len=30 ") && log.ends_with("units: 9\n"), "{log}");

    let some = machine.dev("fuzz three");
    assert_eq!((some.code, some.ran.len()), (Some(0), 4), "{}", some.said);
    let other = machine.dev("fuzz four");
    assert!(
        other.said.contains("there is no target four; the targets are: one two three"),
        "{}",
        other.said
    );
}
