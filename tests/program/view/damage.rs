//! Indexes that are missing, old, damaged or of another file: no read is lost without an error.

use std::time::{Duration, SystemTime};

use super::files::{Kind, file};
use super::{LENGTHS, names, sample, scan};
use crate::support::{TestDir, arg, column, readmill, records};

#[test]
fn what_has_no_index_is_refused_with_the_way_out() {
    let dir = TestDir::new();
    let text = sample(5, 100, &LENGTHS);
    let sam = arg(&dir.file("in.sam", &text));
    let bam = arg(&file(&dir, Kind::BamBai, "in", &text, 1_000));
    std::fs::remove_file(dir.path("in.bam.bai")).expect("the index");
    for (words, code, what) in [
        (vec![&sam, "chr1"], 1, "readmill sort"),
        (vec![&bam, "chr1"], 1, "readmill index"),
        (vec!["-", "chr1"], 1, "a pipe has none"),
        (vec![&bam, "1"], 1, "write chr1"),
        (vec![&bam, "chr1:9-5"], 1, "before it starts"),
        (vec!["-X", &bam], 1, "behind the input"),
        (vec!["-X", &bam, "nothing.bai", "chr1"], 3, "nothing.bai cannot be read"),
        (vec!["-P", &bam, "chr1"], 1, "-N names"),
        (vec!["-U", "x.bam", &bam], 1, "--move-to"),
        (vec!["-t", "x.fai", &bam], 1, "@SQ lines"),
        (vec!["-p", &bam], 1, "--move-to"),
        (vec!["-z", "all", &bam], 1, "--clean-sam"),
        (vec!["-B", &bam], 1, "no aligner"),
        (vec!["-M", "-L", &sam, &bam, "chr1"], 1, "not from both"),
        (vec![&bam, ".", "chr1"], 1, "whole file"),
    ] {
        let done = readmill(["view"].into_iter().chain(words.clone()));
        assert_eq!(done.code, Some(code), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains(what) && done.stdout.is_empty(), "{words:?}: {}", done.stderr);
    }
}

#[test]
fn an_index_has_any_of_its_names_and_an_old_one_is_warned_of() {
    let dir = TestDir::new();
    let text = sample(6, 500, &LENGTHS);
    let lines = records(&text);
    let expected = scan::in_turn(&lines, &[("chr2", 100, 9_000)]);
    let bam = file(&dir, Kind::BamBai, "in", &text, 1_000);
    let (given, other) = (dir.path("in.bam.bai"), dir.path("in.bai"));
    std::fs::rename(&given, &other).expect("the index");
    assert_eq!(names(&[&arg(&bam), "chr2:100-9000"]), expected);
    let marked = format!("{}##idx##{}", arg(&bam), arg(&other));
    assert_eq!(names(&[&marked, "chr2:100-9000"]), expected);
    assert_eq!(names(&["-X", &arg(&bam), &arg(&other), "chr2:100-9000"]), expected);
    let old = SystemTime::now() - Duration::from_secs(1000);
    let index = std::fs::File::options().write(true).open(&other).expect("the index");
    index.set_modified(old).expect("a time");
    let done = readmill(["view", &arg(&bam), "chr2:100-9000"]);
    assert_eq!(done.code, Some(0));
    assert!(done.stderr.contains("in.bai is older than"), "{}", done.stderr);
    std::fs::copy(&other, &given).expect("a new index");
    assert_eq!(names(&[&arg(&bam), "chr2:100-9000"]), expected, "the newer one is used");
}

#[test]
fn the_index_of_another_file_is_an_error() {
    for kind in [Kind::BamBai, Kind::BamCsi, Kind::SamCsi, Kind::SamBai] {
        let dir = TestDir::new();
        let text = sample(7, 2_000, &LENGTHS);
        let path = file(&dir, kind, "in", &text, 5_000);
        let other = file(&dir, kind, "other", &sample(8, 2_500, &LENGTHS), 4_999);
        let end = if matches!(kind, Kind::BamBai | Kind::SamBai) { "bai" } else { "csi" };
        let index = |path: &std::path::Path| format!("{}.{end}", arg(path));
        std::fs::copy(index(&other), index(&path)).expect("an index");
        let lines = records(&text);
        let mut errors = 0;
        for start in (1..400_000).step_by(30_000) {
            let region = format!("chr1:{start}-{}", start + 5_000);
            let done = readmill(["view", &arg(&path), &region]);
            let found = String::from_utf8_lossy(&done.stdout);
            let found: Vec<&str> = found.lines().map(|line| column(line, 0)).collect();
            // At the start of the file, even another index says the right place.
            let expected = scan::in_turn(&lines, &[("chr1", start, start + 5_000)]);
            assert!(
                done.code == Some(2) || done.code == Some(0) && found == expected,
                "{kind:?} {region}"
            );
            errors += i32::from(done.code == Some(2));
        }
        assert!(errors > 0 || end == "csi", "{kind:?}");
        let small = file(&dir, kind, "small", &sample(8, 100, &LENGTHS[1..]), 4_999);
        std::fs::copy(index(&small), index(&path)).expect("an index");
        let done = readmill(["view", &arg(&path), "chr1:50000-90000"]);
        assert_eq!(done.code, Some(2), "{kind:?}: {}", done.stderr);
        assert!(done.stderr.contains("contigs"), "{kind:?}: {}", done.stderr);
    }
}

/// Whatever byte of an index is changed: there is an error, or no read is lost.
#[test]
fn a_cut_index_is_an_error() {
    let dir = TestDir::new();
    let text = sample(9, 300, &LENGTHS);
    let path = file(&dir, Kind::BamBai, "in", &text, 5_000);
    let index = dir.path("in.bam.bai");
    let bytes = std::fs::read(&index).expect("the index");
    for cut in (0..bytes.len() - 40).step_by(bytes.len() / 25) {
        std::fs::write(&index, &bytes[..cut]).expect("the index");
        let done = readmill(["view", &arg(&path), "chr2"]);
        assert_eq!(done.code, Some(2), "{cut}: {}", done.stderr);
    }
}
