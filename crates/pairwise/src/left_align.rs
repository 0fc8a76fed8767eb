//! Moves insertions and deletions to the left, as far as the bases allow.

use std::ops::Range;

use crate::{BuiltCigar, Cigar, CigarBuilder, CigarElement, CigarError, CigarOperator};
use CigarOperator::{Deletion, Insertion, Match};

/// How far the alleles of [`normalize_alleles`] moved to the left, in bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlleleShift {
    /// Shift of the first base, negative if bases that all alleles share were removed at the start.
    pub start: isize,
    /// Shift of the end, with the bases that were removed there.
    pub end: usize,
}

/// Removes bases that all alleles share at their ends, then moves the alleles to the left while they stay
/// the same variant (GATK 4.6.2.0 `AlignmentUtils.normalizeAlleles` with trimming). `alleles` are ranges of
/// `sequences` and are changed in place.
///
/// The start moves by at most `max_shift` bases.
///
/// ```
/// use readmill_pairwise::normalize_alleles;
///
/// // An A is inserted before the T of GAAT. It may as well be inserted after the G.
/// let sequences: [&[u8]; 2] = [b"GAAT", b"GAAAT"];
/// let mut alleles = [3..3, 3..4];
/// let shift = normalize_alleles(&sequences, &mut alleles, 3)?;
/// assert_eq!(alleles, [1..1, 1..2]);
/// assert_eq!((shift.start, shift.end), (2, 2));
/// # Ok::<(), readmill_pairwise::CigarError>(())
/// ```
///
/// # Errors
///
/// Returns an error if an allele starts before base `max_shift` or ends past its sequence.
pub fn normalize_alleles(
    sequences: &[&[u8]],
    alleles: &mut [Range<usize>],
    max_shift: usize,
) -> Result<AlleleShift, CigarError> {
    if alleles.iter().any(|allele| allele.start < max_shift) {
        return Err(CigarError::ReadLength);
    }
    if sequences.iter().zip(&*alleles).any(|(bases, allele)| bases.len() < allele.end) {
        return Err(CigarError::PastReference);
    }
    let share = |alleles: &[Range<usize>], index: fn(&Range<usize>) -> usize| {
        let mut bases = sequences.iter().zip(alleles).map(|(bases, allele)| bases[index(allele)]);
        let first = bases.next();
        bases.all(|base| Some(base) == first)
    };
    let mut shift = AlleleShift { start: 0, end: 0 };
    let mut shortest = alleles.iter().map(Range::len).min().unwrap_or(0);
    while shortest > 0 && share(alleles, |allele| allele.end - 1) {
        alleles.iter_mut().for_each(|allele| allele.end -= 1);
        shortest -= 1;
        shift.end += 1;
    }
    while shortest > 0 && share(alleles, |allele| allele.start) {
        alleles.iter_mut().for_each(|allele| allele.start += 1);
        shortest -= 1;
        shift.start -= 1;
    }
    while shift.start < max_shift as isize
        && share(alleles, |allele| allele.start - 1)
        && share(alleles, |allele| allele.end - 1)
    {
        alleles.iter_mut().for_each(|allele| *allele = allele.start - 1..allele.end - 1);
        shift.start += 1;
        shift.end += 1;
    }
    Ok(shift)
}

