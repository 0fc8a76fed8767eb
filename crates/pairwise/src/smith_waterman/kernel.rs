//! The cells of one anti-diagonal. The same code is compiled for several processors.
#![allow(unsafe_code)] // a function that was compiled for AVX2 is called after a test for AVX2

use super::lane::Lane;
use super::scores::AlignmentScores;

/// A bit of a step: the best score is that of a gap in the reference.
pub(super) const INSERTION: u8 = 1;
/// The best score is that of a gap in the sequence.
pub(super) const DELETION: u8 = 2;
/// A gap in the reference that ends here does not start here.
pub(super) const INSERTION_EXTENDS: u8 = 4;
/// A gap in the sequence that ends here does not start here.
pub(super) const DELETION_EXTENDS: u8 = 8;

/// Cells that are computed together. One register of AVX2 holds 16 scores of 16 bits.
pub(super) const BLOCK: usize = 16;

/// Scores of the type that is computed with.
pub(super) struct LaneScores<L> {
    match_score: L,
    mismatch: L,
    gap_open: L,
    gap_extend: L,
}

impl<L: Lane> LaneScores<L> {
    pub(super) fn new(scores: AlignmentScores) -> LaneScores<L> {
        LaneScores {
            match_score: L::from_score(scores.match_score),
            mismatch: L::from_score(scores.mismatch),
            gap_open: L::from_score(scores.gap_open),
            gap_extend: L::from_score(scores.gap_extend),
        }
    }
}

/// The cells of one anti-diagonal, by increasing column, in whole blocks. The shortest slice decides how
/// many.
pub(super) struct Diagonal<'a, L> {
    pub(super) reference: &'a [u8],
    pub(super) sequence: &'a [u8],
    /// Scores of the cells one column to the left. They are replaced.
    pub(super) insertion: &'a mut [L],
    /// Scores of the cells one row above. They are replaced.
    pub(super) deletion: &'a mut [L],
    /// Best scores of the cells one row above and one column to the left. They are replaced.
    pub(super) best: &'a mut [L],
    pub(super) left: &'a [L],
    pub(super) above: &'a [L],
    pub(super) steps: &'a mut [u8],
}

/// Computes the scores and steps of one anti-diagonal. Of equal scores, a match is preferred to an
/// insertion, and that to a deletion. A gap is extended rather than opened.
#[inline]
pub(super) fn fill_diagonal<L: Lane>(scores: &LaneScores<L>, diagonal: Diagonal<'_, L>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { fill_diagonal_avx2(scores, diagonal) };
    }
    fill_blocks(scores, diagonal);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_diagonal_avx2<L: Lane>(scores: &LaneScores<L>, diagonal: Diagonal<'_, L>) {
    fill_blocks(scores, diagonal);
}

#[inline(always)]
fn fill_blocks<L: Lane>(scores: &LaneScores<L>, diagonal: Diagonal<'_, L>) {
    let blocks = diagonal.best.as_chunks_mut::<BLOCK>().0.iter_mut();
    let gaps = diagonal.insertion.as_chunks_mut::<BLOCK>().0.iter_mut();
    let gaps = gaps.zip(diagonal.deletion.as_chunks_mut::<BLOCK>().0);
    let neighbours = diagonal.left.as_chunks::<BLOCK>().0.iter();
    let neighbours = neighbours.zip(diagonal.above.as_chunks::<BLOCK>().0);
    let bases = diagonal.reference.as_chunks::<BLOCK>().0.iter();
    let bases = bases.zip(diagonal.sequence.as_chunks::<BLOCK>().0);
    let steps = diagonal.steps.as_chunks_mut::<BLOCK>().0;
    for ((((best, gaps), neighbours), bases), steps) in
        blocks.zip(gaps).zip(neighbours).zip(bases).zip(steps)
    {
        fill_block(scores, best, gaps, neighbours, bases, steps);
    }
}

#[inline(always)]
fn fill_block<L: Lane>(
    scores: &LaneScores<L>,
    best: &mut [L; BLOCK],
    (insertion, deletion): (&mut [L; BLOCK], &mut [L; BLOCK]),
    (left, above): (&[L; BLOCK], &[L; BLOCK]),
    (reference, sequence): (&[u8; BLOCK], &[u8; BLOCK]),
    steps: &mut [u8; BLOCK],
) {
    // Steps are of the type of the scores until all are known: that is what compilers vectorize.
    let mut step = [L::default(); BLOCK];
    for lane in 0..BLOCK {
        let opened = left[lane].add(scores.gap_open);
        let extended = insertion[lane].add(scores.gap_extend);
        let in_insertion = opened.max(extended);
        let insertion_step = select(opened > extended, 0, INSERTION_EXTENDS);

        let opened = above[lane].add(scores.gap_open);
        let extended = deletion[lane].add(scores.gap_extend);
        let in_deletion = opened.max(extended);
        let deletion_step: L = select(opened > extended, 0, DELETION_EXTENDS);

        let is_match = L::from_byte(reference[lane]) == L::from_byte(sequence[lane]);
        let score = if is_match { scores.match_score } else { scores.mismatch };
        let aligned = best[lane].add(score).max(L::MIN_SCORE);
        let with_insertion = aligned.max(in_insertion);
        let direction: L = select(in_insertion > aligned, INSERTION, 0);
        let deletes = in_deletion > with_insertion;
        let direction = if deletes { L::from_byte(DELETION) } else { direction };
        insertion[lane] = in_insertion;
        deletion[lane] = in_deletion;
        best[lane] = with_insertion.max(in_deletion);
        step[lane] = direction.add(insertion_step).add(deletion_step);
    }
    for lane in 0..BLOCK {
        steps[lane] = step[lane].to_byte();
    }
}

#[inline(always)]
fn select<L: Lane>(condition: bool, yes: u8, no: u8) -> L {
    if condition { L::from_byte(yes) } else { L::from_byte(no) }
}
