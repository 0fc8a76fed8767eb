//! Heterozygosity of samples: `ExcessHet` and `InbreedingCoeff`.

use readmill_jmath::Log10Sums;
use readmill_jmath::phred::log10_likelihoods;
use readmill_jmath::rounding::fast_round;

use crate::alleles::SampleGenotype;

/// Probability below which terms are ignored. GATK reports it for p-values below 10^-59, too.
const MIN_PROBABILITY: f64 = 1.0E-16;
const MIN_P: f64 = 10e-60;

/// Samples from which `InbreedingCoeff` is computed.
const MIN_SAMPLES: usize = 10;

/// Numbers of samples by genotype: reference, heterozygous with the reference, and others. They
/// are fractions if a genotype is not certain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GenotypeCounts {
    /// Samples with the reference only.
    pub reference: f64,
    /// Samples with the reference and another allele.
    pub heterozygous: f64,
    /// Samples without the reference.
    pub variant: f64,
}

impl GenotypeCounts {
    /// Counts the genotypes of diploid samples with PLs, like
    /// `GenotypeUtils.computeDiploidGenotypeCounts` of GATK 4.6.2.0. If `is_rounded`, each sample
    /// counts for its likeliest genotype.
    pub fn new(sums: &Log10Sums, genotypes: &[SampleGenotype], is_rounded: bool) -> Self {
        let mut counts = GenotypeCounts::default();
        for genotype in genotypes.iter().filter(|genotype| is_diploid_with_likelihoods(genotype)) {
            counts.add(sums, &genotype.pls, is_rounded);
        }
        counts
    }

    fn add(&mut self, sums: &Log10Sums, pls: &[i32], is_rounded: bool) {
        let mut probabilities = log10_likelihoods(pls);
        sums.normalize(&mut probabilities);
        probabilities.iter_mut().for_each(|value| *value = sums.math().pow(10.0, *value));
        let Some([reference, heterozygous, variant]) = reduce_to_best_alternate(&probabilities) else {
            self.variant += 1.0;
            return;
        };
        if !is_rounded {
            self.reference += reference;
            self.heterozygous += heterozygous;
            self.variant += variant;
            return;
        }
        self.reference += f64::from(fast_round(reference));
        // Two equal halves would both round up.
        if reference != heterozygous {
            self.heterozygous += f64::from(fast_round(heterozygous));
        }
        if variant != heterozygous {
            self.variant += f64::from(fast_round(variant));
        }
    }
}

/// Returns the probabilities of the reference, and of the likeliest alternate allele once and twice.
/// Returns `None` if the likeliest genotype has no reference. `probabilities` are those of all
/// genotypes in the order of VCF files.
fn reduce_to_best_alternate(probabilities: &[f64]) -> Option<[f64; 3]> {
    if let &[reference, heterozygous, variant] = probabilities {
        return Some([reference, heterozygous, variant]);
    }
    let mut best = 0;
    for (genotype, value) in probabilities.iter().enumerate() {
        if *value > probabilities[best] {
            best = genotype;
        }
    }
    let homozygous = |allele: usize| allele * (allele + 3) / 2;
    let with_reference = |allele: usize| allele * (allele + 1) / 2;
    let alleles = (1..).take_while(|&allele| homozygous(allele) < probabilities.len());
    if best != 0 && !alleles.clone().any(|allele| with_reference(allele) == best) {
        return None;
    }
    let mut alternate = 1;
    for allele in alleles {
        if probabilities[with_reference(allele)] > probabilities[with_reference(alternate)] {
            alternate = allele;
        }
    }
    let chosen = [
        probabilities[0],
        probabilities[with_reference(alternate)],
        probabilities[homozygous(alternate)],
    ];
    let sum = chosen.iter().fold(0.0, |sum, value| sum + value);
    Some(chosen.map(|value| value / sum))
}

fn is_diploid_with_likelihoods(genotype: &SampleGenotype) -> bool {
    genotype.alleles.len() == 2 && !genotype.pls.is_empty()
}

