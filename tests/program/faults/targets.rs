//! Outputs whose name is taken already: by a link, by the input, by older files and their indexes.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::faults::files::{bam, many};
use crate::faults::outputs::{folders_with, sort};
use crate::faults::program::TestFolders;

#[test]
fn a_link_stays_a_link_and_its_target_is_replaced() {
    let folders = folders_with(10);
    let target = folders.input("elsewhere.bam", "old");
    symlink(&target, folders.out("x.bam")).unwrap();
    sort(&folders, "out/x.bam").succeeds();
    assert!(std::fs::symlink_metadata(folders.out("x.bam")).unwrap().is_symlink());
    assert!(!std::fs::symlink_metadata(&target).unwrap().is_symlink());
    assert_eq!(folders.lines(&target).len(), 10);
}

#[test]
fn a_link_to_a_file_that_is_not_there_yet_stays_a_link() {
    let folders = folders_with(10);
    symlink("../in/later.bam", folders.out("x.bam")).unwrap();
    sort(&folders, "out/x.bam").succeeds();
    assert!(std::fs::symlink_metadata(folders.out("x.bam")).unwrap().is_symlink());
    assert_eq!(folders.lines(Path::new("in/later.bam")).len(), 10);
}

#[test]
fn a_file_can_be_sorted_onto_itself() {
    let folders = TestFolders::new();
    let file = folders.out("x.bam");
    std::fs::write(&file, bam(&many(30_000, 200))).unwrap();
    let name = file.to_str().unwrap();
    folders.readmill(["sort", name, "-o", name]).succeeds();
    let lines = folders.lines(&file);
    let positions = lines.iter().map(|line| line.split('\t').nth(3).unwrap().parse::<u32>().unwrap());
    assert!(positions.clone().count() == 30_000 && positions.is_sorted());
    assert_eq!(folders.left(), ["x.bam", "x.bam.bai"]);
}

#[test]
fn an_input_with_the_name_of_the_temporary_output_survives() {
    let folders = TestFolders::new();
    let file = folders.out("x.bam.partial");
    std::fs::write(&file, bam(&many(30_000, 200))).unwrap();
    folders.readmill(["sort", "out/x.bam.partial", "-o", "out/x.bam"]);
    assert_eq!(folders.lines(&file).len(), 30_000);
}

#[test]
fn stale_indexes_are_removed_and_the_new_one_is_there() {
    let folders = folders_with(10);
    let stale = ["x.bam.csi", "x.bai", "x.csi", "x.bam.bai"];
    let spoil = || stale.map(|name| std::fs::write(folders.out(name), "stale").unwrap());
    spoil();
    let ended = sort(&folders, "out/x.bam");
    ended.succeeds();
    for name in &stale[..3] {
        assert!(
            ended.stderr.contains(&format!("out/{name}, the index of an older")),
            "{}",
            ended.stderr
        );
    }
    assert_eq!(folders.left(), ["x.bam", "x.bam.bai"]);
    assert!(std::fs::read(folders.out("x.bam.bai")).unwrap().starts_with(b"BAI\x01"));

    spoil();
    folders.readmill(["sort", "in/x.bam", "-o", "out/x.bam", "--write-index=csi"]).succeeds();
    assert_eq!(folders.left(), ["x.bam", "x.bam.csi"]);

    spoil();
    folders.readmill(["prep", "in/x.bam", "-o", "out/x.bam"]).succeeds();
    assert_eq!(folders.left(), ["x.bam"], "unsorted, so it has no index, least of all an old one");
}

#[test]
fn the_index_is_not_older_than_its_file() {
    let folders = folders_with(1_000);
    sort(&folders, "out/x.bam").succeeds();
    let modified = |name: &str| std::fs::metadata(folders.out(name)).unwrap().modified().unwrap();
    assert!(modified("x.bam.bai") >= modified("x.bam"));
}

#[test]
fn an_index_that_is_a_link_is_replaced() {
    let folders = folders_with(10);
    let target = folders.input("elsewhere.bai", "old");
    symlink(&target, folders.out("x.bam.bai")).unwrap();
    sort(&folders, "out/x.bam").succeeds();
    assert!(std::fs::read(folders.out("x.bam.bai")).unwrap().starts_with(b"BAI\x01"));
}

#[test]
fn an_index_that_cannot_be_written_leaves_no_output() {
    let folders = folders_with(10);
    std::fs::create_dir(folders.out("x.bam.bai")).unwrap();
    let ended = sort(&folders, "out/x.bam");
    ended.fails(1, &["out/x.bam.bai is a directory"]);
    assert_eq!(folders.left(), ["x.bam.bai"]);
}

#[test]
fn an_older_output_that_is_read_only_is_replaced() {
    let folders = folders_with(10);
    let output = folders.out("x.bam");
    std::fs::write(&output, "old").unwrap();
    std::fs::set_permissions(&output, std::fs::Permissions::from_mode(0o444)).unwrap();
    sort(&folders, "out/x.bam").succeeds();
    assert_eq!(folders.lines(&output).len(), 10);
}
