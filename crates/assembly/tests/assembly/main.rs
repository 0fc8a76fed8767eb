//! Compares assemblies with those of GATK 4.6.2.0, which `tests/oracles/java/Assembly.java` printed.
#![allow(clippy::unwrap_used)]

mod events;
mod region_text;

use std::fs;
use std::path::Path;

use readmill_assembly::Assembler;
use readmill_jmath::{CpuMaker, JavaMath};
use region_text::{find_difference, is_input, print_results};

/// Returns what GATK printed, without the first line, which is a remark.
fn read_oracle() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java/assembly.txt");
    fs::read_to_string(path).unwrap().split_once('\n').unwrap().1.to_owned()
}

/// Prints our results for a case of the oracle.
fn print_case(oracle: &str, case: &str) -> String {
    let start = oracle.find(&format!("region {case} ")).unwrap();
    let lines = oracle[start..].lines().take_while(|&line| line != "end");
    let input: Vec<&str> = lines.filter(|line| is_input(line)).collect();
    let mut assembler = Assembler::new(JavaMath::of_maker(CpuMaker::Intel).unwrap());
    print_results(&input, &mut assembler, true).unwrap()
}

/// Returns the lines of results that start with a word.
fn lines_of<'a>(results: &'a str, word: &str) -> Vec<&'a str> {
    results.lines().filter(|line| line.split(' ').next() == Some(word)).collect()
}

#[test]
fn cases_are_assembled_as_by_gatk() {
    let mut assembler = Assembler::new(JavaMath::of_maker(CpuMaker::Intel).unwrap());
    let mut compared = 0;
    assert_eq!(find_difference(&read_oracle(), &mut assembler, &mut compared), None);
    assert_eq!(compared, 44);
}

#[test]
fn cases_use_the_kmer_sizes_they_are_made_for() {
    let oracle = read_oracle();
    for (case, sizes) in [
        ("repeat-of-30", &["35"][..]),
        ("repeat-of-100", &["85"]),
        ("homopolymer", &["65"]),
        ("dinucleotides", &["85"]),
        ("cycle", &["45"]),
        ("cycle-at-all-sizes", &[]),
        ("reference-all-n", &["85"]),
        ("one-vertex", &["10", "25"]),
        ("shorter-than-kmers", &["10", "25"]),
    ] {
        let results = print_case(&oracle, case);
        let graphs = lines_of(&results, "graph");
        let found: Vec<&str> = graphs.iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
        assert_eq!(found, sizes, "{case}");
    }
    let shorter = print_case(&oracle, "shorter-than-kmers");
    assert_eq!(lines_of(&shorter, "graph")[0], "graph 10 FAILED");
    assert_eq!(lines_of(&print_case(&oracle, "as-short-as-kmer"), "error").len(), 1);
}

#[test]
fn cases_have_the_haplotypes_they_are_made_for() {
    let oracle = read_oracle();
    for (case, haplotypes, events) in [
        ("read-with-n", 1, 0),
        ("equal-scores", 4, 2),
        ("over-128-paths", 128, 8),
        ("tail-of-3", 1, 0),
        ("tail-of-4", 2, 1),
        ("tail-of-5", 2, 1),
        ("head-of-3", 1, 0),
        ("head-of-4", 2, 1),
        ("head-of-5", 2, 1),
        ("runs-shorter-than-kmers", 1, 0),
        ("deletion-at-start", 1, 0),
        ("adjacent-snps", 2, 3),
        ("insertion-for-deletion", 2, 3),
        ("nested-deletions", 3, 2),
        ("large-deletion", 2, 1),
        ("large-insertion", 2, 1),
        ("event-in-padding", 2, 1),
        ("shorter-than-30", 1, 0),
    ] {
        let results = print_case(&oracle, case);
        assert_eq!(lines_of(&results, "haplotype").len(), haplotypes, "{case}");
        let mut found = lines_of(&results, "event");
        found.dedup();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found.len(), events, "{case}");
    }
    assert_eq!(lines_of(&print_case(&oracle, "event-in-padding"), "trimmed"), ["trimmed none"]);
    // The haplotypes differ in two bases. Trimming removes one of them.
    let equal = print_case(&oracle, "equal-after-trimming");
    assert_eq!(lines_of(&equal, "haplotype").len(), 4);
    assert_eq!(lines_of(&equal, "trimmed-haplotype").len(), 2);
}

#[test]
fn equal_scores_are_ordered_by_descending_bases() {
    let results = print_case(&read_oracle(), "equal-scores");
    let haplotypes = lines_of(&results, "haplotype");
    let words: Vec<Vec<&str>> = haplotypes.iter().map(|line| line.split(' ').collect()).collect();
    let tied = words.windows(2).find(|pair| pair[0][4] == pair[1][4]).unwrap();
    assert!(tied[0][1] > tied[1][1]);
}
