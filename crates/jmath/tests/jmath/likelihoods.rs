//! Compares functions on likelihoods with those of GATK, by the hashes that
//! `tests/oracles/java/Likelihoods.java` printed.

use std::fs;

use readmill_jmath::log10_sums::find_max;
use readmill_jmath::phred::{
    PhredTables, QUALITIES, genotype_quality, log10_error, log10_genotype_error, phred_likelihoods,
};
use readmill_jmath::rounding::fast_round;
use readmill_jmath::{CpuMaker, JavaMath, Log10Sums};

use super::oracles;
use super::points::{Draws, bits, hash_results};

/// Number of points that are hashed together.
const SIZE: usize = 2000;

/// Draws a logarithm from -20 to 0; one of 16 is -infinity.
fn draw_logarithm(draws: &mut Draws) -> f64 {
    let draw = draws.next();
    if draw & 15 == 0 {
        return f64::NEG_INFINITY;
    }
    -((draw >> 11) as f64) * (1.0 / (1_u64 << 53) as f64) * 20.0
}

fn qualities(math: JavaMath) -> Vec<u64> {
    let tables = PhredTables::new(math);
    let values =
        |q: u8| [tables.error(q), tables.correct(q), tables.log10_correct(q), log10_error(f64::from(q))];
    (0..QUALITIES as u8).flat_map(values).map(bits).collect()
}

/// Returns all results of an array of likelihoods, whose value at `finite` is finite.
fn results_of_array(sums: &Log10Sums, values: &[f64], finite: usize) -> Vec<u64> {
    let mut normalized = values.to_vec();
    sums.normalize(&mut normalized);
    let pls = phred_likelihoods(values);
    let mut results = vec![bits(sums.sum(values)), find_max(values).unwrap() as u64];
    results.extend(normalized.into_iter().map(bits));
    results.extend(pls.iter().map(|&pl| i64::from(pl) as u64));
    results.push(i64::from(genotype_quality(&pls).unwrap()) as u64);
    results.push(bits(log10_genotype_error(sums.math(), finite, values)));
    results.push(i64::from(fast_round(values[finite] * 3.0)) as u64);
    results
}

#[test]
fn likelihoods_are_those_of_gatk() {
    let math = JavaMath::of_maker(CpuMaker::Intel).unwrap();
    let sums = Log10Sums::new(math);
    let mut text = format!("qualities 0 {:x}\n", hash_results(&qualities(math)));
    for number in 0..2 {
        let mut draws = Draws(number);
        let mut pairs = |add: &dyn Fn(f64, f64) -> f64| {
            let mut pair = || (draw_logarithm(&mut draws), draw_logarithm(&mut draws));
            let results: Vec<u64> = (0..SIZE).map(|_| pair()).map(|(a, b)| bits(add(a, b))).collect();
            hash_results(&results)
        };
        let approximate = pairs(&|a, b| sums.add_approximately(a, b));
        let two = pairs(&|a, b| sums.add(a, b));
        let mut results = Vec::new();
        for i in 0..SIZE {
            let mut values: Vec<f64> = (0..3 + i % 7).map(|_| draw_logarithm(&mut draws)).collect();
            let finite = i % values.len();
            if values[finite].is_infinite() {
                values[finite] = -1.0;
            }
            results.extend(results_of_array(&sums, &values, finite));
        }
        let arrays = hash_results(&results);
        text += &format!("approximate {number} {approximate:x}\ntwo {number} {two:x}\n");
        text += &format!("arrays {number} {arrays:x}\n");
    }
    let stored = fs::read_to_string(oracles().join("likelihoods.txt")).unwrap();
    let (_, stored) = stored.split_once('\n').unwrap();
    assert_eq!(text, stored);
}
