//! Genotypes of a subset of alleles.

use readmill_jmath::JavaMath;
use readmill_jmath::log10_sums::find_max;
use readmill_jmath::phred::{log10_genotype_error, log10_likelihoods, phred_likelihoods};
use readmill_jmath::rounding::round;

use crate::alleles::{Allele, SampleGenotype};
use crate::genotype_list::GenotypeList;

/// A genotype of only the reference allele is not called if the logarithm of its error is above.
const MAX_NO_CALL: f64 = -0.1;

/// Returns the likelihoods of the genotypes that have only alleles that stay, relative to the best
/// one, as decimal logarithms. `kept_alleles` has the ascending indices of these alleles.
///
/// The values went through integer PLs, as everywhere in GATK.
pub fn subset_likelihoods(pls: &[i32], kept_alleles: &[usize], genotypes: &GenotypeList) -> Vec<f64> {
    let all = log10_likelihoods(pls);
    let mut chromosomes = Vec::with_capacity(genotypes.ploidy());
    let value = |genotype| {
        chromosomes.clear();
        chromosomes.extend(genotypes.chromosomes(genotype).map(|allele| kept_alleles[allele]));
        all[genotypes.index_of(&chromosomes)]
    };
    let mut subset: Vec<f64> = (0..genotypes.count(kept_alleles.len())).map(value).collect();
    let max = subset.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    subset.iter_mut().for_each(|value| *value -= max);
    subset
}

/// Calls the likeliest genotype, the first of equals, like `makeGenotypeCall` with
/// `USE_PLS_TO_ASSIGN`.
///
/// If the genotype has `<NON_REF>`, the reference is called and all PLs are 0. If it is the
/// reference with hardly a better likelihood than another one, nothing is called.
///
/// ```
/// use readmill_genotypes::{Allele, GenotypeList, call_genotype};
/// use readmill_jmath::JavaMath;
///
/// let math = JavaMath::of_this_processor();
/// let genotypes = GenotypeList::new(math, 2, 2);
/// let alleles = [Allele::Reference(b"A".to_vec()), Allele::Alternate(b"T".to_vec())];
/// let genotype = call_genotype(math, &alleles, &[-4.2, 0.0, -3.1], &genotypes);
/// assert_eq!(genotype.alleles, [Some(0), Some(1)]);
/// assert_eq!((genotype.pls, genotype.quality), (vec![42, 0, 31], Some(31)));
/// ```
pub fn call_genotype(
    math: JavaMath,
    alleles: &[Allele],
    likelihoods: &[f64],
    genotypes: &GenotypeList,
) -> SampleGenotype {
    let best = find_max(likelihoods).unwrap_or(0);
    let log10_error = log10_genotype_error(math, best, likelihoods);
    let mut pls = phred_likelihoods(likelihoods);
    let components = genotypes.components(best);
    let has_non_reference = components.iter().any(|it| alleles[it.allele] == Allele::NonReference);
    let called = if has_non_reference {
        pls.fill(0);
        vec![Some(0); genotypes.ploidy()]
    } else if best == 0 && log10_error > MAX_NO_CALL {
        vec![None; genotypes.ploidy()]
    } else {
        genotypes.chromosomes(best).map(Some).collect()
    };
    let quality = Some(round(log10_error * -10.0) as i32);
    SampleGenotype { alleles: called, pls, quality, ..SampleGenotype::default() }
}
