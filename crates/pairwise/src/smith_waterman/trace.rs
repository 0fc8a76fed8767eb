//! The CIGAR of an alignment, from its last base to its first.

use super::alignment::Alignment;
use super::fill::{EndCell, Matrices};
use super::kernel::{DELETION, DELETION_EXTENDS, INSERTION, INSERTION_EXTENDS};
use super::scores::Overhang;
use crate::{Cigar, CigarElement, CigarOperator};
use CigarOperator::{Deletion, Insertion, Match, SoftClip};

/// Returns the alignment that ends in `end`.
pub(super) fn trace_back(matrices: &Matrices, end: EndCell, overhang: Overhang) -> Alignment {
    let (rows, columns) = matrices.size();
    let mut runs = Runs::default();
    let EndCell { mut row, mut column } = end;
    runs.add(columns - column, SoftClip);
    // The gap that goes on, if any, as the flag of its next step.
    let mut gap = 0;
    while row > 0 && column > 0 {
        let step = matrices.step(row, column);
        let direction = match gap {
            INSERTION_EXTENDS => INSERTION,
            DELETION_EXTENDS => DELETION,
            _ => step & 3,
        };
        match direction {
            INSERTION => {
                runs.add(1, Insertion);
                column -= 1;
                gap = step & INSERTION_EXTENDS;
            }
            DELETION => {
                runs.add(1, Deletion);
                row -= 1;
                gap = step & DELETION_EXTENDS;
            }
            _ => {
                runs.add(1, Match);
                (row, column) = (row - 1, column - 1);
                gap = 0;
            }
        }
    }
    let offset = match overhang {
        Overhang::SoftClip => {
            runs.add(column, SoftClip);
            row as i32
        }
        Overhang::Ignore => {
            let first = runs.runs.last().map_or(Match, |run| run.1);
            runs.add(column, first);
            row as i32 - column as i32
        }
        Overhang::Indel | Overhang::LeadingIndel => {
            runs.add(row, Deletion);
            runs.add(column, Insertion);
            0
        }
    };
    Alignment { offset, cigar: runs.into_cigar(2 * rows.max(columns)) }
}

/// Bases with one operator, the last ones first.
#[derive(Default)]
struct Runs {
    runs: Vec<(usize, CigarOperator)>,
}

impl Runs {
    fn add(&mut self, length: usize, operator: CigarOperator) {
        match self.runs.last_mut() {
            _ if length == 0 => {}
            Some(last) if last.1 == operator => last.0 += length,
            _ => self.runs.push((length, operator)),
        }
    }

    /// Returns the CIGAR. GKL's text of it has `room` characters, and elements for which there is no room
    /// are left out. Only sequences of a few bases have such elements.
    fn into_cigar(self, mut room: usize) -> Cigar {
        let runs = self.runs.into_iter().rev();
        let elements = runs.filter_map(|(length, operator)| {
            let width = length.ilog10() as usize + 2;
            room = room.checked_sub(width)?;
            Some(CigarElement::new(length, operator))
        });
        Cigar::new(elements.collect())
    }
}
