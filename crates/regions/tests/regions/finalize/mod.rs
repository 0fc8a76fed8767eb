//! Compares finalized reads with those of GATK, which `tests/oracles/java/Finalize.java` prints.

mod case;

use std::fs;
use std::path::Path;

fn compare_file(path: &Path) -> case::Comparison {
    let comparison = case::compare_regions(&fs::read_to_string(path).unwrap()).unwrap();
    for different in comparison.different.iter().take(3) {
        println!("{different}\n");
    }
    comparison
}

#[test]
fn reads_are_those_stored_from_gatk() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java/finalize.txt");
    let comparison = compare_file(&path);
    assert!(comparison.reads >= 300, "{} reads", comparison.reads);
    assert_eq!(comparison.different.len(), 0);
}

/// `FINALIZE_CASES` is a file with what the Java program prints.
#[test]
#[ignore = "needs a file of regions"]
fn reads_are_those_of_a_file() {
    let path = std::env::var("FINALIZE_CASES").unwrap();
    let comparison = compare_file(Path::new(&path));
    let case::Comparison { regions, reads, different } = comparison;
    println!("{regions} regions, {reads} reads, {} different", different.len());
    assert_eq!(different.len(), 0);
}
