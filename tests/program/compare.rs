//! `readmill compare`: every level, and the differences that break it.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const HEADER: &str = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr1\tLN:1000\n@SQ\tSN:chr2\tLN:500\n\
                      @RG\tID:g1\tSM:s\tLB:l1\n@RG\tID:g2\tSM:s\tLB:l2\n";

/// A record of ten bases: QNAME, FLAG, RNAME, POS, CIGAR, then optional fields after spaces.
fn read(fields: &str) -> String {
    let mut parts = fields.split(' ');
    let [name, flag, rname, pos, cigar] = [(); 5].map(|()| parts.next().unwrap());
    let mut line =
        format!("{name}\t{flag}\t{rname}\t{pos}\t60\t{cigar}\t*\t0\t0\tACGTACGTAC\tIIIIIIIIII");
    for tag in parts {
        line.push('\t');
        line.push_str(tag);
    }
    line + "\n"
}

fn sam(header: &str, reads: &[&str]) -> String {
    let records: String = reads.iter().map(|fields| read(fields)).collect();
    format!("{header}{records}")
}

fn compare(args: &[&str], files: [&Path; 2]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_readmill")).arg("compare").args(args).args(files).output().unwrap()
}

/// Compares two SAM texts in both directions. Returns the exit code and output of the first.
fn run(args: &[&str], a: &str, b: &str) -> (i32, String) {
    let dir = tempfile::tempdir().unwrap();
    let paths: [PathBuf; 2] = ["a.sam", "b.sam"].map(|name| dir.path().join(name));
    for (path, text) in paths.iter().zip([a, b]) {
        std::fs::write(path, text).unwrap();
    }
    let [forth, back] = [[0, 1], [1, 0]].map(|[i, j]| compare(args, [&paths[i], &paths[j]]));
    let said = String::from_utf8(forth.stdout).unwrap();
    let level = |text: &str| text.lines().next().unwrap_or_default().to_string();
    assert_eq!(level(&said), level(&String::from_utf8(back.stdout).unwrap()), "the other way round");
    assert_eq!(forth.status.code(), back.status.code(), "the other way round");
    (forth.status.code().unwrap(), said)
}

/// The level that is reported with these arguments; every level demanded gives the exit code that
/// follows from it. Returns the output.
fn level(args: &[&str], a: &str, b: &str, expected: &str) -> String {
    let (_, said) = run(args, a, b);
    let reached = said.lines().next().and_then(|line| line.strip_prefix("level: ")).unwrap_or_default();
    assert!(reached.starts_with(expected), "{expected} expected:\n{said}");
    for demanded in ["L0", "L1", "L2", "L3"] {
        let holds = expected != "different" && expected <= demanded;
        let (code, _) = run(&[args, &["--level", demanded]].concat(), a, b);
        assert_eq!(code, if holds { 0 } else { 4 }, "{demanded} demanded:\n{said}");
    }
    said
}

/// Reads under one header: the level that is reported.
fn t(a: &[&str], b: &[&str], expected: &str) -> String {
    level(&[], &sam(HEADER, a), &sam(HEADER, b), expected)
}

#[test]
fn equal_files_are_l0() {
    let reads = ["a 0 chr1 10 10M RG:Z:g1 NM:i:0", "b 16 chr2 20 5M1D5M", "c 4 * 0 *"];
    let said = t(&reads, &reads, "L0");
    assert!(said.contains("records: 3 in ") && said.contains(", 3 in "), "{said}");
    t(&[], &[], "L0");
    let (code, _) = run(&[], &sam(HEADER, &reads), &sam(HEADER, &reads));
    assert_eq!(code, 0, "L0 is what is demanded if nothing is said");
}

#[test]
fn program_and_comment_lines_do_not_count_but_every_other_does() {
    let reads = ["a 0 chr1 10 10M RG:Z:g1"];
    let plain = sam(HEADER, &reads);
    let t = |header: &str, expected| level(&[], &plain, &sam(header, &reads), expected);
    let said = t(&format!("{HEADER}@PG\tID:x\n@CO\tcomment\n"), "L0");
    assert!(said.starts_with("level: L0, the same text, ignoring @PG and @CO lines\n"), "{said}");
    assert!(said.contains("header: equal, except for @PG and @CO lines"), "{said}");
    let said = t(&HEADER.replace("SM:s\tLB:l1", "SM:other\tLB:l1"), "L3");
    assert!(said.contains("header: differs") && said.contains("@RG\tID:g1\tSM:other"), "{said}");
    t(&HEADER.replace("@RG\tID:g2\tSM:s\tLB:l2\n", ""), "L3");
    t(&HEADER.replace("SO:coordinate", "SO:unsorted"), "L3");
    t(&HEADER.replace("VN:1.6\tSO:coordinate", "SO:coordinate\tVN:1.6"), "L1");
    let other = sam(&HEADER.replace("SM:s", "SM:other"), &reads);
    assert!(level(&["--ignore-header"], &plain, &other, "L0").contains("header: not compared"));
    let ignored = ["--ignore-header", "--ignore-flag", "DUP", "--ignore-tag", "NM"];
    let said = level(&ignored, &plain, &other, "L0");
    assert!(said.starts_with("level: L0, the same text, ignoring headers, FLAG 0x400, NM\n"), "{said}");
}

