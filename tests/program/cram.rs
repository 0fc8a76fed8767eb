//! CRAM in and out: nothing is lost, bytes depend on the reads alone, and what is wrong is told.

use crate::support;

use std::path::{Path, PathBuf};

use readmill_simulate::{Profile, Sample};
use support::means::{FEW_MEANS, MEANS, Means, same_bytes_with, sample};
use support::{Desk, Outcome, arg, bgzip, readmill, split_header};

/// A desk with the reference of the samples.
fn desk() -> (Desk, PathBuf) {
    let desk = Desk::new();
    let mut fasta = Vec::new();
    Sample::new(Profile::small()).write_fasta(&mut fasta).expect("bytes in memory");
    let reference = desk.file("ref.fa", fasta);
    (desk, reference)
}

/// A CRAM file of a sample in its own order.
fn cram(desk: &Desk, pairs: u64) -> Vec<u8> {
    let input = desk.file("input.bam", bgzip(&sample(pairs)));
    let output = desk.path("input.cram");
    let [input, output, reference] = [&input, &output, &desk.path("ref.fa")].map(|path| arg(path));
    succeeds(&["prep", &input, "-o", &output, "--reference", &reference, "-q"]);
    std::fs::read(desk.path("input.cram")).expect("the CRAM file")
}

#[track_caller]
fn succeeds(args: &[&str]) -> Outcome {
    let done = readmill(args);
    assert_eq!(done.code, Some(0), "{args:?}: {}", done.stderr);
    done
}

#[track_caller]
fn invariant(means: &[Means], input: Vec<u8>, command: &str, reference: &Path, format: &str) {
    let command = format!("{command} --reference {}", arg(reference));
    same_bytes_with(means, &[input], &command, format);
}

#[test]
fn what_is_written_depends_on_the_reads_alone() {
    let (_desk, reference) = desk();
    let input = bgzip(&sample(30_000));
    invariant(&MEANS, input.clone(), "sort", &reference, "cram");
    invariant(&FEW_MEANS, input.clone(), "sort -n", &reference, "cram");
    invariant(&FEW_MEANS, input.clone(), "sort -O cram,no-ref", &reference, "cram");
    invariant(&FEW_MEANS, input, "prep --drop-unmapped", &reference, "cram");
}

#[test]
fn what_is_read_of_it_depends_on_nothing_else() {
    let (desk, reference) = desk();
    let input = cram(&desk, 30_000);
    invariant(&FEW_MEANS, input.clone(), "sort", &reference, "bam");
    invariant(&FEW_MEANS, input.clone(), "prep --drop-unmapped", &reference, "cram");
    invariant(&FEW_MEANS, input, "markdup --metrics METRICS", &reference, "sam");
}

#[test]
fn nothing_is_lost_on_the_way() {
    let (desk, reference) = desk();
    cram(&desk, 3_000);
    let [bam, file, reference] =
        [&desk.path("input.bam"), &desk.path("input.cram"), &reference].map(|path| arg(path));
    succeeds(&["compare", "--level", "L1", "--ignore-header", &bam, &file, "--reference", &reference]);
    let plain = arg(&desk.path("plain.cram"));
    succeeds(&["prep", "-q", &bam, "-o", &plain, "-O", "cram,no-ref"]);
    succeeds(&["compare", "--level", "L1", "--ignore-header", &bam, &plain]);
    let [sorted, again] = ["sorted.cram", "again.bam"].map(|name| arg(&desk.path(name)));
    succeeds(&["sort", "-q", &file, "-o", &sorted, "--reference", &reference]);
    succeeds(&["sort", "-q", &bam, "-o", &again]);
    succeeds(&[
        "compare",
        "--level",
        "L1",
        "--ignore-header",
        &sorted,
        &again,
        "--reference",
        &reference,
    ]);
}

