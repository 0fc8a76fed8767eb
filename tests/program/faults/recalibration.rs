//! Recalibration of what is damaged, of another genome or impossible: no table and no output is left.

mod outputs;
mod reads;
mod reference;
mod sites;
mod tables;
mod twice;
mod wishes;

use crate::faults::program::{Ended, TestFolders};

/// Names and lengths of the contigs of [`header`].
const CONTIGS: [(&str, usize); 2] = [("chr1", 400), ("chr2", 200)];

/// The reference and the known sites.
const AGAINST: &str = "--reference in/ref.fa --known-sites in/known.vcf";

/// Two read groups, of which one has reads.
fn header() -> String {
    let contigs = CONTIGS.map(|(name, length)| format!("@SQ\tSN:{name}\tLN:{length}\n")).concat();
    format!("@HD\tVN:1.6\n{contigs}@RG\tID:g1\tPU:u1\tSM:s\n@RG\tID:g2\tPU:u2\tSM:s\n")
}

/// The bases of a contig.
fn bases(contig: &str) -> String {
    let (salt, length) = CONTIGS.iter().find(|it| it.0 == contig).map(|it| (it.1 / 200, it.1)).unwrap();
    let letter = |i: usize| b"ACGT"[(i * i * 31 + i * 7 + salt) / 5 % 4] as char;
    (0..length).map(letter).collect()
}

/// The reference, 50 bases a line, with this number of bases of each contig.
fn fasta(contigs: &[(&str, usize)]) -> String {
    let lines = |text: &str| {
        let lines = text.as_bytes().chunks(50).map(|line| String::from_utf8_lossy(line) + "\n");
        lines.collect::<String>()
    };
    contigs.iter().map(|(name, n)| format!(">{name}\n{}", lines(&bases(name)[..*n]))).collect()
}

/// A VCF file with these records.
fn vcf(records: &str) -> String {
    let contigs =
        CONTIGS.map(|(name, length)| format!("##contig=<ID={name},length={length}>\n")).concat();
    format!("##fileformat=VCFv4.2\n{contigs}#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n{records}")
}

/// Two known sites.
const SITES: &str = "chr1\t30\t.\tA\tC\t.\t.\t.\nchr1\t90\t.\tA\tC\t.\t.\t.\n";

/// A read of `n` bases at the start of `contig`, with these fields.
fn read(name: &str, contig: &str, n: usize, fields: &str) -> String {
    let (seq, qual) = (&bases(contig)[4..4 + n], "I".repeat(n));
    format!("{name}\t0\t{contig}\t5\t60\t{n}M\t*\t0\t0\t{seq}\t{qual}{fields}\n")
}

/// Ninety-nine reads of 20 bases of the first read group.
fn reads() -> String {
    let line = |i: usize| {
        let (pos, seq) = (1 + i * 3, &bases("chr1")[i * 3..i * 3 + 20]);
        format!("r{i}\t0\tchr1\t{pos}\t60\t20M\t*\t0\t0\t{seq}\t{}\tRG:Z:g1\n", "5:?DI".repeat(4))
    };
    (0..99).map(line).collect()
}

/// Test folders with reads followed by this one, a reference, known sites, and a table at `in/table` of only the
/// ninety-nine reads.
fn folders_with(line: &str) -> TestFolders {
    let folders = TestFolders::new();
    folders.input("x.sam", header() + &reads());
    folders.input("ref.fa", fasta(&CONTIGS));
    folders.input("known.vcf", vcf(SITES));
    run(&folders, &format!("bqsr table in/x.sam {AGAINST} -o in/table -q")).succeeds();
    folders.input("x.sam", header() + &reads() + line);
    folders
}

fn folders() -> TestFolders {
    folders_with("")
}

fn run(folders: &TestFolders, words: &str) -> Ended {
    folders.readmill(words.split_whitespace())
}

/// Asserts that a run ends with `code` and these words, without output.
#[track_caller]
fn refused(folders: &TestFolders, args: &str, code: i32, words: &[&str]) {
    run(folders, args).fails(code, words);
    assert_eq!(folders.left(), [""; 0], "{args}");
}

/// Asserts that all ways of counting end with `code` and these words, without output. `flags` name the reference and
/// the sites.
#[track_caller]
fn is_not_counted(folders: &TestFolders, flags: &str, code: i32, words: &[&str]) {
    for way in [
        "bqsr table in/x.sam -o out/table",
        "prep in/x.sam --bqsr --bqsr-table out/table --bqsr-after-table out/after -o out/x.bam",
        "prep in/x.sam --bqsr-table-only --bqsr-table out/table -o out/x.bam",
        "prep in/x.sam --bqsr --bqsr-table out/table --mark-duplicates --sort coordinate -o out/x.bam",
    ] {
        for threads in [1, 3] {
            refused(folders, &format!("{way} {flags} -@ {threads}"), code, words);
        }
    }
}

/// Asserts that all ways of applying `in/table` end with `code` and these words, without output.
#[track_caller]
fn is_not_applied(folders: &TestFolders, flags: &str, code: i32, words: &[&str]) {
    for way in [
        "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam",
        "prep in/x.sam --bqsr-apply in/table --sort coordinate -o out/x.bam",
    ] {
        for threads in [1, 3] {
            refused(folders, &format!("{way} {flags} -@ {threads}"), code, words);
        }
    }
}

#[test]
fn nothing_is_wrong_with_what_these_tests_spoil() {
    let folders = folders_with(&read("more", "chr2", 60, "\tRG:Z:g2"));
    run(&folders, &format!("bqsr table in/x.sam {AGAINST} -o out/table")).succeeds();
    std::fs::rename(folders.out("table"), folders.out("../in/table")).unwrap();
    run(&folders, "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam").succeeds();
    assert_eq!(folders.left(), ["x.bam"]);
    assert_eq!(folders.lines(&folders.out("x.bam")).len(), 100);
}
