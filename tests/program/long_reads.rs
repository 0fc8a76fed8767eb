//! Long reads are spilled within the memory. The tested program audits itself: it ends with code 101 if it takes more.

use std::fmt::Write;

use crate::support::resources::number_after;
use crate::support::{TestDir, arg, readmill};

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:100000000\n";

fn long_read(text: &mut String, pos: usize) {
    const BASES: usize = 4_000_000;
    let bases = "ACGT".repeat(BASES / 4);
    writeln!(text, "long{pos}\t0\tc\t{pos}\t60\t{BASES}M\t*\t0\t0\t{bases}\t*").expect("text grows");
}

/// Sorts with so little memory that reads are spilled, and with much.
fn sorted(text: &str, threads: &str, little: &str) {
    let dir = TestDir::new();
    let input = dir.file("in.sam", text);
    let [spilled, whole] = [little, "2G"].map(|memory| {
        let output = dir.path(memory);
        let args = ["sort", &arg(&input), "-O", "bam", "-l1", "-o", &arg(&output), "-@", threads];
        let done = readmill(args.into_iter().chain(["-m", memory]));
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        (std::fs::read(output).expect("the output"), number_after(&done, &["spilled", "in"]))
    });
    assert!(spilled.0 == whole.0, "the bytes depend on the memory");
    assert!(spilled.1 > 0 && whole.1 == 0, "runs: {}, {}", spilled.1, whole.1);
}

#[test]
fn reads_of_four_million_bases_are_spilled_by_eight_threads() {
    let mut text = HEADER.to_string();
    (0..12).for_each(|i| long_read(&mut text, 100 - i));
    for _ in 0..3 {
        sorted(&text, "8", "150M");
    }
}

#[test]
fn short_reads_make_room_for_a_long_one() {
    let mut text = HEADER.to_string();
    let comment = "x".repeat(400);
    for i in 0..120_000 {
        let pos = (i * 7919) % 1_000_000 + 1;
        writeln!(text, "short{i}\t0\tc\t{pos}\t60\t4M\t*\t0\t0\tACGT\tIIII\tXX:Z:{comment}")
            .expect("text grows");
        if i % 50_000 == 40_000 {
            long_read(&mut text, i);
        }
    }
    sorted(&text, "1", "100M");
}
