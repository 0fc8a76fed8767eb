//! The call of a site: which alleles are reported, with which confidence and genotypes.

use readmill_jmath::Log10Sums;
use readmill_jmath::phred::phred_likelihoods;

use crate::alleles::{Allele, CalledVariant, SampleGenotype};
use crate::frequency::{AlleleFrequencies, estimate_frequencies};
use crate::genotype_list::GenotypeList;
use crate::likelihoods::genotype_likelihoods;
use crate::limits::find_likeliest_alleles;
use crate::marginal::AlleleLikelihoods;
use crate::subset::{call_genotype, subset_likelihoods};

/// Number of alleles, with reference and `<NON_REF>`, above which htsjdk has no table of genotypes
/// and GATK skips a site.
const MAX_ALLELES: usize = 50;

/// GATK's default of `--max-alternate-alleles`.
const MAX_ALTERNATES: usize = 6;

/// How variants are called.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CallSettings {
    /// Number of chromosomes of each sample, 1 to [`MAX_PLOIDY`](crate::MAX_PLOIDY).
    pub ploidy: usize,
    /// Whether `<NON_REF>` is genotyped, and any allele with some evidence is kept (GVCF).
    pub reference_confidence: bool,
    /// Phred-scaled confidence from which a variant is called without `reference_confidence`.
    pub min_confidence: f64,
}

impl Default for CallSettings {
    /// Two chromosomes, a confidence of 30, and no `<NON_REF>`.
    fn default() -> Self {
        CallSettings { ploidy: 2, reference_confidence: false, min_confidence: 30.0 }
    }
}

/// A site to call.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// Index of the contig in the header.
    pub contig: usize,
    /// 1-based position of the first base of the reference allele.
    pub start: u32,
    /// 1-based position of the last base of the reference allele.
    pub end: u32,
    /// The reference, then the alternate alleles.
    pub alleles: &'a [Allele],
}

/// A called variant and its alleles among those of the site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteCall {
    /// The call. Its alleles are not trimmed.
    pub variant: CalledVariant,
    /// Ascending indices of its alleles among those of the site.
    pub kept_alleles: Vec<usize>,
}

/// Calls sites in order of position, like `GenotypingEngine.calculateGenotypes` of GATK 4.6.2.0.
///
/// It remembers the deletions that it called, because `*` is an allele only inside one of them.
/// So one caller must see all sites of a contig.
///
/// ```
/// use readmill_genotypes::{Allele, CallSettings, Caller, Site};
/// use readmill_jmath::{JavaMath, Log10Sums};
///
/// let sums = Log10Sums::new(JavaMath::of_this_processor());
/// let mut caller = Caller::new(&sums, CallSettings::default());
/// let alleles = [Allele::Reference(b"A".to_vec()), Allele::Alternate(b"T".to_vec())];
/// let site = Site { contig: 0, start: 100, end: 100, alleles: &alleles };
/// let call = caller.call(site, &[vec![600, 0, 500]]).ok_or("no call")?;
/// assert_eq!(call.variant.genotypes[0].alleles, [Some(0), Some(1)]);
/// assert_eq!(call.variant.mle_counts, [1]);
/// assert_eq!(caller.call(site, &[vec![0, 60, 500]]), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Caller<'a> {
    sums: &'a Log10Sums,
    settings: CallSettings,
    genotypes: GenotypeList,
    deletions: CalledDeletions,
}

impl<'a> Caller<'a> {
    /// Creates a caller that has not called any deletion.
    ///
    /// # Panics
    /// The ploidy is out of range.
    pub fn new(sums: &'a Log10Sums, settings: CallSettings) -> Self {
        let genotypes = GenotypeList::new(sums.math(), settings.ploidy, 2);
        Caller { sums, settings, genotypes, deletions: CalledDeletions::default() }
    }

    /// Returns how variants are called.
    pub fn settings(&self) -> CallSettings {
        self.settings
    }

    /// Returns the PLs of the genotypes of one sample, from the likelihoods of its reads.
    pub fn find_pls(&mut self, reads: &AlleleLikelihoods) -> Vec<i32> {
        self.genotypes.extend_to(reads.alleles());
        phred_likelihoods(&genotype_likelihoods(self.sums, &self.genotypes, reads))
    }

    /// Returns the deletions that were called so far and can matter for later sites.
    pub fn deletions(&self) -> &CalledDeletions {
        &self.deletions
    }

    /// Replaces the deletions that were called so far, so that a part of a contig can be called
    /// after the part before it.
    pub fn set_deletions(&mut self, deletions: CalledDeletions) {
        self.deletions = deletions;
    }

    /// Calls a site from the PLs of each sample. Samples are in the order of their names. Returns
    /// `None` if no variant is called there, or if the site has more than 50 alleles.
    ///
    /// # Panics
    /// The number of PLs of a sample is not that of the genotypes.
    pub fn call(&mut self, site: Site<'_>, pls: &[Vec<i32>]) -> Option<SiteCall> {
        if site.alleles.len() > MAX_ALLELES {
            return None;
        }
        self.genotypes.extend_to(site.alleles.len());
        let count = self.genotypes.count(site.alleles.len());
        assert!(pls.iter().all(|pls| pls.len() == count), "{count} PLs are needed for each sample");
        let (candidates, frequencies) = self.estimate(site.alleles, pls);
        let (kept_alleles, mle_counts) = self.choose_alleles(site, &candidates, &frequencies)?;
        let alleles: Vec<Allele> =
            kept_alleles.iter().map(|&index| site.alleles[index].clone()).collect();
        self.deletions.record(site, &alleles);
        let genotypes: Vec<SampleGenotype> =
            pls.iter().map(|pls| self.call_sample(pls, &kept_alleles, &alleles)).collect();
        let variant = CalledVariant {
            contig: site.contig,
            start: site.start,
            end: site.end,
            // The sum with 0 makes -0.0 positive.
            log10_confidence: frequencies.log10_no_variant + 0.0,
            mle_frequencies: find_mle_frequencies(&mle_counts, &genotypes),
            alleles,
            mle_counts,
            genotypes,
        };
        Some(SiteCall { variant, kept_alleles })
    }

