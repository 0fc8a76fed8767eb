//! Aligns reads to the reference as their best haplotype is aligned.

use std::fmt;
use std::sync::Arc;

use readmill_assembly::Haplotype;
use readmill_pairwise::{
    AlignmentError, AlignmentScores, Cigar, CigarBuilder, CigarElement, CigarError, CigarOperator,
    Overhang, SmithWaterman, append_clips, compose_cigars, find_reference_offset, left_align_indels,
    trim_cigar_by_read,
};
use readmill_regions::CallerRead;

/// Matches that GATK appends to a haplotype, so that reads may overhang its end.
const OVERHANG: usize = 1000;

/// Why a read cannot be aligned to its haplotype. GATK throws.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RealignError {
    Alignment(AlignmentError),
    Cigar(CigarError),
}

impl fmt::Display for RealignError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RealignError::Alignment(error) => error.fmt(f),
            RealignError::Cigar(error) => error.fmt(f),
        }
    }
}

impl From<AlignmentError> for RealignError {
    fn from(error: AlignmentError) -> Self {
        RealignError::Alignment(error)
    }
}

impl From<CigarError> for RealignError {
    fn from(error: CigarError) -> Self {
        RealignError::Cigar(error)
    }
}

/// The haplotypes of a region, prepared for the alignment of reads.
pub(crate) struct HaplotypeAligner<'a> {
    haplotypes: &'a [Haplotype],
    reference: &'a [u8],
    /// 1-based position to which [`Haplotype::reference_index`] is relative.
    reference_start: i32,
    /// The alignment of each haplotype, continued by matches.
    extended: Vec<Cigar>,
}

impl<'a> HaplotypeAligner<'a> {
    /// Prepares haplotypes. `reference` are the bases of the one that is the reference, and
    /// `reference_start` is the 1-based position of the base with index 0.
    pub(crate) fn new(
        haplotypes: &'a [Haplotype],
        reference: &'a [u8],
        reference_start: i32,
    ) -> Result<Self, CigarError> {
        let extend = |haplotype: &Haplotype| {
            let mut builder = CigarBuilder::new();
            builder.add_all(haplotype.cigar.iter().copied())?;
            builder.add(OVERHANG, CigarOperator::Match)?;
            builder.make().map(|built| built.cigar)
        };
        let extended = haplotypes.iter().map(extend).collect::<Result<_, _>>()?;
        Ok(HaplotypeAligner { haplotypes, reference, reference_start, extended })
    }

    /// Returns the read with the alignment that its best haplotype gives it (GATK 4.6.2.0
    /// `AlignmentUtils.createReadAlignedToRef`), or the read itself if it fits nowhere.
    pub(crate) fn realign(
        &self,
        aligner: &mut SmithWaterman,
        read: &Arc<CallerRead>,
        haplotype: usize,
    ) -> Result<Arc<CallerRead>, RealignError> {
        let end = read.len() - read.cigar.trailing_soft_clip();
        let bases = &read.bases[read.cigar.leading_soft_clip()..end];
        let best = &self.haplotypes[haplotype];
        let scores = AlignmentScores::READ_TO_HAPLOTYPE;
        let alignment = aligner.align(&best.bases, bases, scores, Overhang::SoftClip)?;
        let Ok(offset) = usize::try_from(alignment.offset) else {
            return Ok(Arc::clone(read));
        };
        let to_haplotype = normalize(&alignment.cigar)?;
        let extended = &self.extended[haplotype];
        let reference_offset = find_reference_offset(extended, offset)?;
        let from_offset = trim_cigar_by_read(extended, offset..=extended.read_length() - 1)?.cigar;
        let composed = compose_cigars(&to_haplotype, &from_offset)?;
        let aligned = left_align_indels(&composed, self.reference, bases, reference_offset)?;
        if aligned.cigar.read_length() != bases.len() {
            return Err(CigarError::ReadLength.into());
        }
        let start = self.reference_start as usize + best.reference_index + reference_offset;
        let mut realigned = CallerRead::clone(read);
        realigned.start = (start + aligned.leading_deletion) as i32;
        realigned.cigar = append_clips(&aligned.cigar, &read.cigar);
        Ok(Arc::new(realigned))
    }
}

fn normalize(elements: &[CigarElement]) -> Result<Cigar, CigarError> {
    let mut builder = CigarBuilder::new();
    builder.add_all(elements.iter().copied())?;
    builder.make().map(|built| built.cigar)
}

#[cfg(test)]
mod tests {
    use readmill_regions::ContigSpan;

    use super::*;

    fn haplotype(bases: &[u8], cigar: &str) -> Haplotype {
        Haplotype {
            bases: bases.to_vec(),
            is_reference: false,
            cigar: cigar.parse().unwrap(),
            reference_index: 2,
            span: ContigSpan { start: 103, end: 118 },
            score: 0.0,
            kmer_size: 10,
        }
    }

    fn realign(haplotype: Haplotype, read: CallerRead) -> (i32, String) {
        let haplotypes = [haplotype];
        let aligner = HaplotypeAligner::new(&haplotypes, b"ACGTTTGCAAGCTTGA", 101).unwrap();
        let read = aligner.realign(&mut SmithWaterman::default(), &Arc::new(read), 0).unwrap();
        (read.start, read.cigar.to_string())
    }

    #[test]
    fn an_indel_of_the_haplotype_becomes_one_of_the_read() {
        let read = |bases: &[u8], cigar: &str| CallerRead {
            start: 104,
            bases: bases.to_vec(),
            qualities: vec![30; bases.len()],
            cigar: cigar.parse().unwrap(),
            ..CallerRead::default()
        };
        let deletion = haplotype(b"ACGTTGCAAGCTTGA", "3M1D12M");
        let aligned = realign(deletion.clone(), read(b"CGTTGCAAG", "4H9M"));
        assert_eq!(aligned, (104, "4H2M1D7M".to_owned()));
        // As in GATK, a read that starts right after a deletion is placed at its start.
        assert_eq!(realign(deletion, read(b"TTGCAAGC", "8M")), (106, "8M".to_owned()));
    }
}
