//! A sequence that a sample may have in a region.

use readmill_pairwise::{
    Cigar, CigarBuilder, CigarError, CigarOperator, ContigSpan, trim_cigar_by_reference,
};

use crate::error::AssemblyError;

/// A haplotype, and how it is aligned to the reference.
#[derive(Clone, Debug)]
pub struct Haplotype {
    /// Upper-case bases, from the first to the last position of `span`.
    pub bases: Vec<u8>,
    /// Whether this is the reference itself.
    pub is_reference: bool,
    /// The alignment to all of `span`.
    pub cigar: Cigar,
    /// Index in [`RegionReference::bases`](crate::RegionReference::bases) of the first reference base.
    pub reference_index: usize,
    /// The reference positions that the haplotype spans.
    pub span: ContigSpan,
    /// Decimal logarithm of the path's probability in the first graph that has it. NaN for the reference.
    pub score: f64,
    /// K-mer size of the first graph that has the path. 0 for the reference.
    pub kmer_size: usize,
}

impl Haplotype {
    /// Returns the part of the haplotype that is aligned to `span`, which must be within the
    /// haplotype's own (GATK 4.6.2.0 `Haplotype.trim`). Returns `None` if an end of `span` is deleted,
    /// or if only an insertion is left.
    ///
    /// # Errors
    /// The CIGAR does not fit.
    pub(crate) fn trim(&self, span: ContigSpan) -> Result<Option<Haplotype>, AssemblyError> {
        let first = (span.start - self.span.start) as usize;
        let last = (span.end - self.span.start) as usize;
        let Some(bases) = self.bases_between(first, last)? else {
            return Ok(None);
        };
        let trimmed = trim_cigar_by_reference(&self.cigar, first..=last)?.cigar;
        let mut elements = &trimmed[..];
        let is_insertion = |operator: CigarOperator| !operator.consumes_reference();
        let drops_first = elements.first().is_some_and(|element| is_insertion(element.operator()));
        let drops_last = elements.last().is_some_and(|element| is_insertion(element.operator()));
        if elements.len() <= usize::from(drops_first) + usize::from(drops_last) {
            return Ok(None);
        }
        elements = &elements[usize::from(drops_first)..elements.len() - usize::from(drops_last)];
        let cigar = normalize(elements, bases.len())?;
        let reference_index = self.reference_index + first;
        let bases = bases.to_vec();
        let (score, kmer_size) = (self.score, self.kmer_size);
        Ok(Some(Haplotype {
            bases,
            is_reference: false,
            cigar,
            reference_index,
            span,
            score,
            kmer_size,
        }))
    }

    /// Returns the bases from the one that is aligned to the reference base `first`, counted from the
    /// start of the span, to that aligned to `last`. Returns `None` if one of them is deleted.
    fn bases_between(&self, first: usize, last: usize) -> Result<Option<&[u8]>, AssemblyError> {
        let (mut reference, mut own) = (0, 0);
        let mut start = None;
        for element in &self.cigar {
            let next = reference + element.reference_length();
            if element.operator().is_alignment() {
                if (reference..next).contains(&first) {
                    start = Some(own + first - reference);
                }
                if let Some(start) = start
                    && (reference..next).contains(&last)
                {
                    return Ok(Some(&self.bases[start..=own + last - reference]));
                }
            } else if (reference..next).contains(&first) || (reference..next).contains(&last) {
                return Ok(None);
            }
            reference = next;
            own += element.read_length();
        }
        Err(CigarError::TooShort { position: last }.into())
    }
}

/// Returns the elements in GATK's normal form, with deletions at the ends.
///
/// # Errors
/// They do not have `length` bases.
pub(crate) fn normalize(
    elements: &[readmill_pairwise::CigarElement],
    length: usize,
) -> Result<Cigar, CigarError> {
    let mut builder = CigarBuilder::keeping_deletions_at_ends();
    builder.add_all(elements.iter().copied())?;
    let cigar = builder.make()?.cigar;
    if cigar.read_length() == length { Ok(cigar) } else { Err(CigarError::ReadLength) }
}
