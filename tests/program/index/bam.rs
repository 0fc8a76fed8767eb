//! Indexes of BAM, SAM and CRAM.

use std::time::{Duration, SystemTime};

use super::{index, raw_bam, reads, refused, stored};
use crate::support::{TestDir, arg, bam, readmill, split_header};

/// Bytes of a block that htslib writes.
const BLOCK: usize = 0xff00;

/// A file of reads, the flags of the index, and the length and CRC of the index that samtools 1.24 makes.
type Case = (&'static str, fn() -> String, &'static str, usize, u32);

/// What `samtools index` 1.24 wrote for these files.
const CASES: &[Case] = &[
    ("many reads", || reads(20_000, &[3_000_000, 70_000, 500_000], 5), "-b", 2_744, 825_561_704),
    ("no reads", || reads(0, &[3_000, 500], 0), "-b", 32, 703_470_417),
    ("only reads without a place", || reads(0, &[3_000, 500], 30), "-b", 32, 1_088_370_760),
    ("no contigs", || reads(0, &[], 7), "-b", 16, 249_159_796),
    ("many contigs", || reads(5_000, &[70_000; 2_000], 3), "-b", 228_376, 2_695_670_944),
];

#[test]
fn the_bytes_are_those_of_samtools() {
    for (name, text, flag, length, crc) in CASES {
        let dir = TestDir::new();
        let file = dir.file("in.bam", stored(&raw_bam(&text()), BLOCK));
        let made = index(&file, &[flag]);
        assert_eq!((made.len(), crc32fast::hash(&made)), (*length, *crc), "{name}");
    }
}

#[test]
fn borders_of_blocks_and_threads_do_not_show() {
    let text = reads(4_000, &[3_000_000, 70_000], 3);
    let dir = TestDir::new();
    for block in [40, 1_000, 30_011, BLOCK] {
        let file = dir.file("in.bam", stored(&raw_bam(&text), block));
        let one = index(&file, &["-@", "1"]);
        for more in [["-@", "2"], ["-@", "8"]] {
            assert!(index(&file, &more) == one, "blocks of {block}, {more:?}");
        }
    }
}

