//! Qualities and bases by cycle: the position in the read in the direction of sequencing.

use readmill_record::RecordRef;
use serde::{Deserialize, Serialize};

/// Maximum number of cycles with rows of their own. Later cycles share one row, which only sums include.
pub const MAX_CYCLES: usize = 1000;

const USUAL_QUALITIES: usize = 64;

const MAX_ROWS: usize = MAX_CYCLES + 1;

/// Returns the number of rows for a read of this length: a power of two, so that tables rarely grow.
fn rows_for(length: usize) -> usize {
    length.next_power_of_two().min(MAX_ROWS)
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StatsQualities {
    columns: usize,
    counts: Vec<u64>,
}

impl StatsQualities {
    pub const BYTES: usize = MAX_ROWS * 256 * 8;

    /// Counts the qualities of a read. They are reversed if the read is mapped to the reverse strand, so
    /// that cycle 0 is the first base that was sequenced.
    pub fn add_quals(&mut self, quals: &[u8], reverse: bool) {
        let highest = quals.iter().max().copied().unwrap_or(0);
        self.widen_rows(if usize::from(highest) < USUAL_QUALITIES { USUAL_QUALITIES } else { 256 });
        let needed = rows_for(quals.len()) * self.columns;
        if self.counts.len() < needed {
            self.counts.reserve_exact(needed - self.counts.len());
            self.counts.resize(needed, 0);
        }
        if reverse { self.add_each(quals.iter().rev()) } else { self.add_each(quals.iter()) }
    }

    fn add_each<'a>(&mut self, mut quals: impl Iterator<Item = &'a u8>) {
        let own = self.counts.chunks_exact_mut(self.columns).take(MAX_CYCLES);
        for (row, &qual) in own.zip(quals.by_ref()) {
            row[usize::from(qual)] += 1;
        }
        for &qual in quals {
            self.counts[MAX_CYCLES * self.columns + usize::from(qual)] += 1;
        }
    }

    fn widen_rows(&mut self, columns: usize) {
        if self.columns >= columns {
            return;
        }
        let before = self.columns.max(1);
        let mut wide = vec![0; self.counts.len() / before * columns];
        for (row, old) in wide.chunks_exact_mut(columns).zip(self.counts.chunks_exact(before)) {
            row[..before].copy_from_slice(old);
        }
        (self.columns, self.counts) = (columns, wide);
    }

    pub fn count_of(&self, cycle: usize, qual: usize) -> u64 {
        if qual >= self.columns {
            return 0;
        }
        self.counts.get(cycle * self.columns + qual).copied().unwrap_or(0)
    }

    pub fn sum_and_highest(&self) -> (u64, usize) {
        let (mut sum, mut highest) = (0, 0);
        for row in self.counts.chunks_exact(self.columns.max(1)) {
            for (qual, &count) in row.iter().enumerate().filter(|&(_, &count)| count > 0) {
                sum += qual as u64 * count;
                highest = highest.max(qual);
            }
        }
        (sum, highest)
    }

    pub fn merge(&mut self, mut from: StatsQualities) {
        self.widen_rows(from.columns);
        from.widen_rows(self.columns);
        if from.counts.len() > self.counts.len() {
            std::mem::swap(&mut self.counts, &mut from.counts);
        }
        for (into, from) in self.counts.iter_mut().zip(from.counts) {
            *into += from;
        }
    }
}

pub(super) type BaseCounts = [u64; 6];

/// Index in [`BaseCounts`] of each 4-bit base code of BAM.
const CLASSES: [usize; 16] = [5, 0, 1, 5, 2, 5, 5, 5, 3, 5, 5, 5, 5, 5, 5, 4];

/// Number of bases by cycle, of reads on the forward and on the reverse strand. Bases are counted as in
/// the record, not complemented.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StatsBases([Vec<BaseCounts>; 2]);

impl StatsBases {
    pub const BYTES: usize = 2 * MAX_ROWS * size_of::<BaseCounts>();

    pub fn add_bases(&mut self, record: RecordRef<'_>) -> u64 {
        let (seq, length) = (record.seq(), record.l_seq());
        let reverse = record.flags().is_reverse();
        let rows = &mut self.0[usize::from(reverse)];
        if rows.len() < rows_for(length) {
            rows.reserve_exact(rows_for(length) - rows.len());
            rows.resize(rows_for(length), [0; 6]);
        }
        let class = |i: usize| CLASSES[usize::from(seq[i / 2] >> (4 * (!i & 1)) & 15)];
        if reverse {
            count_by_cycle(rows, (0..length).rev().map(class))
        } else {
            count_by_cycle(rows, (0..length).map(class))
        }
    }

    fn strand_row(&self, strand: usize, cycle: usize) -> BaseCounts {
        self.0[strand].get(cycle).copied().unwrap_or_default()
    }

    /// Returns the bases of a cycle as in the records (section GCC).
    pub fn as_recorded(&self, cycle: usize) -> BaseCounts {
        add_counts(self.strand_row(0, cycle), self.strand_row(1, cycle))
    }

    /// Returns the A, C, G and T of a cycle as they were sequenced (section GCT): bases of reverse reads
    /// are complemented.
    pub fn as_sequenced(&self, cycle: usize) -> BaseCounts {
        let [a, c, g, t, ..] = self.strand_row(1, cycle);
        let [fa, fc, fg, ft, ..] = self.strand_row(0, cycle);
        [fa + t, fc + g, fg + c, ft + a, 0, 0]
    }

    pub fn total_counts(&self) -> BaseCounts {
        self.0.iter().flatten().fold(BaseCounts::default(), |total, &row| add_counts(total, row))
    }

    pub fn merge(&mut self, from: StatsBases) {
        for (into, mut from) in self.0.iter_mut().zip(from.0) {
            if from.len() > into.len() {
                std::mem::swap(into, &mut from);
            }
            for (into, from) in into.iter_mut().zip(from) {
                *into = add_counts(*into, from);
            }
        }
    }
}

fn count_by_cycle(rows: &mut [BaseCounts], mut classes: impl Iterator<Item = usize>) -> u64 {
    let mut gc = 0;
    let mut count = |row: &mut BaseCounts, class: usize| {
        row[class] += 1;
        gc += u64::from(class == 1 || class == 2);
    };
    let (own, shared) = rows.split_at_mut(rows.len().min(MAX_CYCLES));
    for (row, class) in own.iter_mut().zip(classes.by_ref()) {
        count(row, class);
    }
    if let [row] = shared {
        classes.for_each(|class| count(row, class));
    }
    gc
}

pub(super) fn add_counts(a: BaseCounts, b: BaseCounts) -> BaseCounts {
    std::array::from_fn(|i| a[i] + b[i])
}
