//! One locus of a region, from the events of haplotypes to the call.

use crate::alleles::{Allele, CalledVariant};
use crate::caller::{Caller, Site};
use crate::limits::{max_alleles, remove_excess_alleles};
use crate::marginal::{AlleleLikelihoods, ReadSpan, find_reads_at};
use crate::merge::{HaplotypeEvents, InconsistentReference, merge_events};
use crate::trim::trim_right;

/// The reads of one sample in a region.
#[derive(Clone, Copy, Debug)]
pub struct SampleReads<'a> {
    /// Likelihoods given the haplotypes of the region.
    pub likelihoods: &'a AlleleLikelihoods,
    /// Positions of the reads after their realignment to the best haplotype.
    pub spans: &'a [ReadSpan],
    /// Positions of the reads that were removed before likelihoods were computed.
    pub filtered: &'a [ReadSpan],
}

/// Haplotypes of a region, and the reads of each sample with their likelihoods.
#[derive(Clone, Copy, Debug)]
pub struct GenotypedRegion<'a> {
    /// Index of the contig in the header.
    pub contig: usize,
    /// Number of bases of the contig.
    pub contig_length: u32,
    /// Events of the haplotypes, in the order of the rows of likelihoods.
    pub haplotypes: &'a [HaplotypeEvents<'a>],
    /// Reads of each sample, in the order of their names.
    pub samples: &'a [SampleReads<'a>],
}

/// A call with the reads on which its annotations are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct LocusCall {
    /// The call. [`LocusCall::trim`] must follow its annotation.
    pub variant: CalledVariant,
    /// Alleles of the rows of likelihoods: those of the call, and those that were dropped.
    pub alleles: Vec<Allele>,
    /// Ascending indices of the alleles of the call in `alleles`.
    pub kept_alleles: Vec<usize>,
    /// The evidence of each sample.
    pub samples: Vec<LocusReads>,
    /// Haplotypes that carry an allele of the call.
    pub haplotypes: Vec<usize>,
    has_dropped: bool,
}

/// The reads of one sample at a locus.
#[derive(Clone, Debug, PartialEq)]
pub struct LocusReads {
    /// Indices of reads of the region that were genotyped, ascending.
    pub reads: Vec<usize>,
    /// Indices of removed reads that count for depth only, ascending.
    pub filtered: Vec<usize>,
    /// Likelihoods given [`LocusCall::alleles`], of `reads` and then of `filtered`.
    pub likelihoods: AlleleLikelihoods,
}

impl LocusCall {
    /// Removes the bases that all alleles share at their right end if the call dropped alleles.
    pub fn trim(&mut self) {
        if self.has_dropped {
            trim_right(&mut self.variant);
        }
    }
}

/// Genotypes one locus of a region, like the loop of
/// `HaplotypeCallerGenotypingEngine.assignGenotypeLikelihoods` of GATK 4.6.2.0. The loci of a region
/// are those of [`find_loci`](crate::find_loci), and must be passed in order. Returns `None` if no
/// variant is called there. `reference_base` is the base of the reference at the 1-based `locus`.
///
/// # Errors
/// Two events have different bases of the reference.
pub fn genotype_locus(
    caller: &mut Caller<'_>,
    region: GenotypedRegion<'_>,
    locus: u32,
    reference_base: u8,
) -> Result<Option<LocusCall>, InconsistentReference> {
    let settings = caller.settings();
    let Some(mut merged) = merge_events(locus, reference_base, region.haplotypes)? else {
        return Ok(None);
    };
    let merged_count = merged.alleles.len();
    remove_excess_alleles(&mut merged, region.haplotypes, max_alleles(settings.ploidy));
    let mut samples: Vec<LocusReads> = Vec::with_capacity(region.samples.len());
    for sample in region.samples {
        let find = |spans| find_reads_at(merged.start, merged.end, region.contig_length, spans);
        let reads = find(sample.spans);
        let likelihoods = sample.likelihoods.marginalize(&merged.haplotypes, &reads);
        samples.push(LocusReads { reads, filtered: find(sample.filtered), likelihoods });
    }
    if settings.reference_confidence {
        merged.alleles.push(Allele::NonReference);
        samples.iter_mut().for_each(|sample| sample.likelihoods.add_non_reference());
    }
    let pls: Vec<Vec<i32>> = samples.iter().map(|sample| caller.find_pls(&sample.likelihoods)).collect();
    let (contig, start, end) = (region.contig, merged.start, merged.end);
    let Some(call) = caller.call(Site { contig, start, end, alleles: &merged.alleles }, &pls) else {
        return Ok(None);
    };
    let is_changed = call.kept_alleles.len() != merged.alleles.len();
    for sample in &mut samples {
        if is_changed && settings.reference_confidence {
            let kept_alleles: Vec<bool> =
                (0..merged.alleles.len()).map(|index| call.kept_alleles.contains(&index)).collect();
            sample.likelihoods.update_non_reference(&kept_alleles);
        }
        sample.likelihoods.append_filtered_reads(sample.filtered.len());
    }
    let carriers = call.kept_alleles.iter().filter_map(|&index| merged.haplotypes.get(index)).flatten();
    Ok(Some(LocusCall {
        has_dropped: call.kept_alleles.len()
            != merged_count + usize::from(settings.reference_confidence),
        haplotypes: carriers.copied().collect(),
        variant: call.variant,
        kept_alleles: call.kept_alleles,
        alleles: merged.alleles,
        samples,
    }))
}
