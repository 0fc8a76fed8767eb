//! Reads of a region with their likelihoods given its haplotypes.

use std::sync::Arc;

use readmill_assembly::Haplotype;
use readmill_genotypes::AlleleLikelihoods;
use readmill_likelihoods::{
    DEFAULT_EXPECTED_ERROR_RATE, DEFAULT_MISMAPPING_RATE, HmmReads, LikelihoodMatrix, PairHmm,
    QualityModel, SequencedRead, alignment_priority,
};
use readmill_pairwise::SmithWaterman;
use readmill_record::Result;
use readmill_regions::CallerRead;

use crate::error::input_error;
use crate::realign::HaplotypeAligner;

/// The reads that are genotyped.
pub(crate) struct Evidence {
    /// Reads, with the alignment to the reference that follows from their best haplotype.
    pub(crate) reads: Vec<Arc<CallerRead>>,
    /// Their likelihoods given the haplotypes.
    pub(crate) likelihoods: AlleleLikelihoods,
}

/// Computes likelihoods, with memory that is kept from region to region.
pub(crate) struct EvidenceModel {
    qualities: QualityModel,
    hmm: PairHmm,
    hmm_reads: HmmReads,
    matrix: LikelihoodMatrix,
    aligner: SmithWaterman,
}

impl EvidenceModel {
    pub(crate) fn new(qualities: QualityModel, hmm: PairHmm) -> Self {
        EvidenceModel {
            qualities,
            hmm,
            hmm_reads: HmmReads::default(),
            matrix: LikelihoodMatrix::default(),
            aligner: SmithWaterman::default(),
        }
    }

    /// Computes the likelihoods of reads, drops those that fit no haplotype, and aligns the others to the
    /// reference as their best haplotype is aligned. `reference_start` is the position to which the haplotypes'
    /// `reference_index` is relative.
    pub(crate) fn compute_evidence(
        &mut self,
        haplotypes: &[Haplotype],
        reference_start: i32,
        mut reads: Vec<Arc<CallerRead>>,
    ) -> Result<Evidence> {
        self.compute_likelihoods(haplotypes, &reads)?;
        let lengths = Vec::from_iter(reads.iter().map(|read| read.len()));
        self.matrix.cap_differences(DEFAULT_MISMAPPING_RATE);
        let dropped = self.matrix.remove_poor_reads(|read| lengths[read], DEFAULT_EXPECTED_ERROR_RATE);
        let mut index = 0;
        reads.retain(|_| {
            index += 1;
            dropped.binary_search(&(index - 1)).is_err()
        });
        self.realign_reads(haplotypes, reference_start, &mut reads)?;
        let values = (0..haplotypes.len()).flat_map(|haplotype| self.matrix.row(haplotype)).copied();
        let likelihoods = AlleleLikelihoods::new(haplotypes.len(), reads.len(), values.collect());
        Ok(Evidence { reads, likelihoods })
    }

    fn compute_likelihoods(
        &mut self,
        haplotypes: &[Haplotype],
        reads: &[Arc<CallerRead>],
    ) -> Result<()> {
        self.hmm_reads.clear();
        for read in reads {
            let sequenced = SequencedRead {
                bases: &read.bases,
                base_qualities: &read.qualities,
                insertion_qualities: read.insertion_qualities.as_deref(),
                deletion_qualities: read.deletion_qualities.as_deref(),
                mapping_quality: read.mapping_quality,
            };
            self.qualities.prepare_read(sequenced, &mut self.hmm_reads).map_err(input_error)?;
        }
        let hmm_reads = Vec::from_iter(self.hmm_reads.iter());
        let bases = Vec::from_iter(haplotypes.iter().map(|haplotype| haplotype.bases.as_slice()));
        self.matrix.compute(&mut self.hmm, &hmm_reads, &bases).map_err(input_error)
    }

    fn realign_reads(
        &mut self,
        haplotypes: &[Haplotype],
        reference_start: i32,
        reads: &mut [Arc<CallerRead>],
    ) -> Result<()> {
        let Some(reference) = haplotypes.iter().find(|haplotype| haplotype.is_reference) else {
            return Ok(());
        };
        let priority = |it: &Haplotype| alignment_priority(it.is_reference, it.cigar.len());
        let priorities = Vec::from_iter(haplotypes.iter().map(priority));
        let aligner =
            HaplotypeAligner::new(haplotypes, &reference.bases, reference_start).map_err(input_error)?;
        for (index, read) in reads.iter_mut().enumerate() {
            let Some(best) = self.matrix.find_best_haplotype(index, Some(&priorities)) else { continue };
            *read = aligner
                .realign(&mut self.aligner, read, best.haplotype)
                .map_err(|error| input_error(error).qname(&read.name))?;
        }
        Ok(())
    }
}
