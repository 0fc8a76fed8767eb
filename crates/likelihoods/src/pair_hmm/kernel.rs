//! The recurrences of the pair HMM, for as many pairs of a read and a haplotype as a vector has lanes.
//!
//! Rows are bases of the reads and columns are bases of the haplotypes. The operations on a cell are
//! those of GKL 0.8.11, in its order. Cells depend only on cells of the same pair, so results do not
//! depend on the width of vectors, nor on which pairs share one.

use super::lanes::{Lanes, Real};

/// Probabilities of alignments that end in a cell: with a match, an insertion or a deletion.
#[derive(Clone, Copy)]
struct Cell<V> {
    matched: V,
    inserted: V,
    deleted: V,
}

/// Probabilities of a base of each read.
#[derive(Clone, Copy)]
pub(super) struct Row<V: Lanes> {
    pub match_to_match: V::Array,
    pub insertion_start: V::Array,
    pub deletion_start: V::Array,
    pub gap_continuation: V::Array,
    pub error: V::Array,
    pub bases: V::Bases,
    /// Whether the last base of a read is in this row.
    pub ends_read: bool,
}

/// The operands and results of a kernel for one vector of pairs.
pub(super) struct Group<V: Lanes> {
    /// The rows of the longest read. In rows after the end of a read, its probabilities are 0.
    pub rows: Vec<Row<V>>,
    /// The number of rows of each read.
    pub read_lengths: Vec<usize>,
    /// Bases of the haplotypes. Bases after the end of a haplotype may be any.
    pub columns: Vec<V::Bases>,
    /// The number of columns of each haplotype.
    pub haplotype_lengths: V::Array,
    /// The probability of a deletion before the first base of a read.
    pub initial: V::Array,
    /// Results: probabilities of the reads, multiplied by [`Real::INITIAL`].
    pub likelihoods: V::Array,
    cells: Vec<Cell<V>>,
}

/// Number of rows that are computed together, so that their chains of dependent operations overlap.
pub(super) const BLOCK: usize = 2;

impl<V: Lanes> Group<V> {
    pub(super) fn new() -> Self {
        let zeros = V::splat_array(V::Real::ZERO);
        Group {
            rows: Vec::new(),
            read_lengths: Vec::new(),
            columns: Vec::new(),
            haplotype_lengths: zeros,
            initial: zeros,
            likelihoods: zeros,
            cells: Vec::new(),
        }
    }

    /// Computes `likelihoods`. With `FUSED`, products and sums are rounded together.
    #[inline(always)]
    pub(super) fn compute<const FUSED: bool>(&mut self) {
        let zero = V::splat(V::Real::ZERO);
        let initial = V::load(&self.initial);
        let above = Cell { matched: zero, inserted: zero, deleted: initial };
        self.cells.clear();
        self.cells.resize(self.columns.len(), above);
        let mut corner = above;
        for first in (0..self.rows.len()).step_by(BLOCK) {
            let rows = [&self.rows[first], &self.rows[first + 1]];
            let last = V::load(&self.haplotype_lengths);
            let (cells, columns) = (&mut self.cells[..], &self.columns[..]);
            if rows.iter().any(|row| row.ends_read) {
                let sums = fill_block::<V, FUSED, true>(cells, columns, rows, corner, last);
                for (row, sum) in sums.into_iter().enumerate() {
                    let mut array = V::splat_array(V::Real::ZERO);
                    sum.store(&mut array);
                    for (lane, &length) in self.read_lengths.iter().enumerate() {
                        if length == first + row + 1 {
                            self.likelihoods.as_mut()[lane] = array.as_ref()[lane];
                        }
                    }
                }
            } else {
                fill_block::<V, FUSED, false>(cells, columns, rows, corner, last);
            }
            corner = Cell { matched: zero, inserted: zero, deleted: zero };
        }
    }
}

/// A row in vectors.
struct Factors<'a, V: Lanes> {
    match_to_match: V,
    insertion_start: V,
    deletion_start: V,
    gap_continuation: V,
    gap_end: V,
    correct: V,
    wrong: V,
    bases: &'a V::Bases,
}