#[test]
fn it_is_the_index_that_is_written_with_an_output() {
    let dir = TestDir::new();
    let input = dir.file("in.sam", reads(8_000, &[3_000_000, 600_000_000, 9_000], 20));
    for kind in ["csi", "bai"] {
        let input = if kind == "bai" {
            dir.file("in.sam", reads(8_000, &[3_000_000, 9_000], 0))
        } else {
            input.clone()
        };
        let output = dir.path("out.bam");
        let flag = format!("--write-index={kind}");
        let done = readmill(["sort", &arg(&input), "-o", &arg(&output), &flag, "-q"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let written = std::fs::read(dir.path(&format!("out.bam.{kind}"))).unwrap();
        assert!(index(&output, &[]) == written, "{kind}");
    }
}

#[test]
fn a_long_contig_gets_a_csi_and_no_bai() {
    let dir = TestDir::new();
    let file = dir.file("in.bam", bam(&reads(50, &[600_000_000], 0)));
    let done = readmill(["index", &arg(&file)]);
    assert_eq!(done.code, Some(0));
    assert!(done.stderr.contains("in.bam.csi (50 records)"), "{}", done.stderr);
    assert_eq!(dir.names(), ["in.bam", "in.bam.csi"]);
    std::fs::remove_file(dir.path("in.bam.csi")).unwrap();
    refused(&dir, &["index", "-b", &arg(&file)], 1, &["in.bam", "c0 is too long for a BAI"]);
}

#[test]
fn several_files_and_flags_of_samtools() {
    let dir = TestDir::new();
    let files = ["a.bam", "b.bam"].map(|name| arg(&dir.file(name, bam(&reads(30, &[5_000], 1)))));
    assert_eq!(readmill(["index", "-M", "-@", "2", "-q", &files[0], &files[1]]).code, Some(0));
    assert_eq!(dir.names(), ["a.bam", "a.bam.bai", "b.bam", "b.bam.bai"]);
    assert_eq!(index(files[0].as_ref(), &["-c"]), index(files[0].as_ref(), &["-m", "14"]));
    refused(&dir, &["index", "-o", "x", &files[0], &files[1]], 1, &["-o names one index file"]);
    refused(&dir, &["index", "-b", "-m", "14", &files[0]], 1, &["-m N applies only to CSI"]);
    refused(&dir, &["index", "-m", "1M", &files[0]], 1, &["raise -m"]);
}

#[test]
fn what_is_not_sorted_is_refused_and_nothing_is_left() {
    let sorted = reads(3_000, &[3_000_000, 70_000], 4);
    let dir = TestDir::new();
    for (swap, name) in [(2_000, "near"), (4, "start")] {
        let mut lines: Vec<&str> = sorted.lines().collect();
        let at = 3 + swap;
        lines.swap(at, 40);
        let text = lines.join("\n") + "\n";
        let file = arg(&dir.file(&format!("{name}.bam"), bam(&text)));
        refused(&dir, &["index", &file], 2, &[&format!("{name}.bam: record "), "readmill sort"]);
        let packed = arg(&dir.file(&format!("{name}.sam.gz"), stored(text.as_bytes(), 5_000)));
        refused(&dir, &["index", &packed], 2, &["record ", "readmill sort"]);
    }
    let text = reads(10, &[3_000], 2).replace("u0\t4\t*\t0", "u0\t4\tc0\t1");
    let (head, tail) = text.split_at(text.find("u0").unwrap());
    let lines: Vec<&str> = tail.lines().rev().collect();
    let file = arg(&dir.file("last.bam", bam(&format!("{head}{}\n", lines.join("\n")))));
    refused(&dir, &["index", &file], 2, &["record 12 (read u0)"]);
}

#[test]
fn damaged_files_are_refused() {
    let dir = TestDir::new();
    let whole = bam(&reads(5_000, &[3_000_000], 0));
    let cut = arg(&dir.file("cut.bam", &whole[..whole.len() / 2]));
    refused(&dir, &["index", &cut], 2, &["cut.bam", "ends inside a BGZF block"]);
    let raw = raw_bam(&reads(100, &[3_000], 0));
    let inside = arg(&dir.file("inside.bam", stored(&raw[..raw.len() - 10], 1_000)));
    refused(&dir, &["index", &inside], 2, &["record 100", "ends inside a record"]);
    let mut bad = raw;
    let first = raw_bam(&reads(0, &[3_000], 0)).len();
    bad[first..first + 4].fill(0xff);
    let bad = arg(&dir.file("bad.bam", stored(&bad, 1_000)));
    refused(&dir, &["index", &bad], 2, &["bad.bam: record 1: ", "an invalid length"]);
    let empty = arg(&dir.file("empty.bam", b""));
    refused(&dir, &["index", &empty], 2, &["the file is empty"]);
    let missing = arg(&dir.path("missing.bam"));
    refused(&dir, &["index", &missing], 3, &["cannot be opened"]);
    let sam = arg(&dir.file("plain.sam", reads(3, &[3_000], 0)));
    refused(&dir, &["index", &sam], 2, &["this SAM file is not compressed", "readmill sort"]);
    let eof = arg(&dir.file("eof.bam", &whole[..whole.len() - 28]));
    refused(&dir, &["index", &eof], 2, &["EOF block", "--allow-missing-eof"]);
    assert_eq!(readmill(["index", "--allow-missing-eof", &eof, "-q"]).code, Some(0));
}

#[test]
fn indexes_of_an_older_file_are_removed_and_newer_ones_stay() {
    let dir = TestDir::new();
    let file = dir.file("in.bam", bam(&reads(30, &[5_000], 1)));
    let hour = Duration::from_secs(3600);
    for (name, time) in [("in.bai", SystemTime::now() - hour), ("in.csi", SystemTime::now() + hour)] {
        let path = dir.file(name, b"");
        std::fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    let done = readmill(["index", &arg(&file)]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("in.bai, an index of an older file"), "{}", done.stderr);
    assert_eq!(dir.names(), ["in.bam", "in.bam.bai", "in.csi"]);
}

#[test]
fn sam_and_bam_have_an_index_of_the_same_reads() {
    let dir = TestDir::new();
    let text = reads(3_000, &[3_000_000, 70_000], 4);
    let file = dir.file("in.sam.gz", stored(text.as_bytes(), 10_007));
    let made = index(&file, &[]);
    assert!(made.starts_with(b"BAI\x01\x02\0\0\0") && made.ends_with(&4u64.to_le_bytes()));
    assert!(index(&file, &["-@", "8"]) == made);
    assert!(index(&file, &["-c"]).starts_with(&[0x1f, 0x8b]));
}

#[test]
fn cram_has_the_index_that_is_written_with_it() {
    let dir = TestDir::new();
    for (name, contigs) in [("few", &[3_000_000u32, 70_000][..]), ("many", &[5_000; 50])] {
        let input = arg(&dir.file("in.sam", reads(6_000, contigs, 4)));
        let output = dir.path(&format!("{name}.cram"));
        let done = readmill(["sort", &input, "-o", &arg(&output), "-O", "cram,no-ref", "-q"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        let inflate = |bytes: &[u8]| {
            let mut text = String::new();
            std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(bytes), &mut text).unwrap();
            text
        };
        let written = std::fs::read(dir.path(&format!("{name}.cram.crai"))).unwrap();
        // Reads without a place have a length of 0 in the one and 1 in the other, as in samtools.
        let placed = |text: String| -> Vec<String> {
            text.lines().filter(|line| !line.starts_with("-1")).map(String::from).collect()
        };
        assert_eq!(placed(inflate(&index(&output, &[]))), placed(inflate(&written)), "{name}");
    }
    let text = reads(50, &[5_000, 6_000], 0);
    let (header, records) = split_header(&text);
    let reversed: Vec<&str> = records.lines().rev().collect();
    let unsorted = dir.file("in.sam", format!("{header}{}\n", reversed.join("\n")));
    let output = arg(&dir.path("unsorted.cram"));
    let unsorted = arg(&unsorted);
    let flags = ["filter", &unsorted, "-o", &output, "-O", "cram,no-ref", "--no-index", "--quiet"];
    assert_eq!(readmill(flags).code, Some(0));
    refused(&dir, &["index", &output], 2, &["unsorted.cram", "not in coordinate order"]);
    refused(&dir, &["index", "-c", &output], 1, &["a CSI index cannot be made for CRAM"]);
}