    /// Returns the alleles whose frequencies are estimated, at most 6 alternate ones and
    /// `<NON_REF>`, and their frequencies.
    fn estimate(&self, alleles: &[Allele], pls: &[Vec<i32>]) -> (Vec<usize>, AlleleFrequencies) {
        let (sums, genotypes) = (self.sums, &self.genotypes);
        let candidates = find_likeliest_alleles(alleles, pls, MAX_ALTERNATES, genotypes);
        if candidates.len() == alleles.len() {
            return (candidates, estimate_frequencies(sums, genotypes, alleles, pls));
        }
        let subset: Vec<Allele> = candidates.iter().map(|&index| alleles[index].clone()).collect();
        let reduce =
            |pls: &Vec<i32>| phred_likelihoods(&subset_likelihoods(pls, &candidates, genotypes));
        let pls: Vec<Vec<i32>> = pls.iter().map(reduce).collect();
        let frequencies = estimate_frequencies(sums, genotypes, &subset, &pls);
        (candidates, frequencies)
    }

    /// Returns the indices of the alleles that are reported, and the counts of the alternate ones,
    /// like `calculateOutputAlleleSubset`. Returns `None` if the site is not called.
    fn choose_alleles(
        &self,
        site: Site<'_>,
        candidates: &[usize],
        frequencies: &AlleleFrequencies,
    ) -> Option<(Vec<usize>, Vec<i32>)> {
        let is_gvcf = self.settings.reference_confidence;
        let min_confidence = if is_gvcf { 0.0 } else { self.settings.min_confidence };
        let (mut kept_alleles, mut mle_counts, mut is_variant) = (vec![0], Vec::new(), false);
        for (alternate, &index) in candidates[1..].iter().enumerate() {
            let allele = &site.alleles[index];
            if *allele == Allele::SpanningDeletion && !self.deletions.cover(site) {
                continue;
            }
            let is_plausible = frequencies.is_plausible(alternate, min_confidence);
            is_variant |= is_plausible;
            if is_plausible || is_gvcf {
                kept_alleles.push(index);
                mle_counts.push(frequencies.mle_counts[alternate]);
            }
        }
        let is_confident = -10.0 * frequencies.log10_no_variant >= min_confidence;
        let first = kept_alleles.get(1).map(|&index| &site.alleles[index]);
        if !(is_variant && is_confident) && first != Some(&Allele::NonReference) {
            return None;
        }
        let is_only_spanned = kept_alleles.len() == 2 && first == Some(&Allele::SpanningDeletion);
        (!is_only_spanned).then_some((kept_alleles, mle_counts))
    }

    fn call_sample(&self, pls: &[i32], kept_alleles: &[usize], alleles: &[Allele]) -> SampleGenotype {
        let likelihoods = subset_likelihoods(pls, kept_alleles, &self.genotypes);
        call_genotype(self.sums.math(), alleles, &likelihoods, &self.genotypes)
    }
}

/// Returns the count of each alternate allele divided by the number of called chromosomes, at most
/// 1. NaN is 0 divided by 0.
fn find_mle_frequencies(mle_counts: &[i32], genotypes: &[SampleGenotype]) -> Vec<f64> {
    let called = genotypes.iter().flat_map(|it| &it.alleles).flatten().count() as f64;
    let frequency = |&count: &i32| {
        let frequency = f64::from(count) / called;
        if frequency > 1.0 { 1.0 } else { frequency }
    };
    mle_counts.iter().map(frequency).collect()
}

/// The deletions that a [`Caller`] called.
///
/// As in GATK, an allele counts as a deletion if it is shorter than the reference, so `<NON_REF>`,
/// whose length is 0, covers the bases of the reference and one base after them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CalledDeletions(Vec<(usize, u32, u32)>);

impl CalledDeletions {
    /// Returns whether a deletion that starts before the site reaches it.
    fn cover(&self, site: Site<'_>) -> bool {
        let covers = |&(contig, start, end): &(usize, u32, u32)| {
            contig == site.contig && start < site.start && site.start <= end
        };
        self.0.iter().any(covers)
    }

    /// Returns whether the same deletions reach `position` (1-based) of a contig from before it, here and
    /// in `other`.
    pub fn reach_alike(&self, other: &CalledDeletions, contig: usize, position: u32) -> bool {
        let reach = |deletion: &&(usize, u32, u32)| deletion.0 == contig && deletion.2 >= position;
        self.0.iter().filter(reach).eq(other.0.iter().filter(reach))
    }

    /// Adds the deletions of a called site, and forgets those that end before it.
    fn record(&mut self, site: Site<'_>, alleles: &[Allele]) {
        self.0.retain(|&(contig, _, end)| contig == site.contig && end >= site.start);
        let reference = site.alleles[0].length();
        for allele in alleles.iter().filter(|allele| allele.length() < reference) {
            let deleted = (reference - allele.length()) as u32;
            self.0.push((site.contig, site.start, site.start + deleted));
        }
    }
}
