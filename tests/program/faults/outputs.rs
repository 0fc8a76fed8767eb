//! Outputs that cannot be written, and outputs that are not regular files.
#![allow(clippy::disallowed_methods, reason = "tests start threads of their own")]

use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use readmill_format::bgzf::EOF_BLOCK;

use crate::faults::files::{bam, many};
use crate::faults::program::{Ended, TestFolders};

/// Test folders with an input of `n` reads at `in/x.bam`.
pub fn folders_with(n: usize) -> TestFolders {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(n, 200)));
    folders
}

/// Sorts `in/x.bam` into `output`.
pub fn sort(folders: &TestFolders, output: &str) -> Ended {
    folders.readmill(["sort", "in/x.bam", "-o", output])
}

#[test]
fn a_place_that_cannot_be_written() {
    let folders = folders_with(10);
    sort(&folders, "none/x.bam").fails(3, &["none/x.bam cannot be written", "No such file"]);
    sort(&folders, "in/x.bam/x.bam").fails(3, &["in/x.bam/x.bam cannot be written", "Not a directory"]);
    sort(&folders, "out").fails(1, &["out is a directory", "give the name of a file"]);
    assert!(folders.lines(Path::new("in/x.bam")).len() == 10, "the input is whole");
}

#[test]
fn a_failure_leaves_the_older_output_and_its_index_alone() {
    let folders = folders_with(10);
    sort(&folders, "out/x.bam").succeeds();
    let files = ["x.bam", "x.bam.bai"];
    let before = files.map(|name| std::fs::read(folders.out(name)).unwrap());
    let cut = bam(&many(10, 200));
    folders.input("x.bam", &cut[..cut.len() - 30]);
    sort(&folders, "out/x.bam").fails(2, &["truncated"]);
    assert_eq!(folders.left(), files);
    assert!(files.map(|name| std::fs::read(folders.out(name)).unwrap()) == before);
}

#[test]
fn devices_are_written_through_and_stay_devices() {
    let identity = |path: &str| {
        let meta = std::fs::metadata(path).unwrap();
        assert!(meta.file_type().is_char_device(), "{path}");
        (meta.ino(), meta.rdev(), meta.mode())
    };
    let folders = folders_with(2_000);
    for format in ["bam", "sam"] {
        let into = |device: &str| {
            let before = identity(device);
            let ended = folders.readmill(["sort", "in/x.bam", "-O", format, "-o", device]);
            assert_eq!(identity(device), before);
            ended
        };
        into("/dev/null").succeeds();
        into("/dev/full").fails(3, &["/dev/full", "No space left on device", "free some space"]);
    }
    assert_eq!(folders.left(), [""; 0]);
}

#[test]
fn a_fifo_is_written_through_and_stays_a_fifo() {
    let folders = folders_with(20_000);
    let fifo = folders.out("x.bam");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let from = fifo.clone();
    let bytes = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut bytes = Vec::new();
            std::fs::File::open(from).unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        });
        sort(&folders, "out/x.bam").succeeds();
        reader.join().unwrap()
    });
    assert!(bytes.ends_with(&EOF_BLOCK));
    assert_eq!(folders.lines(&folders.input("y.bam", bytes)).len(), 20_000);
    assert!(std::fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
    assert_eq!(folders.left(), ["x.bam"], "no index of a pipe");
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let folders = folders_with(50_000);
    for format in ["bam", "sam"] {
        let script = "{ \"$0\" sort in/x.bam -q -O FORMAT; echo $? >status; } | head -c 1000 >/dev/null";
        let ended = folders.run(&mut folders.shell(&script.replace("FORMAT", format)));
        assert_eq!(ended.stderr, "");
        let status = folders.input("status", "").with_file_name("../status");
        assert_eq!(std::fs::read_to_string(status).unwrap(), "141\n");
        assert_eq!(folders.left(), [""; 0]);
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    let folders = folders_with(100);
    let ended = folders.run(&mut folders.shell("\"$0\" sort in/x.bam >/dev/full"));
    ended.fails(3, &["standard output", "No space left on device"]);
}

#[test]
fn a_log_that_cannot_be_written_does_not_stop_the_work() {
    let folders = folders_with(100);
    let ended = folders.run(&mut folders.shell("\"$0\" sort in/x.bam -o out/x.bam 2>/dev/full"));
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(folders.left(), ["x.bam", "x.bam.bai"]);
    let ended = folders.run(&mut folders.shell("\"$0\" sort in/none.bam 2>/dev/full"));
    assert_eq!(ended.status.code(), Some(3));
}