#[test]
fn reference_sequences_are_compared_by_name() {
    let swapped = "@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:chr2\tLN:500\n@SQ\tSN:chr1\tLN:1000\n";
    let reads = ["a 0 chr1 10 10M", "b 1024 chr1 10 10M"];
    let (a, b) = (sam(HEADER, &reads), sam(swapped, &reads));
    level(&["--ignore-header"], &a, &b, "L0");
    level(&[], &a, &b, "L3");
    let elsewhere = sam(swapped, &["a 0 chr2 10 10M", "b 1024 chr2 10 10M"]);
    level(&["--ignore-header"], &a, &elsewhere, "different");
}

#[test]
fn the_width_of_integers_does_not_show() {
    // SAM to BAM makes the narrowest integer; this BAM holds NM as a 32-bit one.
    let text = sam(HEADER, &["a 0 chr1 10 10M NM:i:5"]);
    let wide = bam(&text, b"NMi\x05\0\0\0");
    let dir = tempfile::tempdir().unwrap();
    let (a, b) = (dir.path().join("a.sam"), dir.path().join("b.bam"));
    std::fs::write(&a, text).unwrap();
    std::fs::write(&b, wide).unwrap();
    assert_eq!(compare(&[], [&a, &b]).status.code(), Some(0));
}

/// The one read of `text` as BAM, with these optional fields.
fn bam(text: &str, fields: &[u8]) -> Vec<u8> {
    let header = &text.as_bytes()[..HEADER.len()];
    let mut bytes = b"BAM\x01".to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    bytes.extend(2u32.to_le_bytes());
    for (name, length) in [(b"chr1\0", 1000u32), (b"chr2\0", 500)] {
        bytes.extend(5u32.to_le_bytes());
        bytes.extend(name);
        bytes.extend(length.to_le_bytes());
    }
    let mut record = Vec::new();
    record.extend(0i32.to_le_bytes()); // ref_id
    record.extend(9i32.to_le_bytes()); // pos
    record.extend([2, 60, 0, 0, 1, 0, 0, 0]); // l_read_name, mapq, bin, n_cigar_op, flag
    record.extend(10u32.to_le_bytes());
    record.extend([0xff; 8]); // next_ref_id, next_pos
    record.extend([0; 4]); // tlen
    record.extend(b"a\0");
    record.extend((10u32 << 4).to_le_bytes());
    record.extend([0x12, 0x48, 0x12, 0x48, 0x12]);
    record.extend([b'I' - 33; 10]);
    record.extend(fields);
    bytes.extend((record.len() as u32).to_le_bytes());
    bytes.extend(record);
    [block(&bytes), block(b"")].concat()
}

/// A stored BGZF block; without data, the EOF block.
fn block(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0".to_vec();
    }
    let size = bytes.len() as u16;
    let mut block = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0".to_vec();
    block.extend((18 + 5 + size + 8 - 1).to_le_bytes());
    block.push(1); // the last deflate block, stored
    block.extend(size.to_le_bytes());
    block.extend((!size).to_le_bytes());
    block.extend(bytes);
    let crc = bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 * (crc & 1)))
    });
    block.extend((!crc).to_le_bytes());
    block.extend(u32::from(size).to_le_bytes());
    block
}

#[test]
fn the_order_of_tags_is_l1() {
    let said = t(
        &["a 0 chr1 10 10M NM:i:0 AS:i:9", "b 0 chr1 10 10M"],
        &["a 0 chr1 10 10M AS:i:9 NM:i:0", "b 0 chr1 10 10M"],
        "L1",
    );
    assert!(said.contains("first difference: record 1, in the order of tags"), "{said}");
}

#[test]
fn the_order_of_ties_is_l2() {
    let (a, b, c) = ("a 0 chr1 10 10M NM:i:0 AS:i:9", "b 0 chr1 10 10M", "c 0 chr1 10 10M");
    t(&[a, b, c], &[b, c, a], "L2");
    t(&[a, b], &[b, "a 0 chr1 10 10M AS:i:9 NM:i:0"], "L2");
    t(&["x 0 chr1 5 10M", a, b, "y 0 chr2 1 10M"], &["x 0 chr1 5 10M", b, a, "y 0 chr2 1 10M"], "L2");
}

#[test]
fn other_orders_are_l3() {
    let (forward, reverse) = ("a 0 chr1 10 10M", "b 16 chr1 10 10M");
    let said = t(&[forward, reverse], &[reverse, forward], "L3");
    assert!(said.contains("duplicate sets: the same"), "{said}");
    t(
        &[forward, "b 0 chr1 11 10M", "c 0 chr1 11 10M"],
        &["b 0 chr1 11 10M", forward, "c 0 chr1 11 10M"],
        "L3",
    );
    // Tags, mapping quality and mates are not looked at.
    t(&["a 0 chr1 10 10M NM:i:1"], &["a 0 chr1 10 10M NM:i:2"], "L3");
}

