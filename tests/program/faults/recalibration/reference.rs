//! References that are none, or another one.

use super::{AGAINST, CONTIGS, fasta, folders, folders_with, header, is_not_counted, read, reads, run};
use crate::faults::files::{bgzf, gzip};

/// Asserts that counting refuses this reference (and its index, if any), with these words in the message.
#[track_caller]
fn refused(reference: impl AsRef<[u8]>, index: Option<&str>, words: &[&str]) {
    let folders = folders();
    folders.input("ref.fa", reference);
    index.map(|index| folders.input("ref.fa.fai", index));
    is_not_counted(&folders, AGAINST, 2, words);
}

#[test]
fn a_reference_that_is_not_there() {
    let folders = folders();
    std::fs::remove_file(folders.out("../in/ref.fa")).unwrap();
    is_not_counted(&folders, AGAINST, 3, &["in/ref.fa", "No such file"]);
    std::fs::create_dir(folders.out("../in/ref.fa")).unwrap();
    is_not_counted(&folders, AGAINST, 3, &["in/ref.fa", "directory"]);
}

#[test]
fn a_reference_that_is_none() {
    for text in ["", "no FASTA\n", "ACGT\nACGT\n"] {
        refused(text, None, &["in/ref.fa", "FASTA"]);
    }
    refused(">chr1\nACGT\nACG\nACGT\n", None, &["in/ref.fa", "cannot be indexed", "equally long"]);
    refused(">\nACGT\n", None, &["in/ref.fa", "cannot be indexed", "missing name"]);
    refused(gzip(fasta(&CONTIGS).as_bytes()), None, &["in/ref.fa", "compressed by gzip", "bgzip"]);
    let whole = bgzf(fasta(&CONTIGS).as_bytes());
    for missing in [3, 28, 40, whole.len() / 2] {
        refused(&whole[..whole.len() - missing], None, &["in/ref.fa", "get"]);
    }
}

#[test]
fn a_reference_of_another_genome() {
    let short = fasta(&[("chr1", 390), CONTIGS[1]]);
    refused(short, None, &["in/ref.fa", "chr1 has 390 bases here, but 400", "were aligned"]);
    let renamed = fasta(&CONTIGS).replace(">chr", ">");
    refused(renamed, None, &["in/ref.fa", "no contig in common", "1 here, chr1 in the reads"]);
}

#[test]
fn a_contig_that_the_reference_lacks_matters_where_reads_lie_on_it() {
    let folders = folders_with(&read("bad", "chr2", 20, "\tRG:Z:g1"));
    folders.input("ref.fa", fasta(&CONTIGS[..1]));
    let words =
        ["in/ref.fa", "record 100 (read bad)", "chr2", "is not in the reference", "were aligned"];
    is_not_counted(&folders, AGAINST, 2, &words);
    folders.input("x.sam", header() + &reads());
    let all = format!("prep in/x.sam --bqsr --bqsr-table out/table {AGAINST} -o out/x.bam");
    run(&folders, &all).succeeds();
    // A read that is not counted does not ask for the reference.
    folders.input(
        "x.sam",
        header() + &reads() + &read("low", "chr2", 20, "\tRG:Z:g1").replace("\t60\t", "\t0\t"),
    );
    run(&folders, &all).succeeds();
}

#[test]
fn an_index_of_another_file() {
    let fasta = fasta(&CONTIGS);
    let first = "chr1\t400\t6\t50\t51\n";
    for index in [
        "chr1\t400\t7\t50\t51\nchr2\t200\t420\t50\t51\n",
        "chr1\t400\t6\t60\t61\nchr2\t200\t420\t50\t51\n",
        "chr3\t400\t6\t50\t51\nchr2\t200\t420\t50\t51\n",
    ] {
        let folders = folders();
        folders.input("ref.fa.fai", index);
        let ended = run(&folders, &format!("bqsr table in/x.sam {AGAINST} -o out/table"));
        ended.succeeds();
        assert!(ended.stderr.contains("in/ref.fa.fai does not fit"), "{}", ended.stderr);
        let tables =
            ["out/table", "in/table"].map(|it| std::fs::read(folders.out("..").join(it)).unwrap());
        assert!(tables[0] == tables[1], "{index}");
    }
    let beyond = format!("{first}chr2\t20000\t420\t50\t51\n");
    refused(
        &fasta,
        Some(&beyond),
        &["in/ref.fa", "in/ref.fa.fai", "ends before its contig chr2", "delete it"],
    );
    refused(&fasta, Some("nonsense\n"), &["in/ref.fa.fai", "not a .fai index", "samtools faidx"]);
    refused(&fasta, Some("chr1\t400\t6\t50\t0\n"), &["in/ref.fa.fai", "samtools faidx"]);
}
