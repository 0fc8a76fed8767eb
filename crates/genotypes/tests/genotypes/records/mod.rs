//! Compares annotations, the confidence in the reference, blocks and the text of records with GATK's.

mod annotations;
mod cases;
mod files;
mod references;

use std::fs;
use std::path::Path;

use annotations::compare_annotations;
use files::compare_files;
use references::compare_references;

/// Returns what a Java program of `tests/oracles/java` printed, without the first line, a remark.
fn read_oracle(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java").join(name);
    fs::read_to_string(path).unwrap().split_once('\n').unwrap().1.to_owned()
}

#[test]
fn annotations_and_lines_equal_those_of_gatk() {
    let count = compare_annotations(&read_oracle("annotations.txt")).unwrap();
    assert!(count >= 300, "{count} results");
}

#[test]
fn confidence_and_blocks_equal_those_of_gatk() {
    let (positions, lines) = compare_references(&read_oracle("references.txt")).unwrap();
    assert!(positions >= 300, "{positions} positions");
    assert!(lines >= 300, "{lines} lines");
}

#[test]
fn files_of_all_modes_equal_those_of_gatk() {
    let count = compare_files(&read_oracle("files.txt")).unwrap();
    assert!(count >= 1000, "{count} lines");
}