/// Moves the insertions and deletions of a read to the left (GATK 4.6.2.0
/// `AlignmentUtils.leftAlignIndels`).
///
/// `read_start` is the index in `reference` of the first aligned base, 0-based. The bases of `read` are
/// those of the CIGAR, soft clips included. Indels that meet are merged. A deletion that gets to the start of
/// the read is removed and counted in the result. Without indels, the CIGAR is returned as it is.
///
/// ```
/// use readmill_pairwise::{Cigar, left_align_indels};
///
/// let cigar: Cigar = "5M1D2M".parse()?;
/// let aligned = left_align_indels(&cigar, b"GATTTTCA", b"GATTTCA", 0)?;
/// assert_eq!(aligned.cigar.to_string(), "2M1D5M");
/// # Ok::<(), readmill_pairwise::CigarError>(())
/// ```
///
/// # Errors
///
/// Returns an error if the CIGAR and the read differ in length, if an indel lies past the end of the
/// reference, or if nothing is left of the CIGAR.
pub fn left_align_indels(
    cigar: &Cigar,
    reference: &[u8],
    read: &[u8],
    read_start: usize,
) -> Result<BuiltCigar, CigarError> {
    let Some(last_indel) = cigar.iter().rposition(|element| element.operator().is_indel()) else {
        return Ok(BuiltCigar { cigar: cigar.clone(), leading_deletion: 0, trailing_deletion: 0 });
    };
    let needed = cigar[..=last_indel].iter().map(|element| element.reference_length()).sum::<usize>();
    if read_start + needed > reference.len() {
        return Err(CigarError::PastReference);
    }
    let reference_end = read_start + cigar.reference_length();
    let mut aligner = LeftAligner {
        sequences: [reference, read],
        indel: [reference_end..reference_end, read.len()..read.len()],
        elements: Vec::with_capacity(cigar.len() + 4),
    };
    for (index, element) in cigar.iter().enumerate().rev() {
        aligner.take(*element, index == 0)?;
    }
    aligner.finish()
}

/// The state of [`left_align_indels`], which goes from the last element to the first.
struct LeftAligner<'a> {
    /// The reference and the read.
    sequences: [&'a [u8]; 2],
    /// Bases of both in the indel that has not been placed. Both ranges are empty, and are next to the last
    /// element, if there is none.
    indel: [Range<usize>; 2],
    /// The elements of the result, the last one first.
    elements: Vec<CigarElement>,
}

impl LeftAligner<'_> {
    fn take(&mut self, element: CigarElement, is_first: bool) -> Result<(), CigarError> {
        if element.operator().is_indel() {
            self.indel[0].start = subtract(self.indel[0].start, element.reference_length())?;
            self.indel[1].start = subtract(self.indel[1].start, element.read_length())?;
            return Ok(());
        }
        if self.indel.iter().all(Range::is_empty) {
            self.elements.push(element);
            return self.move_left(element.reference_length(), element.read_length());
        }
        self.place_indel(element, is_first)
    }

    /// Moves the indel into `element`, which is left of it.
    fn place_indel(&mut self, element: CigarElement, is_first: bool) -> Result<(), CigarError> {
        let operator = element.operator();
        let max_shift = if operator.is_alignment() { element.length() } else { 0 };
        let shift = normalize_alleles(&self.sequences, &mut self.indel, max_shift)?;
        self.push(shift.end, Match);
        // Bases that both alleles share at their start are matches now.
        let (shifted, trimmed) = (shift.start.max(0) as usize, (-shift.start).max(0) as usize);
        let left = element.length() - shifted;
        if is_first || shift.start < max_shift as isize || !operator.is_alignment() {
            self.push_indel();
            let consumed = CigarElement::new(left, operator);
            self.move_left(trimmed + consumed.reference_length(), trimmed + consumed.read_length())?;
        }
        self.push(trimmed, Match);
        self.push(left, operator);
        Ok(())
    }

    fn push(&mut self, length: usize, operator: CigarOperator) {
        self.elements.push(CigarElement::new(length, operator));
    }

    /// Appends the indel. Both ranges are empty then, and at its start.
    fn push_indel(&mut self) {
        self.push(self.indel[0].len(), Deletion);
        self.push(self.indel[1].len(), Insertion);
        for range in &mut self.indel {
            range.end = range.start;
        }
    }

    fn move_left(&mut self, reference_bases: usize, read_bases: usize) -> Result<(), CigarError> {
        for (range, count) in self.indel.iter_mut().zip([reference_bases, read_bases]) {
            *range = subtract(range.start, count)?..subtract(range.end, count)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<BuiltCigar, CigarError> {
        let read_left = self.indel[1].start;
        // An indel at the very start has no element to the left.
        self.push_indel();
        if read_left > 0 {
            return Err(CigarError::ReadLength);
        }
        let mut builder = CigarBuilder::new();
        builder.add_all(self.elements.into_iter().rev())?;
        builder.make()
    }
}

fn subtract(position: usize, count: usize) -> Result<usize, CigarError> {
    position.checked_sub(count).ok_or(CigarError::ReadLength)
}
