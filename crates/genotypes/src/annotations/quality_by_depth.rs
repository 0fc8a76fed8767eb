//! `QD`: the quality of a variant relative to the depth of samples that carry it.

use readmill_jmath::JavaRandom;

use crate::alleles::SampleGenotype;

/// `QD` from which GATK draws another one, the mean of the draws, and their standard deviation.
const MAX_PLAUSIBLE: f64 = 35.0;
const DRAWN_MEAN: f64 = 30.0;
const DRAWN_DEVIATION: f64 = 3.0;

/// Returns `QD`, like `QualByDepth` of GATK 4.6.2.0, or `None` if no sample with the variant has a
/// read. `reads` is the number of reads of each sample, for a sample without `AD`.
///
/// Takes a draw of `random` if the ratio is 35 or more.
pub fn quality_by_depth<'g>(
    log10_error: f64,
    genotypes: impl IntoIterator<Item = &'g SampleGenotype>,
    reads: &[usize],
    random: &mut JavaRandom,
) -> Option<f64> {
    let depth = variant_depth(genotypes, reads);
    (depth != 0).then(|| draw_unless_plausible(-10.0 * log10_error / f64::from(depth), random))
}

/// Returns the value, or if it is 35 or more, a draw around 30, like `QualByDepth.fixTooHighQD`.
pub fn draw_unless_plausible(quality_by_depth: f64, random: &mut JavaRandom) -> f64 {
    if quality_by_depth < MAX_PLAUSIBLE {
        quality_by_depth
    } else {
        DRAWN_MEAN + random.next_gaussian() * DRAWN_DEVIATION
    }
}

/// Returns the depth of the samples that carry the variant: of those with two or more alternate
/// reads, if there are any.
fn variant_depth<'g>(genotypes: impl IntoIterator<Item = &'g SampleGenotype>, reads: &[usize]) -> i32 {
    let (mut depth, mut supported_depth) = (0, 0);
    for (genotype, &reads) in
        genotypes.into_iter().zip(reads).filter(|(genotype, _)| is_variant(genotype))
    {
        match genotype.allele_depths.as_deref() {
            Some(depths @ [reference, ..]) if depths.iter().any(|&depth| depth != 0) => {
                let sum: i32 = depths.iter().sum();
                if sum - reference > 1 {
                    supported_depth += sum;
                }
                depth += sum;
            }
            _ => depth += reads as i32,
        }
    }
    if supported_depth > 0 { supported_depth } else { depth }
}

/// Returns whether all chromosomes are called, and not all as the reference.
fn is_variant(genotype: &SampleGenotype) -> bool {
    !genotype.alleles.is_empty()
        && genotype.alleles.iter().all(Option::is_some)
        && genotype.alleles.iter().any(|&allele| allele != Some(0))
}
