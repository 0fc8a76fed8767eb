//! Compares results with those of GATK, which `tests/oracles/java/Pairwise.java` prints.
#![allow(clippy::unwrap_used)]

mod case;
mod edges;

use std::fs;
use std::path::Path;

use readmill_pairwise::SmithWaterman;

/// Compares the cases of a file, prints the differences, and returns the number of cases of each.
fn compare_file(path: &Path) -> (usize, usize) {
    let (mut cases, mut different) = (0, 0);
    let mut aligner = SmithWaterman::default();
    for line in fs::read_to_string(path).unwrap().lines().filter(|line| !line.starts_with('#')) {
        let (result, expected) = case::compare_case(&mut aligner, line);
        cases += 1;
        if result != expected {
            different += 1;
            if different <= 10 {
                println!("{line}\n    differs: {result}");
            }
        }
    }
    (cases, different)
}

#[test]
fn a_line_that_is_no_case_differs_from_an_error_of_gatk() {
    let mut aligner = SmithWaterman::default();
    let mut result = |line| case::compare_case(&mut aligner, line).0;
    assert_eq!(result("sw\tACGT\t\t1,-1,-1,-1\tINDEL\terror"), "error");
    assert_eq!(result("turn\t3M\terror"), "no case: unknown function");
    assert_eq!(result("clip\t3M\t1\terror"), "no case: too few columns");
    assert!(result("clip\t3M\tone\t2\tS\terror").starts_with("no case: one: "));
    assert!(result("is_good\t3Y\terror").starts_with("no case: 3Y: "));
}

#[test]
fn results_are_those_stored_from_gatk() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java/pairwise.txt");
    let (cases, different) = compare_file(&path);
    assert!(cases >= 500, "{cases} cases");
    assert_eq!(different, 0);
}

/// `PAIRWISE_CASES` is a file with what the Java program prints.
#[test]
#[ignore = "needs a file of cases"]
fn results_are_those_of_a_file() {
    let path = std::env::var("PAIRWISE_CASES").unwrap();
    let (cases, different) = compare_file(Path::new(&path));
    println!("{cases} cases, {different} different");
    assert_eq!(different, 0);
}
