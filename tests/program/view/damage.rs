//! Indexes that are missing, old, damaged or of another file: no read is lost without an error.

use std::time::{Duration, SystemTime};

use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};

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
        (vec![&bam, "chr1"], 3, "readmill index"),
        (vec!["-", "chr1"], 1, "the input is a pipe"),
        (vec![&bam, "1"], 1, "write chr1"),
        (vec![&bam, "chr1:9-5"], 1, "before it starts"),
        (vec!["-X", &bam], 1, "after the input"),
        (vec!["-X", &bam, "nothing.bai", "chr1"], 3, "nothing.bai cannot be read"),
        (vec!["-P", &bam, "chr1"], 1, "-N names"),
        (vec!["-c", "-U", "x.bam", &bam], 1, "--unoutput"),
        (vec!["-t", "x.fai", &bam], 1, "@SQ lines"),
        (vec!["-p", &bam], 1, "--move-to"),
        (vec!["-z", "all", &bam], 1, "--clean-sam"),
        (vec!["-B", &bam], 1, "no aligner"),
        (vec!["-c", "--copy-to", "x.bam=unmapped", &bam], 1, "--copy-to"),
        (vec!["-c", "--move-to", "x.bam=unmapped", &bam], 1, "--move-to"),
        (vec!["-c", "--md5", &bam], 1, "--md5"),
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

/// A sample of three placed lines and an unplaced one, all in one block, each with a field of so many bytes; `change` edits
/// the lines. The index is that of the sample, so the change must leave the length of each line, or add what it takes.
fn edited(dir: &TestDir, pads: [usize; 4], change: impl Fn(usize, String) -> String) -> String {
    let header = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:400000\n";
    let line = |n: usize, pad: usize| {
        let place =
            if n == 3 { "4\t*\t0\t0\t*".into() } else { format!("0\tchr1\t{}\t9\t4M", 1_000 + n) };
        format!("r{n}\t{place}\t*\t0\t0\tACGT\tIIII\tXX:Z:{}\n", "a".repeat(pad))
    };
    let text = |pads: [usize; 4]| -> Vec<String> { (0..4).map(|n| line(n, pads[n])).collect() };
    let whole = format!("{header}{}", text([40; 4]).concat());
    let path = arg(&file(dir, Kind::SamCsi, "in", &whole, 60_000));
    let index = std::fs::read(format!("{path}.csi")).expect("the index");
    let lines: Vec<String> = text(pads).into_iter().enumerate().map(|(n, it)| change(n, it)).collect();
    let changed = format!("{header}{}", lines.concat());
    assert_eq!(changed.len(), whole.len(), "the index fits");
    let mut packed = Vec::new();
    Deflater::new(Codec::default(), 1).deflate_block(changed.as_bytes(), &mut packed);
    packed.extend_from_slice(&EOF_BLOCK);
    std::fs::write(&path, packed).expect("the file");
    std::fs::write(format!("{path}.csi"), index).expect("the index");
    path
}

#[test]
fn numbers_of_lines_that_are_too_large_are_reported_and_do_not_overflow() {
    let dir = TestDir::new();
    for (from, to, what) in [
        ("\t1001\t", "\t-9223372036854775808\t", "POS"),
        ("\t1001\t", "\t99999999999999999999\t", "POS"),
        ("\t4M\t", "\t99999999999999999999M\t", "CIGAR"),
    ] {
        let more = to.len() - from.len();
        let path = edited(&dir, [40, 40 - more, 40, 40], |n, line| match n {
            1 => line.replacen(from, to, 1),
            _ => line,
        });
        for words in
            [vec![path.as_str(), "chr1:1002-2000"], vec!["-M", &path, "chr1:1002-2000", "chr1:5000"]]
        {
            let done = readmill(["view"].into_iter().chain(words));
            assert_eq!(done.code, Some(2), "{to}: {}", done.stderr);
            assert!(done.stderr.contains(what), "{to}: {}", done.stderr);
        }
    }
}

#[test]
fn empty_lines_do_not_hide_regions() {
    let dir = TestDir::new();
    for empty in 0..4 {
        let mut pads = [40; 4];
        pads[empty] -= 1;
        let path = edited(&dir, pads, |n, line| if n == empty { format!("\n{line}") } else { line });
        assert_eq!(names(&[&path, "chr1:1000-2000"]), ["r0", "r1", "r2"], "{empty}");
        assert_eq!(names(&[&path, "*"]), ["r3"], "{empty}");
    }
}

#[test]
fn an_index_that_is_read_is_not_written_over() {
    let dir = TestDir::new();
    let bam = arg(&file(&dir, Kind::BamBai, "in", &sample(9, 300, &LENGTHS), 5_000));
    let index = format!("{bam}.bai");
    let bytes = std::fs::read(&index).expect("the index");
    for words in [
        vec!["-X", &bam, &index, "chr1", "-o", &index],
        vec![&bam, "chr1", "-o", &index],
        vec![&bam, "chr1", "--flagstat", &index, "-o", "/dev/null"],
    ] {
        let done = readmill(["view"].into_iter().chain(words.clone()));
        assert_eq!(done.code, Some(1), "{words:?}: {}", done.stderr);
        assert!(done.stderr.contains("is an input"), "{words:?}: {}", done.stderr);
        assert!(std::fs::read(&index).expect("the index") == bytes, "{words:?}");
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
