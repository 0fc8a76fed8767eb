//! An output in parts that cannot be completed: no part has its name.

use crate::faults::fixtures::{Ended, TestFolders, bam, many};
use crate::faults::outputs::folders_with;
use crate::faults::space::with_small_disk;

#[cfg(debug_assertions)]
use readmill_process::pause::Moment;

#[cfg(debug_assertions)]
use crate::faults::paused::Paused;

/// Sorts `in/x.bam` into this number of parts.
fn sort(folders: &TestFolders, parts: &str) -> Ended {
    folders.readmill(["sort", "in/x.bam", "-o", "out/x.bam", "--out-parts", parts])
}

const THREE: [&str; 4] = ["x.bam.bai", "x.bam.part-001", "x.bam.part-002", "x.bam.part-003"];

#[test]
fn a_part_that_is_a_directory() {
    let folders = folders_with(10);
    std::fs::create_dir(folders.out("x.bam.part-002")).unwrap();
    sort(&folders, "3").fails(1, &["out/x.bam.part-002 is a directory"]);
    assert_eq!(folders.left(), ["x.bam.part-002"]);
}

#[test]
fn a_part_that_is_no_file() {
    let folders = folders_with(10);
    std::os::unix::fs::symlink("/dev/null", folders.out("x.bam.part-002")).unwrap();
    sort(&folders, "3").fails(1, &["out/x.bam.part-002 is not a file"]);
    assert_eq!(folders.left(), ["x.bam.part-002"]);
}

/// Its index would be that of the file which is there.
#[test]
fn a_whole_that_is_there_already() {
    let folders = folders_with(10);
    std::fs::write(folders.out("x.bam"), "somebody's").unwrap();
    sort(&folders, "3").fails(1, &["out/x.bam already exists", "remove it"]);
    assert_eq!(folders.left(), ["x.bam"]);
    folders
        .readmill(["sort", "in/x.bam", "-o", "/dev/null", "--out-parts", "2"])
        .fails(1, &["/dev/null"]);
}

#[test]
fn an_index_that_cannot_be_written() {
    let folders = folders_with(10);
    std::fs::create_dir(folders.out("x.bam.bai")).unwrap();
    sort(&folders, "3").fails(1, &["out/x.bam.bai is a directory"]);
    assert_eq!(folders.left(), ["x.bam.bai"]);
}

#[test]
fn a_failure_leaves_the_older_parts_alone() {
    let folders = folders_with(10);
    sort(&folders, "3").succeeds();
    assert_eq!(folders.left(), THREE);
    let before = THREE.map(|name| std::fs::read(folders.out(name)).unwrap());
    let cut = bam(&many(10, 200));
    folders.input("x.bam", &cut[..cut.len() - 30]);
    sort(&folders, "5").fails(2, &["truncated"]);
    assert_eq!(folders.left(), THREE);
    assert!(THREE.map(|name| std::fs::read(folders.out(name)).unwrap()) == before);
}

#[test]
fn parts_of_an_older_output_that_has_more_are_removed() {
    let folders = folders_with(10);
    sort(&folders, "7").succeeds();
    let before = std::fs::read(folders.out("x.bam.part-001")).unwrap();
    let ended = sort(&folders, "3");
    ended.succeeds();
    for number in 4..=7 {
        let said = format!("removed out/x.bam.part-{number:03}, a part of an older output");
        assert!(ended.stderr.contains(&said), "{}", ended.stderr);
    }
    assert_eq!(folders.left(), THREE);
    assert!(std::fs::read(folders.out("x.bam.part-001")).unwrap() == before);
}

#[test]
fn a_disk_that_is_full_before_all_parts_are_written() {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(1_500, 20_000)));
    let script =
        "\"$0\" sort in/x.bam -l 0 -o small/x.bam --out-parts 12; code=$?; ls -A small; exit $code";
    let Some(ended) = with_small_disk(&folders, script) else { return };
    ended.fails(3, &["small/x.bam.part-0", "No space left on device", "free some space"]);
    assert_eq!(String::from_utf8(ended.stdout).unwrap(), "", "nothing is left");
}

#[test]
fn a_limit_on_the_size_of_files() {
    let folders = TestFolders::new();
    folders.input("x.bam", bam(&many(1_500, 20_000)));
    let script = "ulimit -f 100; exec \"$0\" sort in/x.bam -l 0 -o out/x.bam --out-parts 3";
    folders.run(&mut folders.shell(script)).fails(3, &["out/x.bam.part-00", "File too large"]);
    assert_eq!(folders.left(), [""; 0]);
}

/// A limit of open files that all parts together pass.
#[test]
fn too_many_parts_for_this_process() {
    let folders = folders_with(10);
    let script = "ulimit -n 100; exec \"$0\" sort in/x.bam -o out/x.bam --out-parts 200";
    folders.run(&mut folders.shell(script)).fails(3, &["out/x.bam.part-", "Too many open files"]);
    assert_eq!(folders.left(), [""; 0]);
    sort(&folders, "256").succeeds();
    assert_eq!(folders.left().len(), 257);
}

/// A part that cannot get its name takes the names of those before it back.
#[cfg(debug_assertions)]
#[test]
fn a_name_that_is_taken_at_the_last_moment() {
    let folders = folders_with(60_000);
    let args = ["sort", "in/x.bam", "-o", "out/x.bam", "--out-parts", "3"];
    let paused = Paused::at(&folders, (Moment::OutputsComplete, 1), args);
    assert_eq!(folders.left(), THREE.map(|name| format!("{name}.partial")));
    std::fs::create_dir(folders.out("x.bam.part-002")).unwrap();
    paused.go_on().fails(3, &["out/x.bam.part-002 failed: Is a directory"]);
    assert_eq!(folders.left(), ["x.bam.part-002"], "somebody's directory");
}

/// A signal at any moment leaves all parts and their index, or none.
#[cfg(debug_assertions)]
#[test]
fn told_to_stop_at_any_moment() {
    use Moment::*;
    let folders = folders_with(20_000);
    let args = ["sort", "in/x.bam", "-o", "out/x.bam", "--out-parts", "3", "-@", "2", "-l", "1"];
    let none = [(InputOpened, 1), (PieceRead, 1), (PieceRead, 2), (OutputsComplete, 1)];
    for moment in none {
        let ended = Paused::at(&folders, moment, args).stop_by(libc::SIGTERM);
        assert_eq!(ended.status.code(), Some(143), "{moment:?}");
        assert_eq!(folders.left(), [""; 0], "{moment:?}");
    }
    for moment in [(FileNamed, 1), (FileNamed, 2), (FileNamed, 3), (FileNamed, 4), (AllNamed, 1)] {
        let ended = Paused::at(&folders, moment, args).go_on_with(libc::SIGTERM);
        assert_eq!(ended.status.code(), Some(143), "{moment:?}");
        assert_eq!(folders.left(), THREE, "{moment:?}");
        THREE.iter().for_each(|name| std::fs::remove_file(folders.out(name)).unwrap());
    }
}
