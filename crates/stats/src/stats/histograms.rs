//! Counters by name and by number: histograms, insert sizes by pair orientation, insertions and
//! deletions.

use readmill_record::RecordRef;
use readmill_record::cigar::{HARD_CLIP, SKIPPED_REGION};
use serde::{Deserialize, Serialize};

use super::cycles::MAX_CYCLES;

#[derive(Clone, Copy, Debug)]
pub(super) enum Count {
    Secondary,
    Supplementary,
    /// First segments, and reads that are not paired.
    First,
    Last,
    /// Paired reads that are neither or both segments.
    Other,
    Unmapped,
    MappedAlone,
    MappedInPair,
    Proper,
    Paired,
    Duplicates,
    QcFailed,
    MapqZero,
    OtherContig,
    Bases,
    FirstBases,
    LastBases,
    DuplicateBases,
    MappedBases,
    CigarBases,
    TrimmedBases,
    Filtered,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct NamedCounts([u64; Count::Filtered as usize + 1]);

impl NamedCounts {
    pub fn add(&mut self, count: Count, n: u64) {
        self.0[count as usize] += n;
    }

    pub fn get(&self, count: Count) -> u64 {
        self.0[count as usize]
    }

    pub fn merge(&mut self, from: &NamedCounts) {
        for (into, from) in self.0.iter_mut().zip(from.0) {
            *into += from;
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Histogram(Vec<u64>);

impl Histogram {
    pub fn add(&mut self, index: usize) {
        if index >= self.0.len() {
            self.0.resize((index + 1).next_power_of_two(), 0);
        }
        self.0[index] += 1;
    }

    pub fn get(&self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    pub fn merge(&mut self, mut from: Histogram) {
        if from.0.len() > self.0.len() {
            std::mem::swap(self, &mut from);
        }
        for (into, from) in self.0.iter_mut().zip(from.0) {
            *into += from;
        }
    }

    pub fn nonzero_counts(&self) -> impl Iterator<Item = (usize, u64)> {
        self.0.iter().copied().enumerate().filter(|&(_, count)| count > 0)
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct InsertSizes([Histogram; 3]);

pub(super) struct InsertSummary {
    pub rows: Vec<[u64; 3]>,
    pub pairs: [u64; 3],
    pub mean: f64,
    pub deviation: f64,
}

impl InsertSizes {
    pub fn max_bytes(largest: u32) -> usize {
        3 * (largest as usize + 1).next_power_of_two() * 8
    }

    /// Counts a primary read whose mate is mapped. An insert size above `largest` counts as `largest`.
    pub fn add_read(&mut self, record: RecordRef<'_>, largest: u32) {
        let size = record.tlen().unsigned_abs().min(largest);
        if size == 0 && record.ref_id() != record.next_ref_id() {
            return;
        }
        let flags = record.flags();
        let (first, forward) = (flags.is_first(), !flags.is_reverse());
        let to_mate = i64::from(record.next_pos()) - i64::from(record.pos());
        let orientation = if forward != flags.is_mate_reverse() {
            2
        } else if to_mate == 0 {
            0 // mates with the same start count as inward
        } else {
            let ahead = first == (to_mate > 0);
            usize::from(ahead != (first == forward))
        };
        self.0[orientation].add(size as usize);
    }

    pub fn merge(&mut self, from: InsertSizes) {
        for (into, from) in self.0.iter_mut().zip(from.0) {
            into.merge(from);
        }
    }

    fn pairs_of(&self, size: usize) -> [u64; 3] {
        [0, 1, 2].map(|orientation| self.0[orientation].get(size) / 2)
    }

    /// Computes the summary in the same steps as samtools, so that roundings agree. `main_bulk` is
    /// the share of pairs to keep; the pairs with the largest insert sizes are excluded.
    pub fn summarize_sizes(&self, largest: u32, main_bulk: f32) -> InsertSummary {
        let sizes: Vec<[u64; 3]> = (0..=largest as usize).map(|size| self.pairs_of(size)).collect();
        let total = |pairs: &[u64; 3]| pairs.iter().sum::<u64>();
        let pairs = [0, 1, 2].map(|i| sizes.iter().map(|row| row[i]).sum());
        let mut counted = total(&pairs);
        let (mut end, mut bulk, mut sum) = (0, 0.0, 0.0);
        for (size, row) in sizes.iter().enumerate() {
            let here = total(row);
            if here > 0 {
                end = size + 1;
            }
            bulk += here as f64;
            sum += (size as u64 * here) as f64;
            if bulk / counted as f64 > f64::from(main_bulk) {
                (end, counted) = (size + 1, bulk as u64);
                break;
            }
        }
        let divisor = counted.max(1) as f64;
        let mean = sum / divisor;
        let mut variance = 0.0;
        for (size, row) in sizes.iter().enumerate().take(end).skip(1) {
            let distance = size as f64 - mean;
            variance += total(row) as f64 * distance * distance / divisor;
        }
        InsertSummary { rows: sizes[..end].to_vec(), pairs, mean, deviation: variance.sqrt() }
    }
}

const MAX_INDEL_LENGTH: u32 = 300;

const INSERTION: u32 = 1;
const DELETION: u32 = 2;
const PADDING: u32 = 6;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Indels {
    by_length: [Histogram; 2],
    by_cycle: [Histogram; 4],
}

impl Indels {
    pub const BYTES: usize = (2 * 512 + 4 * 1024) * 8;

    /// Counts the insertions and deletions of a mapped read. Those of reads that are neither the first
    /// nor the last segment are counted by length only.
    pub fn add_read(&mut self, record: RecordRef<'_>, segment: Option<usize>) {
        let (length, reverse) = (record.l_seq() as i64, record.flags().is_reverse());
        let mut cycle = 0; // bases before the operator, in the order of the record
        for (op, n) in record.cigar().ops().filter(|&(_, n)| n > 0) {
            let bases = i64::from(n);
            match op {
                INSERTION => {
                    let first = if reverse { length - cycle - bases } else { cycle };
                    self.add_indel(0, n, first, segment);
                    cycle += bases;
                }
                DELETION => {
                    let before = if reverse { length - cycle - 1 } else { cycle - 1 };
                    self.add_indel(1, n, before, segment);
                }
                SKIPPED_REGION | HARD_CLIP | PADDING => {}
                _ => cycle += bases,
            }
        }
    }

    fn add_indel(&mut self, what: usize, n: u32, cycle: i64, segment: Option<usize>) {
        let Ok(cycle) = usize::try_from(cycle) else { return };
        if let Some(segment) = segment.filter(|_| cycle < MAX_CYCLES) {
            self.by_cycle[2 * what + segment].add(cycle);
        }
        if n <= MAX_INDEL_LENGTH {
            self.by_length[what].add(n as usize);
        }
    }

    /// Returns the rows of section ID: length, and number of insertions and deletions.
    pub fn length_rows(&self) -> impl Iterator<Item = (usize, [u64; 2])> {
        let rows =
            (1..=MAX_INDEL_LENGTH as usize).map(|n| (n, [0, 1].map(|what| self.by_length[what].get(n))));
        rows.filter(|(_, counts)| counts.iter().any(|&count| count > 0))
    }

    /// Returns the rows of section IC: 0-based cycle, and the four counts of [`Indels::by_cycle`].
    pub fn cycle_rows(&self) -> impl Iterator<Item = (usize, [u64; 4])> {
        let rows =
            (0..MAX_CYCLES).map(|cycle| (cycle, [0, 1, 2, 3].map(|i| self.by_cycle[i].get(cycle))));
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
