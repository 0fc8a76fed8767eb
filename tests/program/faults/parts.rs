//! An output in parts that cannot be completed: no part has its name.

use std::io::Write;
use std::process::Stdio;
use std::time::{Duration, Instant};

use readmill_format::bgzf::EOF_BLOCK;

use crate::faults::files::{bam, many};
use crate::faults::outputs::place_with;
use crate::faults::program::{Ended, Place, wait};
use crate::faults::signals::{enough, send, started};
use crate::faults::space::with_small_disk;

/// Sorts `in/x.bam` into so many parts.
fn sort(place: &Place, parts: &str) -> Ended {
    place.readmill(["sort", "in/x.bam", "-o", "out/x.bam", "--out-parts", parts])
}

const THREE: [&str; 4] = ["x.bam.bai", "x.bam.part-001", "x.bam.part-002", "x.bam.part-003"];

#[test]
fn a_part_that_is_a_directory() {
    let place = place_with(10);
    std::fs::create_dir(place.out("x.bam.part-002")).unwrap();
    sort(&place, "3").fails(1, &["out/x.bam.part-002 is a directory"]);
    assert_eq!(place.left(), ["x.bam.part-002"]);
}

#[test]
fn a_part_that_is_no_file() {
    let place = place_with(10);
    std::os::unix::fs::symlink("/dev/null", place.out("x.bam.part-002")).unwrap();
    sort(&place, "3").fails(1, &["out/x.bam.part-002 is not a file"]);
    assert_eq!(place.left(), ["x.bam.part-002"]);
}

/// Its index would be that of the file which is there.
#[test]
fn a_whole_that_is_there_already() {
    let place = place_with(10);
    std::fs::write(place.out("x.bam"), "somebody's").unwrap();
    sort(&place, "3").fails(1, &["out/x.bam is there already", "remove it"]);
    assert_eq!(place.left(), ["x.bam"]);
    place.readmill(["sort", "in/x.bam", "-o", "/dev/null", "--out-parts", "2"]).fails(1, &["/dev/null"]);
}

#[test]
fn an_index_that_cannot_be_written() {
    let place = place_with(10);
    std::fs::create_dir(place.out("x.bam.bai")).unwrap();
    sort(&place, "3").fails(1, &["out/x.bam.bai is a directory"]);
    assert_eq!(place.left(), ["x.bam.bai"]);
}

#[test]
fn a_failure_leaves_the_older_parts_alone() {
    let place = place_with(10);
    sort(&place, "3").succeeds();
    assert_eq!(place.left(), THREE);
    let before = THREE.map(|name| std::fs::read(place.out(name)).unwrap());
    let cut = bam(&many(10, 200));
    place.input("x.bam", &cut[..cut.len() - 30]);
    sort(&place, "5").fails(2, &["truncated"]);
    assert_eq!(place.left(), THREE);
    assert!(THREE.map(|name| std::fs::read(place.out(name)).unwrap()) == before);
}

#[test]
fn parts_of_an_older_output_that_has_more_are_removed() {
    let place = place_with(10);
    sort(&place, "7").succeeds();
    let before = std::fs::read(place.out("x.bam.part-001")).unwrap();
    let ended = sort(&place, "3");
    ended.succeeds();
    for number in 4..=7 {
        let said = format!("removed out/x.bam.part-{number:03}, a part of an older output");
        assert!(ended.stderr.contains(&said), "{}", ended.stderr);
    }
    assert_eq!(place.left(), THREE);
    assert!(std::fs::read(place.out("x.bam.part-001")).unwrap() == before);
}

#[test]
fn a_disk_that_is_full_before_all_parts_are_written() {
    let place = Place::new();
    place.input("x.bam", bam(&many(1_500, 20_000)));
    let script =
        "\"$0\" sort in/x.bam -l 0 -o small/x.bam --out-parts 12; code=$?; ls -A small; exit $code";
    let Some(ended) = with_small_disk(&place, script) else { return };
    ended.fails(3, &["small/x.bam.part-0", "No space left on device", "free some space"]);
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "", "nothing is left");
}

#[test]
fn a_limit_on_the_size_of_files() {
    let place = Place::new();
    place.input("x.bam", bam(&many(1_500, 20_000)));
    let script = "ulimit -f 100; exec \"$0\" sort in/x.bam -l 0 -o out/x.bam --out-parts 3";
    place.run(&mut place.shell(script)).fails(3, &["out/x.bam.part-00", "File too large"]);
    assert_eq!(place.left(), [""; 0]);
}

/// A limit of open files that all parts together pass.
#[test]
fn too_many_parts_for_this_process() {
    let place = place_with(10);
    let script = "ulimit -n 100; exec \"$0\" sort in/x.bam -o out/x.bam --out-parts 200";
    place.run(&mut place.shell(script)).fails(3, &["out/x.bam.part-", "Too many open files"]);
    assert_eq!(place.left(), [""; 0]);
    sort(&place, "256").succeeds();
    assert_eq!(place.left().len(), 257);
}

/// A part that cannot get its name takes the names of those before it back.
#[test]
fn a_name_that_is_taken_at_the_last_moment() {
    let place = Place::new();
    let args = ["sort", "-", "-o", "out/x.bam", "--out-parts", "3"];
    let (child, mut pipe) = started(&place, &args, &enough());
    let begun = Instant::now();
    while place.left().len() < 3 {
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", place.left());
        std::thread::sleep(Duration::from_millis(3));
    }
    std::fs::create_dir(place.out("x.bam.part-002")).unwrap();
    pipe.write_all(&EOF_BLOCK).unwrap();
    drop(pipe);
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(3), "{said}");
    assert!(said.contains("out/x.bam.part-002 failed: Is a directory"), "{said}");
    assert_eq!(place.left(), ["x.bam.part-002"], "somebody's directory");
}

/// A signal at any moment leaves all parts or none.
#[test]
fn told_to_stop_at_any_moment() {
    let place = Place::new();
    place.input("x.bam", bam(&many(20_000, 200)));
    let (mut none, mut all) = (0, 0);
    for step in 0..20 {
        for name in place.left() {
            std::fs::remove_file(place.out(&name)).unwrap();
        }
        let mut command = place.command();
        command.args(["sort", "in/x.bam", "-o", "out/x.bam", "--out-parts", "40", "-@", "2", "-l", "1"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(30 + 20 * step));
        send(&child, libc::SIGTERM);
        let _ = wait(child);
        let left = place.left();
        assert!(left.iter().all(|name| !name.ends_with(".partial")), "{left:?}");
        match left.iter().filter(|name| name.contains(".part-")).count() {
            0 => none += 1,
            40 => all += 1,
            some => panic!("{some} parts: {left:?}"),
        }
    }
    println!("{none} times none, {all} times all");
    assert!(none > 0);
}