#[test]
fn a_sorted_file_has_an_index_and_m5() {
    let (desk, reference) = desk();
    cram(&desk, 500);
    desk.file("x.cram.bai", "of an older file");
    let [input, output, reference] =
        [&desk.path("input.cram"), &desk.path("x.cram"), &reference].map(|path| arg(path));
    succeeds(&["sort", "-q", &input, "-o", &output, "--reference", &reference]);
    let names = desk.names();
    assert!(names.contains(&"x.cram.crai".into()) && !names.contains(&"x.cram.bai".into()), "{names:?}");
    let shown = succeeds(&["prep", "-q", &output, "-O", "sam", "--reference", &reference]);
    let text = String::from_utf8(shown.stdout).expect("text");
    let contigs = split_header(&text).0.lines().filter(|line| line.starts_with("@SQ"));
    assert!(contigs.clone().count() > 0 && contigs.clone().all(|line| line.contains("\tM5:")));
    // Contigs of which no file is given lie under their MD5, if the user keeps them so.
    std::fs::remove_file(desk.path("x.cram.crai")).expect("the index");
    succeeds(&["sort", "-q", "--no-index", &input, "-o", &output, "--reference", &reference]);
    assert!(!desk.names().contains(&"x.cram.crai".into()));
}

#[test]
fn a_reference_with_other_bases_than_the_header_says_is_refused() {
    let (desk, reference) = desk();
    cram(&desk, 200);
    let [bam, file, output] = ["input.bam", "input.cram", "x.cram"].map(|name| arg(&desk.path(name)));
    let mut text = std::fs::read_to_string(&reference).expect("the reference");
    let at = text.len() - 2;
    let base = if &text[at..=at] == "A" { "C" } else { "A" };
    text.replace_range(at..=at, base);
    desk.file("other.fa", text);
    let other = arg(&desk.path("other.fa"));
    // The header of the CRAM file has M5, that of the BAM file has none.
    succeeds(&["prep", "-q", &bam, "-o", &output, "--reference", &other]);
    let done = readmill(["prep", "-q", &file, "-o", &output, "--reference", &other]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(["has M5", "no-ref"].iter().all(|word| done.stderr.contains(word)), "{}", done.stderr);
}

#[test]
fn requests_that_cannot_be_met() {
    let (desk, reference) = desk();
    cram(&desk, 200);
    let [bam, file, output, reference] =
        [&desk.path("input.bam"), &desk.path("input.cram"), &desk.path("o.cram"), &reference]
            .map(|path| arg(path));
    let refused = |args: &[&str], code: i32, words: &[&str]| {
        let done = readmill(args);
        assert_eq!(done.code, Some(code), "{args:?}: {}", done.stderr);
        words.iter().for_each(|word| assert!(done.stderr.contains(word), "{args:?}: {}", done.stderr));
        assert!(!desk.names().iter().any(|name| name.starts_with("o.cram")), "{args:?}");
    };
    refused(&["sort", &bam, "-o", &output], 1, &["--reference", "no-ref"]);
    refused(&["sort", &bam, "-O", "cram,version=3.1"], 1, &["3.1 is read, but not written"]);
    let indexed = ["sort", &bam, "-o", &output, "--reference", &reference, "--write-index=bai"];
    refused(&indexed, 1, &["indexed"]);
    refused(&["sort", &file, "-o", &output, "-O", "cram,no-ref"], 2, &["contig", "M5", "--reference"]);
    let small = ["sort", &file, "-o", &output, "--reference", &reference, "-m", "40M", "-@", "1"];
    refused(&small, 1, &["raise -m"]);
}

#[test]
fn damage_is_told_and_leaves_nothing() {
    let (desk, reference) = desk();
    let whole = cram(&desk, 300);
    let reference = arg(&reference);
    let output = arg(&desk.path("o.bam"));
    let refused = |bytes: &[u8], what: &str| {
        let input = arg(&desk.file("bad.cram", bytes));
        for threads in ["1", "3"] {
            for command in ["sort", "prep"] {
                let done =
                    readmill([command, &input, "-o", &output, "--reference", &reference, "-@", threads]);
                assert_eq!(done.code, Some(2), "{what}, {command}: {}", done.stderr);
                assert!(done.stderr.contains("bad.cram"), "{what}: {}", done.stderr);
                assert!(!desk.names().iter().any(|name| name.starts_with("o.bam")), "{what}");
            }
        }
    };
    for end in
        [0, 3, 20, 26, 40, 300, whole.len() / 2, whole.len() - 39, whole.len() - 38, whole.len() - 1]
    {
        refused(&whole[..end], &format!("cut at {end}"));
    }
    for at in (4..whole.len() - 38).step_by(whole.len() / 60) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        if !(6..26).contains(&at) {
            refused(&bytes, &format!("a bit at {at}"));
        }
    }
}
