//! Lengths and cycles of insertions and deletions.

use readmill_record::RecordRef;
use readmill_record::cigar::{HARD_CLIP, SKIP};

use super::counts::Histogram;
use super::cycles::MOST_CYCLES;

/// Longest insertion or deletion that has a row.
const LONGEST: u32 = 300;

const INSERTION: u32 = 1;
const DELETION: u32 = 2;
const PADDING: u32 = 6;

/// Insertions and deletions.
#[derive(Clone, Debug, Default)]
pub(super) struct Indels {
    /// Insertions and deletions by length.
    by_length: [Histogram; 2],
    /// By cycle: insertions of first and last segments, deletions of first and last segments.
    by_cycle: [Histogram; 4],
}

impl Indels {
    /// Bytes of the largest tables.
    pub const BYTES: usize = (2 * 512 + 4 * 1024) * 8;

    /// Counts the insertions and deletions of a mapped read, which is the first (0) or last (1) segment of its
    /// template, or neither.
    pub fn add(&mut self, record: RecordRef<'_>, segment: Option<usize>) {
        let (length, reverse) = (record.l_seq() as i64, record.flags().is_reverse());
        let mut cycle = 0; // bases before the operator, as the record has them
        for (op, n) in record.cigar().ops().filter(|&(_, n)| n > 0) {
            let bases = i64::from(n);
            match op {
                INSERTION => {
                    let first = if reverse { length - cycle - bases } else { cycle };
                    self.count(0, n, first, segment);
                    cycle += bases;
                }
                DELETION => {
                    let before = if reverse { length - cycle - 1 } else { cycle - 1 };
                    self.count(1, n, before, segment);
                }
                SKIP | HARD_CLIP | PADDING => {}
                _ => cycle += bases,
            }
        }
    }

    fn count(&mut self, what: usize, n: u32, cycle: i64, segment: Option<usize>) {
        let Ok(cycle) = usize::try_from(cycle) else { return };
        if let Some(segment) = segment.filter(|_| cycle < MOST_CYCLES) {
            self.by_cycle[2 * what + segment].add(cycle);
        }
        if n <= LONGEST {
            self.by_length[what].add(n as usize);
        }
    }

    /// Rows of lengths: length, insertions, deletions.
    pub fn lengths(&self) -> impl Iterator<Item = (usize, [u64; 2])> {
        let rows = (1..=LONGEST as usize).map(|n| (n, [0, 1].map(|what| self.by_length[what].of(n))));
        rows.filter(|(_, counts)| counts.iter().any(|&count| count > 0))
    }

    /// Rows of cycles, from 0.
    pub fn cycles(&self) -> impl Iterator<Item = (usize, [u64; 4])> {
        let rows =
            (0..MOST_CYCLES).map(|cycle| (cycle, [0, 1, 2, 3].map(|i| self.by_cycle[i].of(cycle))));
        rows.filter(|(_, counts)| counts.iter().any(|&count| count > 0))
    }

    pub fn merge(&mut self, from: Indels) {
        for (into, from) in self.by_length.iter_mut().zip(from.by_length) {
            into.merge(from);
        }
        for (into, from) in self.by_cycle.iter_mut().zip(from.by_cycle) {
            into.merge(from);
        }
    }
}
