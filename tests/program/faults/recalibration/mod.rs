//! Recalibration of what is damaged, of another genome or impossible: no table and no output is left.

mod inputs;
mod tables;

use crate::faults::fixtures::{Ended, TestFolders};

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

#[test]
fn what_does_not_go_together() {
    let folders = folders();
    for (flags, words) in [
        ("--bqsr --bqsr-apply in/table", &["--bqsr", "--bqsr-apply"][..]),
        (
            "--bqsr-table-only --bqsr-table out/t --bqsr-apply in/table",
            &["--bqsr-table-only", "--bqsr-apply"],
        ),
        ("--bqsr --bqsr-bootstrap --sort coordinate", &["--bqsr-bootstrap", "--known-sites"]),
        ("--bqsr --static-quantized-quals 10 --quantize-quals 3", &["--static-quantized-quals"]),
    ] {
        refused(&folders, &format!("prep in/x.sam {AGAINST} -o out/x.bam {flags}"), 1, words);
    }
}

#[test]
fn what_is_missing() {
    let folders = folders();
    for (args, words) in [
        ("prep in/x.sam -o out/x.bam --bqsr --known-sites in/known.vcf", &["--reference"][..]),
        (
            "prep in/x.sam -o out/x.bam --bqsr --reference in/ref.fa",
            &["--known-sites", "--bqsr-bootstrap"],
        ),
        ("prep in/x.sam -o out/x.bam --bqsr-bootstrap --bqsr --sort coordinate", &["--reference"]),
        (
            "prep in/x.sam -o out/x.bam --bqsr --round-down-quantized --reference in/ref.fa",
            &["required"],
        ),
        ("bqsr table in/x.sam --reference in/ref.fa --known-sites in/known.vcf", &["required"]),
        ("bqsr table in/x.sam --known-sites in/known.vcf -o out/t", &["--reference"]),
        ("bqsr apply in/x.sam -o out/x.bam", &["required"]),
        ("bqsr gather -o out/t", &["required"]),
        ("bqsr gather in/table", &["required"]),
        ("bqsr plot-data -o out/t", &["required"]),
    ] {
        refused(&folders, args, 1, words);
    }
    let only = format!("prep in/x.sam {AGAINST} -o out/x.bam --bqsr-table-only");
    refused(&folders, &only, 1, &["required"]);
}

#[test]
fn numbers_that_cannot_be() {
    let folders = folders();
    for flags in [
        "--maximum-cycle-value 0",
        "--maximum-cycle-value 1000001",
        "--mismatches-context-size 0",
        "--mismatches-context-size 14",
        "--indels-context-size 0",
        "--low-quality-tail 94",
        "--quantizing-levels 0",
        "--preserve-qscores-less-than 95",
        "--default-base-qualities 94",
        "--quantize-quals -2",
        "--quantize-quals 95",
        "--static-quantized-quals 94",
        "--static-quantized-quals x",
        "--global-qscore-prior 94",
        "--global-qscore-prior nan",
        "--global-qscore-prior x",
    ] {
        let (flag, value) = flags.split_once(' ').unwrap();
        let args = format!("prep in/x.sam {AGAINST} -o out/x.bam --bqsr {flag}={value}");
        refused(&folders, &args, 1, &[flag, value]);
    }
}

/// No sites are known where reads are compared position by position, for which they must stand in order.
#[test]
fn sites_are_found_in_sorted_reads_alone() {
    let folders = folders();
    let prep = "prep in/x.sam --reference in/ref.fa -o out/x.bam --bqsr --bqsr-bootstrap";
    for order in ["", "--sort queryname", "--sort natural", "--mark-duplicates"] {
        let words = ["sorts the reads by coordinate", "--sort coordinate"];
        refused(&folders, &format!("{prep} {order}"), 1, &words);
    }
    for table in ["--bqsr-table-only --bqsr-table out/t", "--bqsr"] {
        let args = format!("prep in/x.sam --reference in/ref.fa -o out/x.bam --bqsr-bootstrap {table}");
        refused(&folders, &args, 1, &["--sort coordinate"]);
    }
}

/// Flags of recalibration without recalibration would be forgotten in silence.
#[test]
fn how_qualities_are_recalibrated_where_none_are() {
    let folders = folders();
    for flags in [
        "--bqsr-table out/t",
        "--known-sites in/known.vcf",
        "--bqsr-intervals chr1",
        "--bqsr-exclude-intervals chr1",
        "--maximum-cycle-value 600",
        "--emit-original-quals",
        "--use-original-qualities",
        "--quantize-quals 5",
        "--static-quantized-quals 10",
        "--allow-missing-read-group",
        "--bqsr-bootstrap",
    ] {
        let args = format!("prep in/x.sam --sort coordinate -o out/x.bam {flags}");
        refused(&folders, &args, 1, &["--bqsr"]);
    }
    for flags in ["--bqsr-table out/t", "--known-sites in/known.vcf", "--maximum-cycle-value 600"] {
        let args = format!("prep in/x.sam --bqsr-apply in/table -o out/x.bam {flags}");
        refused(&folders, &args, 1, &["no errors are counted", "--bqsr"]);
    }
}

#[test]
fn too_little_memory_names_the_least_that_works() {
    let folders = folders();
    for threads in [1, 3] {
        let run = |memory: &str| {
            let flags = format!("--bqsr --bqsr-table out/t -@ {threads} -m {memory}");
            run(&folders, &format!("prep in/x.sam {AGAINST} -o out/x.bam {flags}"))
        };
        let ended = run("1M");
        let way_out = if threads == 1 { "; raise -m" } else { "; raise -m, or use fewer threads" };
        ended.fails(1, &["needs at least -m", way_out]);
        let min_memory = ended.stderr.split("at least -m ").nth(1).unwrap().split('M').next().unwrap();
        let min_mib: u32 = min_memory.parse().unwrap();
        run(&format!("{}M", min_mib - 1)).fails(1, &["needs at least -m"]);
        assert_eq!(folders.left(), [""; 0]);
        run(&format!("{min_mib}M")).succeeds();
        ["t", "x.bam"].iter().for_each(|name| std::fs::remove_file(folders.out(name)).unwrap());
    }
}