fn is_called(genotype: &SampleGenotype) -> bool {
    genotype.alleles.iter().any(Option::is_some)
}

/// Returns `ExcessHet`: the Phred-scaled p-value of an exact test for more heterozygous samples than
/// expected, like `ExcessHet` of GATK 4.6.2.0. Returns `None` if no called sample is diploid.
pub fn excess_heterozygosity(sums: &Log10Sums, genotypes: &[SampleGenotype]) -> Option<f64> {
    let is_counted = |it: &SampleGenotype| is_called(it) && is_diploid_with_likelihoods(it);
    if !genotypes.iter().any(is_counted) {
        return None;
    }
    let counts = GenotypeCounts::new(sums, genotypes, true);
    let p = test_heterozygotes(
        counts.heterozygous as usize,
        counts.reference as usize,
        counts.variant as usize,
    );
    if p < MIN_P {
        return Some(-10.0 * sums.math().log10(MIN_PROBABILITY));
    }
    // The sum with 0 makes -0.0 positive.
    Some(-10.0 * sums.math().log10(p) + 0.0)
}

/// Returns the probability of at least so many heterozygous samples, given the allele counts.
fn test_heterozygotes(heterozygous: usize, reference: usize, variant: usize) -> f64 {
    let (rare, common) = (reference.min(variant), reference.max(variant));
    let copies = 2 * rare + heterozygous;
    let samples = (heterozygous + common + rare) as f64;
    let mut probabilities = vec![0.0; copies + 1];
    let mode = (copies as f64 * (2.0 * samples - copies as f64) / (2.0 * samples - 1.0)).floor();
    // Of no sample, the mode is 0/-1, which is -0.
    let mut mode = mode as usize;
    if mode % 2 != copies % 2 {
        mode += 1;
    }
    probabilities[mode] = 1.0;
    let mut sum = 1.0;
    let homozygotes = |hets: usize| {
        let rare = (copies - hets) / 2;
        (rare as f64, samples - hets as f64 - rare as f64)
    };
    let mut hets = mode;
    while hets >= 2 {
        let (rare, common) = homozygotes(hets);
        let count = hets as f64;
        let next = probabilities[hets] * count * (count - 1.0) / (4.0 * (rare + 1.0) * (common + 1.0));
        if next < MIN_PROBABILITY {
            break;
        }
        hets -= 2;
        probabilities[hets] = next;
        sum += next;
    }
    hets = mode;
    while hets + 2 <= copies {
        let (rare, common) = homozygotes(hets);
        let count = hets as f64;
        let next = probabilities[hets] * 4.0 * rare * common / ((count + 2.0) * (count + 1.0));
        if next < MIN_PROBABILITY {
            break;
        }
        hets += 2;
        probabilities[hets] = next;
        sum += next;
    }
    let observed = probabilities[heterozygous] / sum;
    if heterozygous == copies {
        return observed.clamp(0.0, 1.0);
    }
    let more = probabilities[heterozygous + 1..].iter().fold(0.0, |sum, value| sum + value);
    (observed + more / sum).clamp(0.0, 1.0)
}

/// Returns `InbreedingCoeff`: 1 minus the number of heterozygous samples relative to the expected
/// one, like `InbreedingCoeff` of GATK 4.6.2.0. Returns `None` if there are fewer than 10 samples.
pub fn inbreeding_coefficient(sums: &Log10Sums, genotypes: &[SampleGenotype]) -> Option<f64> {
    let samples = genotypes.iter().filter(|genotype| is_diploid_with_likelihoods(genotype)).count();
    if samples < MIN_SAMPLES {
        return None;
    }
    let counts = GenotypeCounts::new(sums, genotypes, false);
    let GenotypeCounts { reference, heterozygous, variant } = counts;
    let frequency = (2.0 * reference + heterozygous) / (2.0 * (reference + heterozygous + variant));
    let expected = 2.0 * frequency * (1.0 - frequency) * samples as f64;
    Some(1.0 - (heterozygous / expected))
}
