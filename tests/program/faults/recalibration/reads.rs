//! Reads that cannot be counted, or not be recalibrated: the message names the record and the read.

use readmill_format::{bam, sam};
use readmill_record::Header;

use super::{AGAINST, folders_with, header, is_not_applied, is_not_counted, read, reads, run};
use crate::faults::files;

/// Where the read stands that is spoilt.
const HUNDREDTH: &str = "in/x.sam: record 100 (read bad): ";

#[test]
fn a_read_group_that_the_header_lacks() {
    let folders = folders_with(&read("bad", "chr1", 20, "\tRG:Z:zz"));
    let words = [HUNDREDTH, "read group zz", "@RG line", "--read-group"];
    is_not_counted(&folders, AGAINST, 2, &words);
    is_not_applied(&folders, "", 2, &[HUNDREDTH, "the header lacks the read group zz"]);
    let allowed = "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam --allow-missing-read-group";
    run(&folders, allowed).succeeds();
    assert!(folders.lines(&folders.out("x.bam"))[99].contains(&"I".repeat(20)), "it stays as it is");
}

#[test]
fn a_read_group_that_the_table_lacks() {
    let folders = folders_with(&read("bad", "chr1", 20, "\tRG:Z:g2"));
    let words = [HUNDREDTH, "lacks the read group g2", "u2", "--allow-missing-read-group"];
    is_not_applied(&folders, "", 2, &words);
    let allowed = "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam --allow-missing-read-group";
    run(&folders, allowed).succeeds();
    assert!(folders.lines(&folders.out("x.bam"))[99].contains(&"I".repeat(20)), "it stays as it is");
}

#[test]
fn a_header_without_read_groups() {
    let folders = folders_with("");
    folders.input("x.sam", header().replace("@RG", "@CO") + &reads());
    let words = ["in/x.sam: ", "the header has no read group", "--read-group"];
    is_not_counted(&folders, AGAINST, 2, &words);
    is_not_applied(&folders, "", 2, &words);
}

#[test]
fn a_read_without_read_group_is_left_alone() {
    let folders = folders_with(&read("bad", "chr1", 20, ""));
    let all = format!("prep in/x.sam --bqsr {AGAINST} --bqsr-table out/table -o out/x.bam");
    run(&folders, &all).succeeds();
    assert!(folders.lines(&folders.out("x.bam"))[99].contains(&"I".repeat(20)));
    let tables =
        ["out/table", "in/table"].map(|name| std::fs::read(folders.out("..").join(name)).unwrap());
    assert!(tables[0] == tables[1], "it is not counted");
    run(&folders, &(all + " --gatk-drop-malformed")).succeeds();
    assert_eq!(folders.lines(&folders.out("x.bam")).len(), 99);
}

#[test]
fn a_read_of_more_cycles_than_are_counted() {
    let folders = folders_with(&read("bad", "chr1", 60, "\tRG:Z:g1"));
    let words = [HUNDREDTH, "60 cycles", "50", "--maximum-cycle-value"];
    is_not_counted(&folders, &format!("{AGAINST} --maximum-cycle-value 50"), 2, &words);
    let table = std::fs::read_to_string(folders.out("../in/table")).unwrap();
    folders.input(
        "table",
        table.replace("maximum_cycle_value         500", "maximum_cycle_value         50 "),
    );
    is_not_applied(&folders, "", 2, &words);
}

#[test]
fn original_qualities_of_another_length() {
    let folders = folders_with(&read("bad", "chr1", 20, "\tRG:Z:g1\tOQ:Z:II"));
    let words = [HUNDREDTH, "OQ has 2 qualities for 20 bases", "--use-original-qualities"];
    is_not_counted(&folders, &format!("{AGAINST} --use-original-qualities"), 2, &words);
    is_not_applied(&folders, "--use-original-qualities", 2, &words);
    run(&folders, "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam").succeeds();
}

#[test]
fn qualities_of_insertions_and_deletions_of_another_length() {
    for tag in ["BI", "BD"] {
        let folders = folders_with(&read("bad", "chr1", 20, &format!("\tRG:Z:g1\t{tag}:Z:II")));
        let flags = format!("{AGAINST} --compute-indel-bqsr-tables");
        is_not_counted(&folders, &flags, 2, &[HUNDREDTH, tag, "remove or correct the field"]);
        run(&folders, "bqsr apply in/x.sam --bqsr-table in/table -o out/x.bam").succeeds();
    }
}

#[test]
fn qualities_beyond_93() {
    for quality in [94, 200, 254] {
        let folders = folders_with("");
        let header = Header::parse(header().as_bytes()).unwrap();
        let mut bytes = Vec::new();
        bam::header::write(&header, &mut bytes).expect("a small header");
        let mut parser = sam::LineParser::new(&header);
        let text = reads() + &read("bad", "chr1", 20, "\tRG:Z:g1");
        text.lines().for_each(|line| parser.parse(line.as_bytes(), &mut bytes).unwrap());
        let at = bytes.len() - "RGZg1\0".len() - 7;
        assert_eq!(bytes[at], 40);
        bytes[at] = quality;
        folders.input("x.sam", files::bgzf(&bytes));
        let shown = format!("quality {quality}");
        let words = [HUNDREDTH, &shown, "93 is the most", "another offset"];
        is_not_counted(&folders, AGAINST, 2, &words);
        is_not_applied(&folders, "", 2, &words);
    }
}

#[test]
fn of_two_bad_reads_the_first_is_reported() {
    let bad = ["bad", "worse"].map(|name| read(name, "chr1", 20, "\tRG:Z:zz")).concat();
    let folders = folders_with(&bad);
    is_not_counted(&folders, AGAINST, 2, &[HUNDREDTH]);
    is_not_applied(&folders, "", 2, &[HUNDREDTH]);
}
