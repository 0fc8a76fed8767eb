//! Reads the regions that `tests/oracles/java/PairHmm.java` prints, and compares their likelihoods.

use readmill_likelihoods::{Flavour, HmmRead, PairHmm, Precision};

/// GKL's kernels by their names in the text.
pub const KERNELS: [(&str, Flavour, Precision); 4] = [
    ("avx512", Flavour::Avx512, Precision::Mixed),
    ("avx", Flavour::Avx, Precision::Mixed),
    ("avx512-double", Flavour::Avx512, Precision::Double),
    ("avx-double", Flavour::Avx, Precision::Double),
];

/// The reads and haplotypes of a region.
#[derive(Default)]
pub struct Region {
    pub name: String,
    pub haplotypes: Vec<Vec<u8>>,
    /// Bases, and base, insertion, deletion and gap continuation qualities.
    pub reads: Vec<[Vec<u8>; 5]>,
}

/// What was compared.
#[derive(Default)]
pub struct Comparison {
    pub pairs: usize,
    /// Pairs with a likelihood that `f32` cannot hold.
    pub small_pairs: usize,
    pub differences: usize,
    pub first_difference: Option<String>,
}

impl Region {
    fn compute(&self, hmm: &mut PairHmm) -> Vec<f64> {
        let mut reads = Vec::new();
        for [bases, base_qualities, insertion_qualities, deletion_qualities, gap_continuations] in
            &self.reads
        {
            reads.push(HmmRead {
                bases,
                base_qualities,
                insertion_qualities,
                deletion_qualities,
                gap_continuations,
            });
        }
        let haplotypes: Vec<&[u8]> = self.haplotypes.iter().map(Vec::as_slice).collect();
        let mut likelihoods = vec![0.0; reads.len() * haplotypes.len()];
        hmm.compute(&reads, &haplotypes, &mut likelihoods).unwrap();
        likelihoods
    }

    /// Compares likelihoods with those of GKL, which are sorted by read and not by haplotype.
    fn compare(&self, hmm: &mut PairHmm, expected: &[u64], comparison: &mut Comparison) {
        let ours = self.compute(hmm);
        assert_eq!(ours.len(), expected.len());
        for (index, &expected) in expected.iter().enumerate() {
            let (read, haplotype) = (index / self.haplotypes.len(), index % self.haplotypes.len());
            let ours = ours[haplotype * self.reads.len() + read];
            comparison.pairs += 1;
            comparison.small_pairs += usize::from(ours < -28.0 - 36.0);
            if ours.to_bits() != expected {
                comparison.differences += 1;
                comparison.first_difference.get_or_insert_with(|| {
                    let expected = f64::from_bits(expected);
                    format!("{}: read {read}, haplotype {haplotype}: {ours}, GKL: {expected}", self.name)
                });
            }
        }
    }
}

pub fn parse_hex(digits: &str) -> Vec<u8> {
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// Compares the likelihoods of each kernel, in the order of [`KERNELS`], with those in the text.
pub fn compare_regions(text: &str, hmms: &mut [PairHmm; 4]) -> [Comparison; 4] {
    let mut comparisons = <[Comparison; 4]>::default();
    let mut region = Region::default();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        match words.next().unwrap() {
            "region" => region = Region { name: line.to_owned(), ..Region::default() },
            "h" => region.haplotypes.push(words.next().unwrap().into()),
            "r" => {
                let bases = words.next().unwrap().as_bytes().to_vec();
                let mut qualities = || parse_hex(words.next().unwrap());
                region.reads.push([bases, qualities(), qualities(), qualities(), qualities()]);
            }
            "l" => {
                let name = words.next().unwrap();
                let kernel = KERNELS.iter().position(|kernel| kernel.0 == name).unwrap();
                let expected: Vec<u64> =
                    words.map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
                region.compare(&mut hmms[kernel], &expected, &mut comparisons[kernel]);
            }
            _ => panic!("{line}"),
        }
    }
    comparisons
}
