//! Assembles the haplotypes of a region.

use readmill_jmath::JavaMath;
use readmill_pairwise::{
    AlignmentScores, Cigar, CigarElement, CigarOperator, Overhang, SmithWaterman, align_haplotype,
};

use crate::best_paths::BestPath;
use crate::error::AssemblyError;
use crate::graph_assembly::{GraphOutcome, KmerGraph, assemble_graphs};
use crate::haplotype::{Haplotype, normalize};
use crate::reads::{AssemblyRead, AssemblySequences};
use crate::region_reference::RegionReference;

/// Minimum number of reference bases to which a haplotype is aligned.
const MIN_REFERENCE_LENGTH: usize = 30;

/// Assembles regions one after the other, with buffers that are kept between them.
///
/// ```
/// use readmill_assembly::{Assembler, AssemblyRead, RegionReference};
/// use readmill_pairwise::ContigSpan;
///
/// let reference = b"GATTACATTGCAGCCTTAGACCGATAAGCTAGGCTTACCAGTTCGAACTGATGCATCGTACCTTGA";
/// let mut read = *reference;
/// read[30] = b'C';
/// let qualities = [30; 66];
/// let read = AssemblyRead { bases: &read, qualities: &qualities, sample: 0 };
///
/// let padded_span = ContigSpan { start: 101, end: 166 };
/// let region = RegionReference { bases: reference, start: 101, padded_span };
/// let mut assembler = Assembler::new(readmill_jmath::JavaMath::of_this_processor());
/// let haplotypes = assembler.assemble(&region, &[read, read, read])?;
/// assert_eq!(haplotypes.len(), 2);
/// assert_eq!(haplotypes[0].bases, read.bases);
/// assert!(haplotypes[1].is_reference);
/// # Ok::<(), readmill_assembly::AssemblyError>(())
/// ```
#[derive(Debug)]
pub struct Assembler {
    aligner: SmithWaterman,
    math: JavaMath,
}

impl Assembler {
    /// Creates an assembler. `math` computes the scores of paths, which decide which ones are best.
    pub fn new(math: JavaMath) -> Self {
        Assembler { aligner: SmithWaterman::default(), math }
    }

    /// Returns the haplotypes of a region, in the order of GATK 4.6.2.0
    /// `ReadThreadingAssembler.runLocalAssembly`. One of them is the reference.
    ///
    /// # Errors
    /// GATK throws an exception in this region.
    ///
    /// # Panics
    /// The padded span is not within the bases of `reference`.
    pub fn assemble(
        &mut self,
        reference: &RegionReference<'_>,
        reads: &[AssemblyRead<'_>],
    ) -> Result<Vec<Haplotype>, AssemblyError> {
        let mut haplotypes = Vec::new();
        for graph in self.assemble_graphs(reference, reads)? {
            if let GraphOutcome::Paths(paths) = graph.outcome {
                self.add_paths(&mut haplotypes, reference, paths, graph.kmer_size)?;
            }
        }
        if haplotypes.is_empty() {
            haplotypes.push(reference_haplotype(reference));
        }
        Ok(haplotypes)
    }

    /// Returns the graphs of a region, from which [`assemble`](Self::assemble) makes the haplotypes.
    ///
    /// # Errors
    /// GATK throws an exception in this region.
    ///
    /// # Panics
    /// The padded span is not within the bases of `reference`.
    pub fn assemble_graphs(
        &mut self,
        reference: &RegionReference<'_>,
        reads: &[AssemblyRead<'_>],
    ) -> Result<Vec<KmerGraph>, AssemblyError> {
        let sequences = AssemblySequences::new(reference.padded_bases(), reads);
        assemble_graphs(&sequences, &mut self.aligner, self.math)
    }

    /// Aligns the paths of a graph that are new. The path of the reference is replaced by the
    /// reference haplotype, which follows the paths of the first graph.
    fn add_paths(
        &mut self,
        haplotypes: &mut Vec<Haplotype>,
        reference: &RegionReference<'_>,
        paths: Vec<BestPath>,
        kmer_size: usize,
    ) -> Result<(), AssemblyError> {
        let bases = reference.padded_bases();
        let mut is_reference_found = false;
        for path in paths {
            if path.bases == bases {
                is_reference_found |= bases.len() >= MIN_REFERENCE_LENGTH;
                continue;
            }
            let is_known = |known: &Haplotype| !known.is_reference && known.bases == path.bases;
            if haplotypes.iter().any(is_known) {
                continue;
            }
            if let Some(cigar) = self.align(bases, &path.bases)? {
                haplotypes.push(Haplotype {
                    cigar: normalize(&cigar, path.bases.len())?,
                    bases: path.bases,
                    is_reference: false,
                    reference_index: reference.padding(),
                    span: reference.padded_span,
                    score: path.score,
                    kmer_size,
                });
            }
        }
        let is_any_found = is_reference_found || !haplotypes.is_empty();
        if is_any_found && !haplotypes.iter().any(|haplotype| haplotype.is_reference) {
            haplotypes.push(reference_haplotype(reference));
        }
        Ok(())
    }

    /// Returns the alignment of a haplotype, or `None` if it is left out.
    fn align(&mut self, reference: &[u8], bases: &[u8]) -> Result<Option<Cigar>, AssemblyError> {
        let scores = AlignmentScores::HAPLOTYPE_TO_REFERENCE;
        let cigar = align_haplotype(&mut self.aligner, reference, bases, scores, Overhang::SoftClip)?;
        let Some(cigar) = cigar.filter(|cigar| cigar.reference_length() >= MIN_REFERENCE_LENGTH) else {
            return Ok(None);
        };
        let (aligned, expected) = (cigar.reference_length(), reference.len());
        if aligned == expected {
            return Ok(Some(cigar));
        }
        let again = align_haplotype(&mut self.aligner, reference, bases, scores, Overhang::Indel)?;
        match again {
            Some(cigar) if cigar.reference_length() == expected => Ok(None),
            _ => Err(AssemblyError::HaplotypeLength { aligned, expected }),
        }
    }
}

/// Returns the reference as a haplotype.
fn reference_haplotype(reference: &RegionReference<'_>) -> Haplotype {
    let bases = reference.padded_bases().to_vec();
    Haplotype {
        cigar: Cigar::new(vec![CigarElement::new(bases.len(), CigarOperator::Match)]),
        bases,
        is_reference: true,
        reference_index: reference.padding(),
        span: reference.padded_span,
        score: f64::NAN,
        kmer_size: 0,
    }
}
