//! Files of metrics that cannot be written, that have another file's name, and of runs that fail.

use crate::faults::files::{bam, many};
use crate::faults::program::{Ended, TestFolders};

/// Test folders with an input of `n` reads at `in/x.bam`.
fn folders_with(n: usize) -> TestFolders {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(n, 200)));
    folders
}

/// Marks duplicates of `in/x.bam`.
fn mark(folders: &TestFolders, flags: &str) -> Ended {
    folders.readmill(["markdup", "in/x.bam"].into_iter().chain(flags.split(' ')))
}

#[test]
fn metrics_that_cannot_be_written_are_told_before_anything_is_read() {
    let folders = TestFolders::new();
    // the run that reads this file to its end gives another message
    let mut damaged = bam(&many(30_000, 200));
    let last = damaged.len() - 60; // before the EOF block
    damaged[last] ^= 0xff;
    folders.input("x.bam", damaged);
    for flag in ["--metrics", "--metrics-json"] {
        let with = |path: &str| mark(&folders, &format!("-o out/x.bam {flag} {path}"));
        with("none/m.txt").fails(3, &["none/m.txt cannot be written", "No such file"]);
        with("in/x.bam/m.txt").fails(3, &["in/x.bam/m.txt cannot be written", "Not a directory"]);
        with("in").fails(1, &["in is a directory"]);
        assert_eq!(folders.left(), [""; 0], "{flag}");
    }
}

#[test]
fn metrics_have_a_name_of_their_own() {
    let folders = folders_with(10);
    for (flags, words) in [
        ("-o out/x.bam --metrics out/x.bam", "one name"),
        ("-o out/x.bam --metrics-json out/x.bam", "one name"),
        ("-o out/x.bam --metrics out/m --metrics-json out/m", "one name"),
        ("-o out/x.bam --metrics ./out/x.bam", "one name"),
        ("-o out/x.bam --metrics out/m --metrics-json out/../out/m", "one name"),
        ("-o - --metrics -", "one name"),
        ("--metrics -", "one name"),
    ] {
        mark(&folders, flags).fails(1, &[words]);
        assert_eq!(folders.left(), [""; 0], "{flags}");
    }
}

#[test]
fn metrics_do_not_replace_an_input() {
    let folders = folders_with(10);
    let before = std::fs::read(folders.input("y.bam", bam(&many(10, 200)))).unwrap();
    for flag in ["--metrics", "--metrics-json"] {
        for path in ["in/y.bam", "./in/y.bam", "in/../in/y.bam"] {
            let ended = mark(&folders, &format!("in/y.bam -o out/x.bam {flag} {path}"));
            ended.fails(1, &["y.bam"]);
            assert_eq!(std::fs::read(folders.out("../in/y.bam")).unwrap(), before, "{path}");
            assert_eq!(folders.left(), [""; 0]);
        }
    }
}

#[test]
fn a_run_that_fails_leaves_no_metrics_and_older_ones_alone() {
    let folders = TestFolders::new();
    let cut = bam(&many(3_000, 200));
    folders.input("x.bam", &cut[..cut.len() - 30]);
    let flags = "-o out/x.bam --metrics out/m.txt --metrics-json out/m.json";
    mark(&folders, flags).fails(2, &["truncated"]);
    assert_eq!(folders.left(), [""; 0]);
    for name in ["m.txt", "m.json"] {
        std::fs::write(folders.out(name), "old").unwrap();
    }
    mark(&folders, flags).fails(2, &["truncated"]);
    assert_eq!(folders.left(), ["m.json", "m.txt"]);
    for name in ["m.txt", "m.json"] {
        assert_eq!(std::fs::read(folders.out(name)).unwrap(), b"old");
    }
}

#[test]
fn a_full_disk_under_the_metrics_leaves_no_output() {
    let folders = folders_with(10);
    for flag in ["--metrics", "--metrics-json"] {
        let ended = mark(&folders, &format!("-o out/x.bam {flag} /dev/full"));
        ended.fails(3, &["/dev/full", "No space left on device"]);
        assert_eq!(folders.left(), [""; 0]);
    }
}

#[test]
fn metrics_go_to_standard_output_where_reads_do_not() {
    let folders = folders_with(10);
    let ended = mark(&folders, "-o out/x.bam --metrics -");
    ended.succeeds();
    let text = String::from_utf8(ended.stdout).unwrap();
    assert!(text.starts_with("## ") && text.contains("READ_PAIR_DUPLICATES"), "{text}");
    assert_eq!(folders.left(), ["x.bam"]);
}
