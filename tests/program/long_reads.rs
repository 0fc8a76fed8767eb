//! Long reads are spilled within the memory. The tested program audits itself: it ends with code 101 if it takes more.

use std::fmt::Write;

use crate::support::{ProgramRun, TestDir, arg, readmill};

const HEADER: &str = "@HD\tVN:1.6\n@SQ\tSN:c\tLN:100000000\n";

fn long_read(text: &mut String, pos: usize) {
    const BASES: usize = 4_000_000;
    let bases = "ACGT".repeat(BASES / 4);
    writeln!(text, "long{pos}\t0\tc\t{pos}\t60\t{BASES}M\t*\t0\t0\t{bases}\t*").expect("text grows");
}

/// Sorts with so little memory and with much; returns the summary of the run with little.
fn sorted(text: &str, threads: &str, little: &str) -> String {
    let dir = TestDir::new();
    let input = dir.file("in.sam", text);
    let [spilled, whole] = [little, "2G"].map(|memory| {
        let output = dir.path(memory);
        let args = ["sort", &arg(&input), "-O", "bam", "-l1", "-o", &arg(&output), "-@", threads];
        let ProgramRun { code, stderr, .. } = readmill(args.into_iter().chain(["-m", memory]));
        assert_eq!(code, Some(0), "{stderr}");
        (std::fs::read(output).expect("the output"), stderr)
    });
    assert!(spilled.0 == whole.0, "the bytes depend on the memory");
    spilled.1
}

#[test]
fn reads_of_four_million_bases_are_spilled_by_eight_threads() {
    let mut text = HEADER.to_string();
    (0..12).for_each(|i| long_read(&mut text, 100 - i));
    for _ in 0..3 {
        let summary = sorted(&text, "8", "150M");
        assert!(summary.contains("MiB spilled in "), "{summary}");
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
    let summary = sorted(&text, "1", "100M");
    assert!(summary.contains("MiB spilled in "), "{summary}");
}
