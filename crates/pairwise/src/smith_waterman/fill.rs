//! The matrices of an alignment, filled by anti-diagonals.
//!
//! ```text
//!            column j: bases of the sequence
//!              0   1   2   3             cell (i, j) needs (i-1, j-1), (i, j-1) and (i-1, j):
//!  row i:  0   0   1   2   3             those of the two anti-diagonals before its own, so the cells
//!  bases   1   1   2   3   4             of one anti-diagonal i + j are independent of each other.
//!  of the  2   2   3   4   5
//!  reference       anti-diagonal
//! ```
//!
//! All cells of an anti-diagonal are contiguous in the buffers: columns by j, rows by their distance from
//! the last row, and scores by j - i.

use super::kernel::{BLOCK, Diagonal, LaneScores, fill_diagonal};
use super::lane::Lane;
use super::scores::{AlignmentScores, Overhang};

/// Returns whether no score of the alignment leaves the range from -15,000 to 30,000, and no penalty is so
/// large that `i16::LOW` would matter. The results are the same then as with 32 bits.
fn fits_in_i16(scores: AlignmentScores, rows: usize, columns: usize) -> bool {
    let AlignmentScores { match_score, mismatch, gap_open, gap_extend } = scores;
    let penalties = [mismatch, gap_open, gap_extend];
    if !(0..=1000).contains(&match_score)
        || penalties.iter().any(|penalty| !(-1000..=0).contains(penalty))
    {
        return false;
    }
    // Any cell is reached by two gaps from the corner, and a third gap may open there.
    let lowest = 3 * gap_open + (rows + columns) as i32 * gap_extend;
    let highest = match_score * rows.min(columns) as i32;
    lowest > -15_000 && highest < 30_000
}

/// The cell in which the alignment ends: 1-based row and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndCell {
    pub(super) row: usize,
    pub(super) column: usize,
}

/// Buffers of scores of one type.
#[derive(Debug, Default)]
struct Buffers<L> {
    /// Best score of each cell, for the odd and the even anti-diagonals, by (j - i + rows + 2) / 2.
    best: [Vec<L>; 2],
    /// Best score of an alignment that ends in a gap in the reference, by row.
    insertion: Vec<L>,
    /// Best score of an alignment that ends in a gap in the sequence, by column.
    deletion: Vec<L>,
}

/// The steps of an alignment, and the buffers to compute them.
#[derive(Debug, Default)]
pub(super) struct Matrices {
    rows: usize,
    columns: usize,
    /// Bases of the reference, the last one first.
    reversed_reference: Vec<u8>,
    sequence: Vec<u8>,
    wide: Buffers<i32>,
    narrow: Buffers<i16>,
    /// Steps of all cells, by anti-diagonal, then column.
    steps: Vec<u8>,
    /// Index in `steps` of the first cell of each anti-diagonal.
    starts: Vec<usize>,
}

impl Matrices {
    /// Fills the matrices and returns where the best alignment ends.
    pub(super) fn fill(
        &mut self,
        reference: &[u8],
        sequence: &[u8],
        scores: AlignmentScores,
        overhang: Overhang,
    ) -> EndCell {
        (self.rows, self.columns) = (reference.len(), sequence.len());
        self.reversed_reference.clear();
        self.reversed_reference.extend(reference.iter().rev());
        self.reversed_reference.resize(self.rows + BLOCK, 0);
        self.sequence.clear();
        self.sequence.extend_from_slice(sequence);
        self.sequence.resize(self.columns + BLOCK, 0);
        // Every step is written before it is read.
        let size = self.rows * self.columns + BLOCK;
        if self.steps.len() < size {
            self.steps.resize(size, 0);
        }
        if fits_in_i16(scores, self.rows, self.columns) {
            let mut buffers = std::mem::take(&mut self.narrow);
            let end = self.fill_with(&mut buffers, scores, overhang);
            self.narrow = buffers;
            end
        } else {
            let mut buffers = std::mem::take(&mut self.wide);
            let end = self.fill_with(&mut buffers, scores, overhang);
            self.wide = buffers;
            end
        }
    }

    /// Returns the number of rows and columns.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Returns the step of a cell, whose row and column are 1-based.
    pub(super) fn step(&self, row: usize, column: usize) -> u8 {
        let diagonal = row + column;
        let first = diagonal.saturating_sub(self.rows).max(1);
        self.steps[self.starts[diagonal] + column - first]
    }

