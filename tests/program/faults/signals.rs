//! Told to stop in the middle of the work.

use std::io::Write;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

use crate::faults::files::{HEADER, bam_header, block, blocks, many};
use crate::faults::program::{Place, wait};

/// The program at work on an input that has not ended, and the pipe that must stay open.
pub fn started(place: &Place, args: &[&str], records: &[u8]) -> (Child, ChildStdin) {
    let mut command = place.command();
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(&block(&bam_header(HEADER))).unwrap();
    for block in blocks(records, 0xff00) {
        pipe.write_all(&block).unwrap();
    }
    (child, pipe)
}

/// Waits until the temporary output is there.
fn await_partial(place: &Place) {
    let started = Instant::now();
    while place.left() != ["x.bam.partial"] {
        assert!(started.elapsed() < Duration::from_secs(60), "{:?}", place.left());
        std::thread::sleep(Duration::from_millis(3));
    }
}

pub fn send(child: &Child, signal: i32) {
    let pid = i32::try_from(child.id()).unwrap();
    // SAFETY: `kill` has no requirement on memory; the child has not been waited for, so it is it.
    assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
}

#[track_caller]
fn stops(args: &[&str], records: &[u8]) {
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let place = Place::new();
        let (child, pipe) = started(&place, args, records);
        await_partial(&place);
        send(&child, signal);
        assert_eq!(wait(child).code(), Some(128 + signal));
        assert_eq!(place.left(), [""; 0], "signal {signal}");
        drop(pipe);
    }
}

/// Compresses to more than the 64 KiB that are read to tell the format.
pub fn enough() -> Vec<u8> {
    many(60_000, 150)
}

#[test]
fn while_reading_to_sort() {
    stops(&["sort", "-", "-o", "out/x.bam"], &enough());
}

#[test]
fn while_passing_through() {
    stops(&["prep", "-", "-o", "out/x.bam", "--drop-unmapped"], &enough());
}

#[test]
fn after_spilling() {
    let args = ["markdup", "-", "-o", "out/x.bam", "-m", "40M", "-@", "1", "-T", "tmp"];
    stops(&args, &[enough(), many(2_000, 20_000)].concat());
}

#[test]
fn while_standard_input_says_nothing() {
    let place = Place::new();
    let (child, pipe) = started(&place, &["sort", "-", "-o", "out/x.bam"], b"");
    std::thread::sleep(Duration::from_millis(200));
    send(&child, libc::SIGTERM);
    assert_eq!(wait(child).code(), Some(143));
    assert_eq!(place.left(), [""; 0]);
    drop(pipe);
}

#[test]
fn an_input_that_breaks_off_leaves_nothing() {
    let place = Place::new();
    let (child, pipe) = started(&place, &["sort", "-", "-o", "out/x.bam"], &enough());
    await_partial(&place);
    drop(pipe);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(2));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("EOF block is missing"), "{said}");
    assert_eq!(place.left(), [""; 0]);
}

#[cfg(feature = "bwa")]
#[test]
fn while_making_an_index() {
    let mut code = 5u64;
    let mut base = |_| {
        code = code.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        b"ACGT"[(code >> 40) as usize & 3]
    };
    let bases: Vec<u8> = (0..6_000_000).map(&mut base).collect();
    for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
        let place = Place::new();
        place.input("ref.fa", [b">c\n", &bases[..], b"\n"].concat());
        let mut command = place.command();
        let child = command.args(["index", "in/ref.fa", "-o", "out/x", "-q"]).spawn().unwrap();
        let started = Instant::now();
        while place.left().is_empty() {
            assert!(started.elapsed() < Duration::from_secs(60));
            std::thread::sleep(Duration::from_millis(3));
        }
        assert!(place.left().iter().all(|name| name.ends_with(".partial")), "{:?}", place.left());
        send(&child, signal);
        assert_eq!(wait(child).code(), Some(128 + signal));
        assert_eq!(place.left(), [""; 0], "signal {signal}");
    }
}
