//! MeanQualityByCycle and CollectBaseDistributionByCycle: qualities and bases by cycle, the position in the read as it was
//! sequenced.

use readmill_format::metrics::{self, HistogramColumn, Row};
use readmill_record::Result;
use serde::{Deserialize, Serialize};

use crate::counts::add_each;
use crate::read::Read;
use crate::room::Room;

/// Cycles that have rows; later ones are not counted.
pub const MOST_CYCLES: usize = 1 << 16;

/// Columns of the table of bases.
const COLUMNS: [&str; 7] = ["READ_END", "CYCLE", "PCT_A", "PCT_C", "PCT_G", "PCT_T", "PCT_N"];

/// The column of each code of a base: A, C, G, T, anything else.
const BASE_COLUMNS: [u8; 16] = [4, 0, 1, 4, 2, 4, 4, 4, 3, 4, 4, 4, 4, 4, 4, 4];

/// Sums of qualities by cycle, of first and second reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CycleQualities {
    ends: [EndQualities; 2],
    /// Whether there was any read, with qualities or not.
    has_reads: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct EndQualities {
    sums: Vec<u64>,
    /// Reads by their last cycle.
    ended: Vec<u64>,
}

impl CycleQualities {
    /// Counts a read with these qualities.
    #[inline]
    pub fn add(&mut self, read: &Read<'_>, quals: &[u8], offset: u8, room: &Room) -> Result<()> {
        self.has_reads = true;
        let EndQualities { sums, ended } = &mut self.ends[usize::from(read.is_second())];
        let length = quals.len().min(MOST_CYCLES);
        if length == 0 {
            return Ok(());
        }
        if sums.len() < length {
            room.lengthen(sums, length, MOST_CYCLES)?;
            room.lengthen(ended, length, MOST_CYCLES)?;
        }
        ended[length - 1] += 1;
        let add = |(sum, &qual): (&mut u64, &u8)| *sum += u64::from(qual.wrapping_sub(offset));
        if read.flags.is_reverse() {
            sums.iter_mut().zip(quals.iter().rev()).for_each(add);
        } else {
            sums.iter_mut().zip(quals).for_each(add);
        }
        Ok(())
    }

    /// Adds other sums.
    pub fn merge(&mut self, from: &CycleQualities) {
        self.has_reads |= from.has_reads;
        for (into, from) in self.ends.iter_mut().zip(&from.ends) {
            add_each(&mut into.sums, &from.sums);
            add_each(&mut into.ended, &from.ended);
        }
    }

    /// The mean qualities by cycle, those of second reads after those of first ones.
    pub fn column(&self, label: &str) -> HistogramColumn {
        let [first, second] = &self.ends;
        let mut bins = Vec::new();
        let mut last = 0;
        for (cycle, (&sum, reads)) in (1..).zip(first.sums.iter().zip(lasting(&first.ended))) {
            if sum > 0 {
                bins.push((cycle, sum as f64 / reads as f64));
                last = cycle;
            }
        }
        for (cycle, (&sum, reads)) in (1..).zip(second.sums.iter().zip(lasting(&second.ended))) {
            if reads > 0 {
                bins.push((last + cycle, sum as f64 / reads as f64));
            }
        }
        HistogramColumn { label: label.as_bytes().to_vec(), bins }
    }

    /// Whether there was no read.
    pub fn is_empty(&self) -> bool {
        !self.has_reads
    }
}

/// Returns the reads that have each cycle, from those that end with it.
fn lasting(ended: &[u64]) -> Vec<u64> {
    let mut reads = ended.to_vec();
    for cycle in (1..reads.len()).rev() {
        reads[cycle - 1] += reads[cycle];
    }
    reads
}

/// Numbers of bases by cycle, of first and second reads.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CycleBases {
    ends: [Vec<[u64; 5]>; 2],
    has_second: bool,
}

impl CycleBases {
    /// Counts a read.
    #[inline]
    pub fn add(&mut self, read: &Read<'_>, room: &Room) -> Result<()> {
        let end = read.is_second();
        self.has_second |= end;
        let rows = &mut self.ends[usize::from(end)];
        let length = read.bases.len().min(MOST_CYCLES);
        if rows.len() < length {
            room.lengthen(rows, length, MOST_CYCLES)?;
        }
        let add = |(row, &base): (&mut [u64; 5], &u8)| {
            row[usize::from(BASE_COLUMNS[usize::from(base & 15)])] += 1;
        };
        if read.flags.is_reverse() {
            rows.iter_mut().zip(read.bases.iter().rev()).for_each(add);
        } else {
            rows.iter_mut().zip(read.bases).for_each(add);
        }
        Ok(())
    }

    /// Adds other numbers.
    pub fn merge(&mut self, from: &CycleBases) {
        self.has_second |= from.has_second;
        for (into, from) in self.ends.iter_mut().zip(&from.ends) {
            if into.len() < from.len() {
                into.resize(from.len(), [0; 5]);
            }
            for (into, from) in into.iter_mut().flatten().zip(from.iter().flatten()) {
                *into += from;
            }
        }
    }

    /// The table.
    pub fn put(&self, text: &mut Vec<u8>) {
        let (mut rows, mut last) = (Vec::new(), 0);
        for (end, counts) in (1_u64..).zip(&self.ends) {
            let after = if end == 1 { 0 } else { last };
            for (cycle, bases) in (1_u64..).zip(counts) {
                let all: u64 = bases.iter().sum();
                if all == 0 {
                    continue;
                }
                let mut row = Row::default();
                row.number(end).number(after + cycle);
                bases.iter().for_each(|&n| _ = row.decimal(100.0 * n as f64 / all as f64));
                rows.push(row);
                last = last.max(if end == 1 { cycle } else { 0 });
            }
        }
        metrics::put_table(text, "picard.analysis.BaseDistributionByCycleMetrics", &COLUMNS, &rows);
        text.push(b'\n');
    }
}
