//! Outputs that cannot be written, and outputs that are not regular files.
#![allow(clippy::disallowed_methods, reason = "tests start threads of their own")]

use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::process::Command;

use readmill_format::bgzf::EOF_BLOCK;

use crate::faults::files::{bam, many};
use crate::faults::program::{Ended, Place};

/// Test folders with an input of `n` reads at `in/x.bam`.
pub fn place_with(n: usize) -> Place {
    let place = Place::new();
    place.input("x.bam", bam(&many(n, 200)));
    place
}

/// Sorts `in/x.bam` into `output`.
pub fn sort(place: &Place, output: &str) -> Ended {
    place.readmill(["sort", "in/x.bam", "-o", output])
}

#[test]
fn a_place_that_cannot_be_written() {
    let place = place_with(10);
    sort(&place, "none/x.bam").fails(3, &["none/x.bam cannot be written", "No such file"]);
    sort(&place, "in/x.bam/x.bam").fails(3, &["in/x.bam/x.bam cannot be written", "Not a directory"]);
    sort(&place, "out").fails(1, &["out is a directory", "give the name of a file"]);
    assert!(place.lines(Path::new("in/x.bam")).len() == 10, "the input is whole");
}

#[test]
fn a_failure_leaves_the_older_output_and_its_index_alone() {
    let place = place_with(10);
    sort(&place, "out/x.bam").succeeds();
    let files = ["x.bam", "x.bam.bai"];
    let before = files.map(|name| std::fs::read(place.out(name)).unwrap());
    let cut = bam(&many(10, 200));
    place.input("x.bam", &cut[..cut.len() - 30]);
    sort(&place, "out/x.bam").fails(2, &["truncated"]);
    assert_eq!(place.left(), files);
    assert!(files.map(|name| std::fs::read(place.out(name)).unwrap()) == before);
}

#[test]
fn devices_are_written_through_and_stay_devices() {
    let identity = |path: &str| {
        let meta = std::fs::metadata(path).unwrap();
        assert!(meta.file_type().is_char_device(), "{path}");
        (meta.ino(), meta.rdev(), meta.mode())
    };
    let place = place_with(2_000);
    for format in ["bam", "sam"] {
        let into = |device: &str| {
            let before = identity(device);
            let ended = place.readmill(["sort", "in/x.bam", "-O", format, "-o", device]);
            assert_eq!(identity(device), before);
            ended
        };
        into("/dev/null").succeeds();
        into("/dev/full").fails(3, &["/dev/full", "No space left on device", "free some space"]);
    }
    assert_eq!(place.left(), [""; 0]);
}

#[test]
fn a_fifo_is_written_through_and_stays_a_fifo() {
    let place = place_with(20_000);
    let fifo = place.out("x.bam");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let from = fifo.clone();
    let bytes = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut bytes = Vec::new();
            std::fs::File::open(from).unwrap().read_to_end(&mut bytes).unwrap();
            bytes
        });
        sort(&place, "out/x.bam").succeeds();
        reader.join().unwrap()
    });
    assert!(bytes.ends_with(&EOF_BLOCK));
    assert_eq!(place.lines(&place.input("y.bam", bytes)).len(), 20_000);
    assert!(std::fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
    assert_eq!(place.left(), ["x.bam"], "no index of a pipe");
}

#[test]
fn a_reader_that_goes_away_ends_the_program_quietly() {
    let place = place_with(50_000);
    for format in ["bam", "sam"] {
        let script = "{ \"$0\" sort in/x.bam -q -O FORMAT; echo $? >status; } | head -c 1000 >/dev/null";
        let ended = place.run(&mut place.shell(&script.replace("FORMAT", format)));
        assert_eq!(ended.stderr, "");
        let status = place.input("status", "").with_file_name("../status");
        assert_eq!(std::fs::read_to_string(status).unwrap(), "141\n");
        assert_eq!(place.left(), [""; 0]);
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    let place = place_with(100);
    let ended = place.run(&mut place.shell("\"$0\" sort in/x.bam >/dev/full"));
    ended.fails(3, &["standard output", "No space left on device"]);
}

#[test]
fn a_log_that_cannot_be_written_does_not_stop_the_work() {
    let place = place_with(100);
    let ended = place.run(&mut place.shell("\"$0\" sort in/x.bam -o out/x.bam 2>/dev/full"));
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(place.left(), ["x.bam", "x.bam.bai"]);
    let ended = place.run(&mut place.shell("\"$0\" sort in/none.bam 2>/dev/full"));
    assert_eq!(ended.status.code(), Some(3));
}