impl<'a, V: Lanes> Factors<'a, V> {
    #[inline(always)]
    fn load(row: &'a Row<V>) -> Self {
        let one = V::splat(V::Real::from_length(1));
        let three = V::splat(V::Real::from_length(3));
        let gap_continuation = V::load(&row.gap_continuation);
        let error = V::load(&row.error);
        Factors {
            match_to_match: V::load(&row.match_to_match),
            insertion_start: V::load(&row.insertion_start),
            deletion_start: V::load(&row.deletion_start),
            gap_continuation,
            gap_end: one.subtract(gap_continuation),
            correct: one.subtract(error),
            wrong: error.divide(three),
            bases: &row.bases,
        }
    }

    /// Returns a cell from those at the upper left, above, and left of it.
    #[inline(always)]
    fn fill<const FUSED: bool>(
        &self,
        column: &V::Bases,
        corner: Cell<V>,
        above: Cell<V>,
        left: Cell<V>,
    ) -> Cell<V> {
        let weight = V::select_match(self.bases, column, self.correct, self.wrong);
        let from_match = corner.matched.multiply(self.match_to_match);
        let (insertion, deletion) = (self.insertion_start, self.deletion_start);
        if FUSED {
            let sum = corner.inserted.multiply_add(self.gap_end, from_match);
            let sum = corner.deleted.multiply_add(self.gap_end, sum);
            let start = above.matched.multiply(insertion);
            let inserted = above.inserted.multiply_add(self.gap_continuation, start);
            let start = left.matched.multiply(deletion);
            let deleted = left.deleted.multiply_add(self.gap_continuation, start);
            Cell { matched: sum.multiply(weight), inserted, deleted }
        } else {
            let sum = from_match.add(corner.inserted.multiply(self.gap_end));
            let sum = sum.add(corner.deleted.multiply(self.gap_end));
            let start = above.matched.multiply(insertion);
            let inserted = start.add(above.inserted.multiply(self.gap_continuation));
            let start = left.matched.multiply(deletion);
            let deleted = start.add(left.deleted.multiply(self.gap_continuation));
            Cell { matched: sum.multiply(weight), inserted, deleted }
        }
    }
}

/// Replaces the row above by the last row of a block. `corner` is the cell before the row above.
///
/// With `SUM`, returns for each row the sum of its matches, plus the sum of its insertions, both from
/// left to right up to the column `last`.
#[inline(always)]
fn fill_block<V: Lanes, const FUSED: bool, const SUM: bool>(
    cells: &mut [Cell<V>],
    columns: &[V::Bases],
    rows: [&Row<V>; BLOCK],
    corner: Cell<V>,
    last: V,
) -> [V; BLOCK] {
    // `map` would compile to calls of functions without the instructions.
    let factors = [Factors::load(rows[0]), Factors::load(rows[1])];
    let zero = V::splat(V::Real::ZERO);
    let one = V::splat(V::Real::from_length(1));
    let mut lefts = [Cell { matched: zero, inserted: zero, deleted: zero }; BLOCK];
    let mut sums = [(zero, zero); BLOCK];
    let mut number = zero;
    let mut top_corner = corner;
    for (cell, column) in cells.iter_mut().zip(columns) {
        let mut corner = top_corner;
        let mut above = *cell;
        top_corner = above;
        if SUM {
            number = number.add(one);
        }
        for row in 0..BLOCK {
            let left = lefts[row];
            let filled = factors[row].fill::<FUSED>(column, corner, above, left);
            if SUM {
                sums[row].0 = sums[row].0.add(filled.matched.keep_up_to(number, last));
                sums[row].1 = sums[row].1.add(filled.inserted.keep_up_to(number, last));
            }
            corner = left;
            above = filled;
            lefts[row] = filled;
        }
        *cell = above;
    }
    [sums[0].0.add(sums[0].1), sums[1].0.add(sums[1].1)]
}
