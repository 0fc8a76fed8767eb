//! Invalid records: the message gives the number of the record and the name of the read.

use crate::faults::files::{HEADER, bam, many, record};
use crate::faults::program::TestFolders;

/// Asserts that `sort` and `prep` without steps refuse the file with these words, with any number of threads.
#[track_caller]
fn refused(name: &str, bytes: &[u8], words: &[&str]) {
    let folders = TestFolders::new();
    let input = folders.input(name, bytes);
    let mut said = Vec::new();
    for command in ["sort", "prep", "markdup"] {
        for threads in ["1", "2", "8"] {
            let output = folders.out("x.bam");
            let args =
                [command, input.to_str().unwrap(), "-o", output.to_str().unwrap(), "-q", "-@", threads];
            let ended = folders.readmill(args);
            ended.fails(2, &[&[name], words].concat());
            assert_eq!(folders.left(), [""; 0], "{command}");
            said.push(ended.stderr);
        }
    }
    assert!(said.iter().all(|message| *message == said[0]), "{said:?}");
}

/// A file with one damaged record in the middle.
fn with_bad_record(spoil: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut bad = record("the.culprit", 0, 77, b"NMC\x05XXZhello\0");
    spoil(&mut bad);
    bam(&[many(9_999, 300), bad, many(9_999, 300)].concat())
}

#[test]
fn a_bad_record_is_named_by_number_and_read() {
    let named = "record 10000 (read the.culprit)";
    type Damage = fn(&mut Vec<u8>);
    let cases: [(Damage, &str); 9] = [
        (|r| r[4] = 2, "reference sequence is not in the header"),
        (|r| r[4..8].fill(0x80), "reference sequence is not in the header"),
        (|r| r[24] = 9, "reference sequence is not in the header"),
        (|r| r[8..12].fill(0x90), "position is negative"),
        (|r| r[20..24].fill(0xff), "l_seq is negative"),
        (|r| r[20] = 200, "shorter than its name, CIGAR, SEQ and QUAL"),
        (|r| r[17] = 100, "shorter than its name, CIGAR, SEQ and QUAL"),
        (|r| *r.last_mut().unwrap() = b'!', "optional fields are malformed"),
        (
            |r| {
                let at = r.len() - 11;
                r[at + 4] = b'q'
            },
            "optional fields are malformed",
        ),
    ];
    for (spoil, words) in cases {
        refused("bad.bam", &with_bad_record(spoil), &[named, words]);
    }
}

#[test]
fn a_record_whose_name_is_damaged_is_named_by_number() {
    for length in [0, 5, 200] {
        let bytes = with_bad_record(|r| r[12] = length);
        refused("bad.bam", &bytes, &["record 10000", "read name is not terminated"]);
    }
}

#[test]
fn an_absurd_block_size_is_named_by_number() {
    for size in [0u32, 31, 0x8000_0000, u32::MAX] {
        let bytes = with_bad_record(|r| r[..4].copy_from_slice(&size.to_le_bytes()));
        refused("bad.bam", &bytes, &["record 10000", &format!("claims to be {size} bytes")]);
    }
    let bytes =
        bam(&[record("a", 0, 1, b""), 0x7000_0000u32.to_le_bytes().to_vec(), vec![1; 90]].concat());
    refused("bad.bam", &bytes, &["record 2", "ends inside a record"]);
}

#[test]
fn of_two_bad_records_the_first_is_reported() {
    let bad = |name: &str| record(name, 7, 7, b"");
    let bytes = bam(&[many(20_000, 300), bad("first"), many(5_000, 300), bad("second")].concat());
    refused("bad.bam", &bytes, &["record 20001 (read first)"]);
    let mut damaged_later = bytes.clone();
    let late = damaged_later.len() - 3_000;
    damaged_later[late] ^= 0xff;
    refused("bad.bam", &damaged_later, &["record 20001 (read first)"]);
}

#[test]
fn a_bad_line_of_sam_is_named_by_number_and_read() {
    let good = "fine\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
    let cases = [
        ("r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT", "has 10 of the 11 columns"),
        ("r\t0\tchr1\t5\t60\t4Q\t*\t0\t0\tACGT\tIIII", "CIGAR"),
        ("r\t0\tchr1\t5\t60\t3M\t*\t0\t0\tACGT\tIIII", "CIGAR"),
        (
            "r\t0\tchr9\t5\t60\t4M\t*\t0\t0\tACGT\tIIII",
            "reference sequence \"chr9\" is not in the header",
        ),
        ("r\t0\tchr1\tx\t60\t4M\t*\t0\t0\tACGT\tIIII", "POS is \"x\""),
        ("r\t65536\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII", "FLAG is \"65536\""),
        ("r\t0\tchr1\t5\t256\t4M\t*\t0\t0\tACGT\tIIII", "MAPQ is \"256\""),
        ("r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIII", "QUAL"),
        ("r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tNM:i:x", "NM"),
        ("r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\tgarbage", ""),
    ];
    for (line, words) in cases {
        let text = format!("{HEADER}{}{line}\n{good}", good.repeat(30_000));
        refused("x.sam", text.as_bytes(), &["record 30001 (read r)", words]);
    }
}

#[test]
fn reference_sequences_must_be_in_the_header_once() {
    let read = "r\t0\tchr1\t5\t60\t4M\t*\t0\t0\tACGT\tIIII\n";
    let words = ["record 1 (read r)", "\"chr1\" is not in the header"];
    refused("x.sam", format!("@HD\tVN:1.6\n{read}").as_bytes(), &words);
    refused("x.sam", read.as_bytes(), &words);
    let twice = format!("{HEADER}@SQ\tSN:chr1\tLN:7\n{read}");
    refused("x.sam", twice.as_bytes(), &["two @SQ lines share one name", "chr1"]);
}
