//! Insert sizes by the orientation of pairs.

use readmill_record::RecordRef;

use super::counts::Histogram;

/// Larger insert sizes count as this one.
const LARGEST: u32 = 8000;

/// The share of pairs in rows, mean and deviation; the largest insert sizes are left out.
const MAIN_BULK: f32 = 0.99;

/// Numbers of reads by insert size: inward, outward, other.
#[derive(Clone, Debug, Default)]
pub(super) struct InsertSizes([Histogram; 3]);

/// The summary of insert sizes.
pub(super) struct Insertion {
    /// Pairs by insert size, up to where the main bulk ends: inward, outward, other.
    pub rows: Vec<[u64; 3]>,
    /// Pairs of any size: inward, outward, other.
    pub pairs: [u64; 3],
    pub mean: f64,
    pub deviation: f64,
}

impl InsertSizes {
    /// Bytes of the largest tables.
    pub const BYTES: usize = 3 * 8192 * 8;

    /// Counts a primary read that is mapped as its mate is.
    pub fn add(&mut self, record: RecordRef<'_>) {
        let size = record.tlen().unsigned_abs().min(LARGEST);
        if size == 0 && record.ref_id() != record.next_ref_id() {
            return;
        }
        let flags = record.flags();
        let (first, forward) = (flags.is_first(), !flags.is_reverse());
        let to_mate = i64::from(record.next_pos()) - i64::from(record.pos());
        let orientation = if forward != flags.is_mate_reverse() {
            2
        } else if to_mate == 0 {
            0 // reads that cover each other count as inward
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

    /// Pairs of one size; both reads of a pair were counted.
    fn pairs_of(&self, size: usize) -> [u64; 3] {
        [0, 1, 2].map(|orientation| self.0[orientation].of(size) / 2)
    }

    /// Returns the summary, by the same steps of arithmetic as samtools.
    pub fn summary(&self) -> Insertion {
        let sizes: Vec<[u64; 3]> = (0..=LARGEST as usize).map(|size| self.pairs_of(size)).collect();
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
            if bulk / counted as f64 > f64::from(MAIN_BULK) {
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
        Insertion { rows: sizes[..end].to_vec(), pairs, mean, deviation: variance.sqrt() }
    }
}