    fn fill_with<L: Lane>(
        &mut self,
        buffers: &mut Buffers<L>,
        scores: AlignmentScores,
        overhang: Overhang,
    ) -> EndCell {
        let (rows, columns) = (self.rows, self.columns);
        buffers.reset(rows, columns);
        let lane_scores = LaneScores::new(scores);
        let base = rows + 2 + (rows & 1);
        // The index in `best` of cell (i, j) on anti-diagonal i + j.
        let index = |diagonal: usize, column: usize| (2 * column + base - diagonal) / 2;
        buffers.best[0][index(0, 0)] = L::default();
        let mut end = EndSearch::new(rows, columns, overhang);
        self.starts.clear();
        self.starts.resize(2, 0);
        let mut start = 0;
        for diagonal in 1..=rows + columns {
            let (first, last) = (diagonal.saturating_sub(rows).max(1), columns.min(diagonal - 1));
            let count = (last + 1).saturating_sub(first);
            let [even, odd] = &mut buffers.best;
            let (best, before) = if diagonal % 2 == 0 { (even, &*odd) } else { (odd, &*even) };
            if count > 0 {
                // Blocks overrun the last column. What they write there is replaced before it is used.
                let padded = count.next_multiple_of(BLOCK);
                let (row, cell) = (rows - (diagonal - first), index(diagonal, first));
                let left = index(diagonal - 1, first - 1);
                self.starts.push(start);
                fill_diagonal(
                    &lane_scores,
                    Diagonal {
                        reference: &self.reversed_reference[row..],
                        sequence: &self.sequence[first - 1..],
                        insertion: &mut buffers.insertion[row..],
                        deletion: &mut buffers.deletion[first..],
                        best: &mut best[cell..cell + padded],
                        left: &before[left..left + padded],
                        above: &before[left + 1..left + 1 + padded],
                        steps: &mut self.steps[start..],
                    },
                );
                start += count;
            }
            let border = match overhang.penalizes_start() {
                true => L::from_score(scores.gap_open + (diagonal as i32 - 1) * scores.gap_extend),
                false => L::default(),
            };
            if diagonal <= columns {
                best[index(diagonal, diagonal)] = border;
                buffers.deletion[diagonal] = L::LOW;
            }
            if diagonal <= rows {
                best[index(diagonal, 0)] = border;
            }
            if diagonal > rows {
                end.consider_last_row(
                    diagonal - rows,
                    best[index(diagonal, diagonal - rows)].to_score(),
                );
            }
            if diagonal > columns {
                end.consider_last_column(diagonal - columns, best[index(diagonal, columns)].to_score());
            }
        }
        end.cell
    }
}

impl<L: Lane> Buffers<L> {
    fn reset(&mut self, rows: usize, columns: usize) {
        for best in &mut self.best {
            best.resize((rows + columns) / 2 + 4 + BLOCK, L::default());
        }
        for (gaps, length) in [(&mut self.insertion, rows), (&mut self.deletion, columns + 1)] {
            gaps.clear();
            gaps.resize(length + BLOCK, L::LOW);
        }
    }
}

/// Finds the end of the best alignment. Which of equal scores wins depends on the order of the calls.
struct EndSearch {
    rows: usize,
    columns: usize,
    overhang: Overhang,
    best: Option<i32>,
    cell: EndCell,
}

impl EndSearch {
    fn new(rows: usize, columns: usize, overhang: Overhang) -> EndSearch {
        EndSearch { rows, columns, overhang, best: None, cell: EndCell { row: rows, column: columns } }
    }

    /// The sequence may end before its last base only if the rest is clipped.
    fn consider_last_row(&mut self, column: usize, score: i32) {
        let cell = EndCell { row: self.rows, column };
        if matches!(self.overhang, Overhang::SoftClip | Overhang::Ignore)
            && self.best.is_none_or(|best| {
                score > best || (score == best && cell.distance() < self.cell.distance())
            })
        {
            (self.best, self.cell) = (Some(score), cell);
        }
    }

    fn consider_last_column(&mut self, row: usize, score: i32) {
        if self.overhang == Overhang::Indel {
            return; // the alignment ends in the corner
        }
        let cell = EndCell { row, column: self.columns };
        if self.best.is_none_or(|best| {
            let is_closer = self.cell.column == self.columns || cell.distance() <= self.cell.distance();
            score > best || (score == best && is_closer)
        }) {
            (self.best, self.cell) = (Some(score), cell);
        }
    }
}

impl EndCell {
    /// Returns the distance from the main diagonal.
    fn distance(self) -> usize {
        self.row.abs_diff(self.column)
    }
}
