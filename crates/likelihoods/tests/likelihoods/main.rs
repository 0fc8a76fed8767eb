//! Compares likelihoods with those of GKL and GATK.
#![allow(clippy::unwrap_used)]

mod regions;

use std::fs::File;
use std::io::{BufRead, BufReader};

use readmill_likelihoods::{Flavour, Instructions, PairHmm, Precision};
use regions::{Region, for_each_region};

/// Prints the first differences, and returns how many likelihoods were compared and how many differ.
fn compare(hmm: &mut PairHmm, region: &Region, what: &str) -> (usize, usize) {
    let (reads, haplotypes) = (region.reads(), region.haplotypes());
    let mut likelihoods = vec![0.0; reads.len() * haplotypes.len()];
    hmm.compute(&reads, &haplotypes, &mut likelihoods).unwrap();
    let mut differences = 0;
    for (index, ours) in likelihoods.iter().enumerate() {
        let expected = region.expected(index);
        if ours.to_bits() != expected.to_bits() {
            differences += 1;
            if differences < 3 {
                println!("{what} {}: {index}: {ours:?}, GKL: {expected:?}", region.name);
            }
        }
    }
    (likelihoods.len(), differences)
}

/// `LIKELIHOODS_FILE` is what `PairHmm.java` printed, and `LIKELIHOODS_FLAVOUR` is its flavour.
#[test]
#[ignore = "compares a file"]
fn file_of_regions() {
    let flavour = match std::env::var("LIKELIHOODS_FLAVOUR").unwrap().as_str() {
        "avx" => Flavour::Avx,
        _ => Flavour::Avx512,
    };
    let precision = match std::env::var("LIKELIHOODS_PRECISION").unwrap_or_default().as_str() {
        "double" => Precision::Double,
        _ => Precision::Mixed,
    };
    for instructions in Instructions::list_available() {
        let file = BufReader::new(File::open(std::env::var("LIKELIHOODS_FILE").unwrap()).unwrap());
        let mut hmm = PairHmm::with_instructions(flavour, precision, instructions);
        let (mut pairs, mut differences) = (0, 0);
        for_each_region(file.lines().map(Result::unwrap), |region| {
            let (compared, different) = compare(&mut hmm, region, &format!("{instructions:?}"));
            pairs += compared;
            differences += different;
        });
        println!("{instructions:?}: {pairs} pairs, {differences} differences");
    }
}