#[test]
fn another_representative_is_l3_and_another_number_of_duplicates_is_different() {
    let (a, b) = ("a 0 chr1 10 10M RG:Z:g1", "b 0 chr1 12 2S8M RG:Z:g1");
    let (dup_a, dup_b) = ("a 1024 chr1 10 10M RG:Z:g1", "b 1024 chr1 12 2S8M RG:Z:g1");
    let said = t(&[a, dup_b], &[dup_a, b], "L3");
    assert!(said.contains("only FLAG differs in 2 of them (only the duplicate bit: 2)"), "{said}");
    assert!(said.contains("record 1, in FLAG"), "{said}");
    let said = t(&[a, dup_b], &[a, b], "different");
    assert!(said.contains("duplicate sets: not the same"), "{said}");
    level(&["--ignore-flag", "0x400"], &sam(HEADER, &[a, dup_b]), &sam(HEADER, &[a, b]), "L0");
    level(&["--ignore-flag", "1024"], &sam(HEADER, &[a, dup_b]), &sam(HEADER, &[dup_a, b]), "L0");
}

#[test]
fn duplicate_sets_are_kept_apart_by_end_strand_and_library() {
    let sets = |other: &str| {
        let other_dup = other.replacen(" 0 ", " 1024 ", 1).replacen(" 16 ", " 1040 ", 1);
        t(&["a 0 chr1 10 10M RG:Z:g1", &other_dup], &["a 1024 chr1 10 10M RG:Z:g1", other], "different");
    };
    sets("b 0 chr1 11 10M RG:Z:g1");
    sets("b 0 chr1 10 1S9M RG:Z:g1");
    sets("b 0 chr1 10 10M RG:Z:g2");
    sets("b 0 chr2 10 10M RG:Z:g1");
    sets("b 16 chr1 1 10M RG:Z:g1");
    // The same text, but the header puts the read into another library.
    let reads = ["a 1024 chr1 10 10M RG:Z:g1"];
    let moved = HEADER.replace("LB:l1", "LB:other");
    level(&[], &sam(HEADER, &reads), &sam(&moved, &reads), "different");
    level(
        &[],
        &sam(HEADER, &["a 0 chr1 10 10M RG:Z:g1"]),
        &sam(&moved, &["a 0 chr1 10 10M RG:Z:g1"]),
        "L3",
    );
}

#[test]
fn missing_reads_and_other_bases_are_different() {
    let (a, b, c) = ("a 0 chr1 10 10M", "b 0 chr1 10 10M", "c 0 chr1 30 10M");
    let said = t(&[a, b, c], &[a, b], "different");
    assert!(said.contains("record 3, where ") && said.contains("b.sam has ended"), "{said}");
    assert!(said.contains("records: 3 in ") && said.contains(", 2 in "), "{said}");
    t(&[a, b, c], &[a, c], "different");
    t(&[a], &[], "different");
    t(&[a, a], &[a], "different");
    t(&[a, a, b], &[a, b, b], "different");
    let text = sam(HEADER, &[a, b, c]);
    let other = text.replacen("IIIIIIIIII", "IIIIIIIIII".replacen('I', "J", 1).as_str(), 1);
    let said = level(&[], &text, &other, "different");
    assert!(said.contains("record 1, in QUAL") && said.contains("QUAL 1"), "{said}");
    t(&[a, b], &[a, "b 512 chr1 10 10M"], "different");
}

#[test]
fn tags_may_be_ignored() {
    let a = sam(HEADER, &["a 0 chr1 10 10M PG:Z:x NM:i:1", "b 0 chr1 10 10M NM:i:1"]);
    let b = sam(HEADER, &["a 0 chr1 10 10M NM:i:1 PG:Z:y", "b 0 chr1 10 10M NM:i:1 DT:Z:LB"]);
    let said = level(&[], &a, &b, "L3");
    assert!(said.contains("DT 1, PG 1"), "{said}");
    level(&["--ignore-tag", "PG", "--ignore-tag", "DT"], &a, &b, "L0");
    level(&["--ignore-tag", "PG"], &a, &b, "L3");
}

#[test]
fn what_cannot_be_read_is_an_error_and_no_difference() {
    let dir = tempfile::tempdir().unwrap();
    let (good, bad) = (dir.path().join("good.sam"), dir.path().join("bad.sam"));
    let text = sam(HEADER, &["a 0 chr1 10 10M", "b 0 chr1 10 10M"]);
    std::fs::write(&good, &text).unwrap();
    std::fs::write(&bad, text.replace("b\t0", "b\tx")).unwrap();
    let out = compare(&[], [&good, &bad]);
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8(out.stderr).unwrap().contains("bad.sam: record 2"));
    assert_eq!(compare(&[], [&good, &dir.path().join("absent")]).status.code(), Some(3));
    assert_eq!(compare(&[], [Path::new("-"), Path::new("-")]).status.code(), Some(1));
    assert_eq!(compare(&["--level", "L9"], [&good, &good]).status.code(), Some(1));
}
