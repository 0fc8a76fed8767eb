//! Compares likelihoods with those of GKL and GATK, which Java programs of `tests/oracles/java` print.
#![allow(clippy::unwrap_used)]

mod edges;
mod engine;
mod regions;
mod tables;

use std::fs;
use std::path::Path;

use engine::compare_engine;
use readmill_likelihoods::{Instructions, PairHmm};
use regions::{KERNELS, compare_regions};

fn read_oracle(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracles/java").join(name);
    fs::read_to_string(path).unwrap()
}

/// Compares the kernels by each of these instructions.
fn compare_kernels(text: &str, instructions: &[Instructions]) {
    for &instructions in instructions {
        let mut hmms = KERNELS
            .map(|(_, flavour, precision)| PairHmm::with_instructions(flavour, precision, instructions));
        for (comparison, (kernel, ..)) in compare_regions(text, &mut hmms).iter().zip(KERNELS) {
            println!(
                "{instructions:?} {kernel}: {} pairs, {} small",
                comparison.pairs, comparison.small_pairs
            );
            assert_eq!(comparison.first_difference, None, "{instructions:?} {kernel}");
            assert!(comparison.pairs > 0);
        }
    }
}

/// Returns each fourth region, and the lines before the first.
fn take_fourth_regions(text: &str) -> String {
    let mut regions = 0;
    let is_taken = |line: &&str| {
        regions += usize::from(line.starts_with("region "));
        regions % 4 == 0
    };
    text.lines().filter(is_taken).flat_map(|line| [line, "\n"]).collect()
}

/// The two fastest instructions compute all regions. Others share the code of the portable ones, which
/// are slow; they compute a part of them here, and the edge cases in `edges`.
#[test]
fn kernels_return_the_bits_of_gkl() {
    let text = read_oracle("pair_hmm.txt");
    let instructions = Instructions::list_available();
    let (fast, slow) = instructions.split_at(instructions.len().min(2));
    compare_kernels(&text, fast);
    compare_kernels(&take_fourth_regions(&text), slow);
}

#[test]
fn reads_are_treated_like_by_gatk() {
    let comparison = compare_engine(&read_oracle("read_likelihoods.txt"));
    assert_eq!(comparison.first_difference, None);
    assert!(comparison.lines > 0);
}

/// `LIKELIHOODS_FILE` is what `PairHmm.java` printed. Only the two fastest instructions are used, since
/// fused operations in software take hours.
#[test]
#[ignore = "compares a file with many regions"]
fn kernels_return_the_bits_of_gkl_in_file() {
    let text = fs::read_to_string(std::env::var("LIKELIHOODS_FILE").unwrap()).unwrap();
    let instructions = Instructions::list_available();
    compare_kernels(&text, &instructions[..instructions.len().min(2)]);
}

/// `LIKELIHOODS_ENGINE_FILE` is what `ReadLikelihoods.java` printed.
#[test]
#[ignore = "compares a file with many regions"]
fn reads_are_treated_like_by_gatk_in_file() {
    let text = fs::read_to_string(std::env::var("LIKELIHOODS_ENGINE_FILE").unwrap()).unwrap();
    let comparison = compare_engine(&text);
    println!("{} pairs, {} results", comparison.pairs, comparison.lines);
    assert_eq!(comparison.first_difference, None);
    assert!(comparison.lines > 0);
}
