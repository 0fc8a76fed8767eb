//! Likelihoods of genotypes, from those of reads.

use readmill_jmath::Log10Sums;

use crate::genotype_list::{AlleleCopies, GenotypeList};
use crate::marginal::AlleleLikelihoods;

/// Returns the decimal logarithms of the probabilities of all reads given each genotype, like
/// `GenotypeLikelihoodCalculator` of GATK 4.6.2.0. `genotypes` lists those of at least the alleles
/// of `reads`.
///
/// ```
/// use readmill_genotypes::{GenotypeList, AlleleLikelihoods, genotype_likelihoods};
/// use readmill_jmath::{JavaMath, Log10Sums};
///
/// let sums = Log10Sums::new(JavaMath::of_this_processor());
/// let genotypes = GenotypeList::new(sums.math(), 2, 2);
/// let reads = AlleleLikelihoods::new(2, 1, vec![-1.0, -1.0]);
/// let likelihoods = genotype_likelihoods(&sums, &genotypes, &reads);
/// assert_eq!(likelihoods.len(), 3);
/// assert!((likelihoods[1] + 1.0).abs() < 1e-4);
/// ```
pub fn genotype_likelihoods(
    sums: &Log10Sums,
    genotypes: &GenotypeList,
    reads: &AlleleLikelihoods,
) -> Vec<f64> {
    let ploidy = genotypes.ploidy();
    let log10_ploidy = sums.math().log10(ploidy as f64);
    let mut mixtures = None;
    let likelihood = |genotype| match genotypes.components(genotype) {
        [only] => reads.row(only.allele).iter().fold(0.0, |sum, value| sum + value),
        [first, second] => mix_two(sums, reads, *first, *second) - reads.reads() as f64 * log10_ploidy,
        components => {
            let mixtures = mixtures.get_or_insert_with(|| Mixtures::new(sums, reads));
            let sum = mixtures.mix(sums, components);
            sum - reads.reads() as f64 * log10_ploidy + mixtures.log10_scale
        }
    };
    (0..genotypes.count(reads.alleles())).map(likelihood).collect()
}

/// Sums over reads the approximate logarithms of the sums over two alleles.
fn mix_two(
    sums: &Log10Sums,
    reads: &AlleleLikelihoods,
    first: AlleleCopies,
    second: AlleleCopies,
) -> f64 {
    let log10_first = sums.math().log10(first.count as f64);
    let log10_second = sums.math().log10(second.count as f64);
    let pairs = reads.row(first.allele).iter().zip(reads.row(second.allele));
    pairs.fold(0.0, |sum, (a, b)| sum + sums.add_approximately(a + log10_first, b + log10_second))
}

/// Probabilities of reads relative to their best allele, for genotypes of three or more alleles.
struct Mixtures {
    relative: Vec<f64>,
    reads: usize,
    /// Sum of the logarithms of the best probabilities of reads.
    log10_scale: f64,
    by_read: Vec<f64>,
}

impl Mixtures {
    fn new(sums: &Log10Sums, reads: &AlleleLikelihoods) -> Self {
        let mut maxima = vec![f64::NEG_INFINITY; reads.reads()];
        for allele in 0..reads.alleles() {
            for (max, &value) in maxima.iter_mut().zip(reads.row(allele)) {
                // FastMath.max returns NaN if either value is NaN.
                if value > *max || value.is_nan() {
                    *max = value;
                }
            }
        }
        let rows = (0..reads.alleles()).flat_map(|allele| reads.row(allele).iter().zip(&maxima));
        let relative = rows.map(|(value, max)| sums.math().pow(10.0, value - max)).collect();
        let log10_scale = maxima.iter().fold(0.0, |sum, max| sum + max);
        Mixtures { relative, reads: reads.reads(), log10_scale, by_read: vec![0.0; reads.reads()] }
    }

    fn mix(&mut self, sums: &Log10Sums, components: &[AlleleCopies]) -> f64 {
        self.by_read.fill(0.0);
        for component in components {
            let row = &self.relative[component.allele * self.reads..][..self.reads];
            for (sum, value) in self.by_read.iter_mut().zip(row) {
                *sum += component.count as f64 * value;
            }
        }
        self.by_read.iter().fold(0.0, |sum, &value| sum + sums.math().log10(value))
    }
}
