//! Compares genotyping with GATK 4.6.2.0, whose results `tests/oracles/java/Genotypes.java` prints.
#![allow(clippy::unwrap_used)]

mod edges;
mod records;
mod replay;

use std::fs;
use std::path::Path;

use readmill_jmath::{CpuMaker, JavaMath, Log10Sums};

fn stored_cases() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java");
    fs::read_to_string(directory.join("genotypes.txt")).unwrap()
}

fn replay_text(text: &str) {
    let sums = Log10Sums::new(JavaMath::of_maker(CpuMaker::Intel).unwrap());
    let replayed = replay::replay_cases(&sums, text);
    println!("{} cases", replayed.cases);
    let first = replayed.differences.first();
    assert!(first.is_none(), "{} cases differ; {first:#?}", replayed.differences.len());
    assert!(replayed.cases > 0);
}

#[test]
fn results_are_those_stored_from_gatk() {
    replay_text(&stored_cases());
}

/// `GENOTYPES` is a file with lines that `Genotypes.java` printed.
#[test]
#[ignore = "needs a file that Genotypes.java printed"]
fn results_are_those_of_a_file() {
    replay_text(&fs::read_to_string(std::env::var("GENOTYPES").unwrap()).unwrap());
}
