//! `--md5`: the MD5 of the output in a file of its own.

use md5::{Digest, Md5};

use crate::support::resources::sample;
use crate::support::{TestDir, arg, bgzip, readmill};

/// Whether each of these files has a file with its MD5, and nothing else has.
#[track_caller]
fn have_md5(dir: &TestDir, files: &[&str]) {
    for file in files {
        let bytes = std::fs::read(dir.path(file)).expect("the file");
        let digits: String = Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let told = std::fs::read_to_string(dir.path(&format!("{file}.md5"))).expect("its MD5");
        assert_eq!(told, digits, "{file}");
    }
    let all = dir.names();
    let md5: Vec<&String> = all.iter().filter(|name| name.ends_with(".md5")).collect();
    assert_eq!(md5.len(), files.len(), "{all:?}");
    assert!(!all.iter().any(|name| name.ends_with(".partial")), "{all:?}");
}

#[test]
fn each_format_has_its_md5() {
    for threads in ["1", "4"] {
        for (output, more) in [
            ("x.bam", &["--sort", "coordinate"][..]),
            ("x.bam", &[]),
            ("x.sam", &[]),
            ("x.sam.gz", &["--sort", "queryname"]),
            ("x.cram", &["-O", "cram,no-ref", "--sort", "coordinate"]),
            ("x.cram", &["-O", "cram,no-ref,small"]),
            ("x.bam", &["--copy-to", "other.bam=unmapped"]),
        ] {
            let dir = TestDir::new();
            let input = arg(&dir.file("in.bam", bgzip(&sample(4_000))));
            let path = arg(&dir.path(output));
            let others = arg(&dir.path("other.bam=unmapped"));
            let more = more.iter().map(|word| if word.contains('=') { &others } else { *word });
            let args = ["prep", "-q", &input, "-o", &path, "--md5", "-@", threads];
            let done = readmill(args.into_iter().chain(more));
            assert_eq!(done.code, Some(0), "{}", done.stderr);
            have_md5(&dir, &[output]);
        }
    }
}

#[test]
fn reads_in_order_that_turn_out_not_to_be_have_the_md5_of_what_is_written() {
    let dir = TestDir::new();
    let mut records = sample(3_000);
    let sorted = arg(&dir.path("sorted.bam"));
    let input = arg(&dir.file("in.bam", bgzip(&records)));
    assert_eq!(readmill(["sort", "-q", &input, "-o", &sorted]).code, Some(0));
    // The output begins as a copy of sorted reads, and is written again for those that are not.
    let output = arg(&dir.path("x.bam"));
    let done = readmill(["sort", "-q", &sorted, &input, "-o", &output, "--md5", "--no-index"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    have_md5(&dir, &["x.bam"]);
    records.clear();
}

#[test]
fn each_part_has_its_md5() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(4_000))));
    let output = arg(&dir.path("x.bam"));
    let done = readmill(["sort", "-q", &input, "-o", &output, "--md5", "--out-parts", "3"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    have_md5(&dir, &["x.bam.part-001", "x.bam.part-002", "x.bam.part-003"]);
}

#[test]
fn what_is_no_file_has_no_md5() {
    let dir = TestDir::new();
    let input = arg(&dir.file("in.bam", bgzip(&sample(10))));
    for output in ["-", "/dev/null"] {
        let done = readmill(["prep", "-q", &input, "-o", output, "--md5"]);
        assert_eq!(done.code, Some(1), "{}", done.stderr);
        assert!(done.stderr.contains("not a file") && done.stderr.contains("--md5"), "{}", done.stderr);
    }
    // Another output of that name.
    let output = arg(&dir.path("x.bam"));
    let metrics = arg(&dir.path("x.bam.md5"));
    let done = readmill(["prep", "-q", &input, "-o", &output, "--md5", "--flagstat", &metrics]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
}
