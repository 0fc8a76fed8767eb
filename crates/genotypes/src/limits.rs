//! Limits of the number of alleles, and which alleles stay if there are more.

use std::cmp::Ordering;

use readmill_jmath::JavaPriorityQueue;
use readmill_jmath::log10_sums::find_max;
use readmill_jmath::phred::log10_likelihoods;

use crate::alleles::Allele;
use crate::genotype_list::{GenotypeList, count_genotypes};
use crate::merge::{HaplotypeEvents, LocusAlleles};

/// Maximum number of genotypes that GATK enumerates at a locus, without `<NON_REF>`.
const MAX_GENOTYPES: usize = 1024;

/// Returns the largest number of alleles with at most 1,024 genotypes, like
/// `computeMaxAcceptableAlleleCount`: 44 for two chromosomes.
pub fn max_alleles(ploidy: usize) -> usize {
    let mut alleles = 1;
    while count_genotypes(ploidy, alleles + 1) <= MAX_GENOTYPES {
        alleles += 1;
    }
    alleles
}

/// Removes alternate alleles of low support until at most `max_alleles` are left, like
/// `removeAltAllelesIfTooManyGenotypes`. Scores of haplotypes decide.
pub fn remove_excess_alleles(
    locus: &mut LocusAlleles,
    haplotypes: &[HaplotypeEvents<'_>],
    max_alleles: usize,
) {
    if locus.alleles.len() <= max_alleles {
        return;
    }
    let mut queue = JavaPriorityQueue::new(compare_support);
    for (index, (allele, carriers)) in locus.alleles.iter().zip(&locus.haplotypes).enumerate() {
        let mut scores: Vec<f64> = carriers.iter().map(|&carrier| haplotypes[carrier].score).collect();
        scores.sort_by(f64::total_cmp);
        let mut best = scores.iter().rev().copied().chain([f64::NEG_INFINITY; 2]);
        let scores =
            [best.next().unwrap_or(f64::NEG_INFINITY), best.next().unwrap_or(f64::NEG_INFINITY)];
        queue.add(AlleleSupport { index, allele, scores });
    }
    let mut is_kept = vec![false; locus.alleles.len()];
    for support in std::iter::from_fn(|| queue.poll()).take(max_alleles) {
        is_kept[support.index] = true;
    }
    retain(&mut locus.alleles, &is_kept);
    retain(&mut locus.haplotypes, &is_kept);
}

fn retain<T>(values: &mut Vec<T>, is_kept: &[bool]) {
    let mut is_kept = is_kept.iter();
    values.retain(|_| is_kept.next() == Some(&true));
}

/// An allele with the scores of the best two haplotypes that carry it.
struct AlleleSupport<'a> {
    index: usize,
    allele: &'a Allele,
    scores: [f64; 2],
}

/// Orders by falling support, the reference first. As in GATK, a score that is NaN compares as
/// equal to any best score.
fn compare_support(a: &AlleleSupport<'_>, b: &AlleleSupport<'_>) -> Ordering {
    let ([first, second], [other_first, other_second]) = (a.scores, b.scores);
    match (a.allele.is_reference(), b.allele.is_reference()) {
        (true, false) => return Ordering::Less,
        (false, true) => return Ordering::Greater,
        _ => (),
    }
    if first > other_first {
        Ordering::Less
    } else if first < other_first {
        Ordering::Greater
    } else if second.total_cmp(&other_second) != Ordering::Equal {
        if second > other_second { Ordering::Less } else { Ordering::Greater }
    } else {
        a.allele.cmp(b.allele)
    }
}

/// Returns the ascending indices of the alleles to keep: the reference, `<NON_REF>`, and the
/// `max_alternates` others that the likeliest genotypes of samples support best, like
/// `calculateMostLikelyAlleles`. `pls` has the Phred-scaled likelihoods of each sample.
pub fn find_likeliest_alleles(
    alleles: &[Allele],
    pls: &[Vec<i32>],
    max_alternates: usize,
    genotypes: &GenotypeList,
) -> Vec<usize> {
    let is_alternate = |&index: &usize| index > 0 && alleles[index] != Allele::NonReference;
    let mut alternates: Vec<usize> = (0..alleles.len()).filter(is_alternate).collect();
    if alternates.len() <= max_alternates {
        return (0..alleles.len()).collect();
    }
    let mut sums = vec![0.0; alleles.len()];
    for pls in pls {
        let likelihoods = log10_likelihoods(pls);
        let Some(best) = find_max(&likelihoods) else { continue };
        let gain = (likelihoods[best] - likelihoods[0]).abs();
        for component in genotypes.components(best) {
            sums[component.allele] += gain;
        }
    }
    alternates.sort_by(|&a, &b| sums[b].total_cmp(&sums[a]));
    alternates.truncate(max_alternates);
    (0..alleles.len()).filter(|index| !is_alternate(index) || alternates.contains(index)).collect()
}
