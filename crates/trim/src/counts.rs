//! Counts of bases and qualities, before and after trimming.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Totals over a set of reads, as fastp reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrimReadCounts {
    pub reads: u64,
    pub bases: u64,
    pub q20: u64,
    pub q30: u64,
    pub gc: u64,
    pub longest: u64,
}

impl TrimReadCounts {
    pub fn of_read(bases: &[u8], qualities: &[u8]) -> Self {
        TrimReadCounts {
            reads: 1,
            bases: bases.len() as u64,
            q20: count_bytes(qualities, |quality| quality >= 33 + 20),
            q30: count_bytes(qualities, |quality| quality >= 33 + 30),
            // fastp tests only the two lowest bits, so C, G and a few other letters (K, O, S, W,
            // ...) count.
            gc: count_bytes(bases, |base| base & 3 == 3),
            longest: bases.len() as u64,
        }
    }

    /// Returns the mean read length, rounded down as in fastp's report; 0 without reads.
    pub fn mean_length(&self) -> u64 {
        self.bases.checked_div(self.reads).unwrap_or(0)
    }
}

impl AddAssign for TrimReadCounts {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.bases += other.bases;
        self.q20 += other.q20;
        self.q30 += other.q30;
        self.gc += other.gc;
        self.longest = self.longest.max(other.longest);
    }
}

/// Returns how many bytes satisfy `is_so`.
///
/// Counts chunks of 255 bytes in a `u8` each, which lets the compiler vectorize the loop.
pub fn count_bytes(text: &[u8], is_so: impl Fn(u8) -> bool) -> u64 {
    let piece = |piece: &[u8]| piece.iter().fold(0u8, |sum, &letter| sum + u8::from(is_so(letter)));
    text.chunks(u8::MAX.into()).map(|of| u64::from(piece(of))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_reads_add_up() {
        let mut all = TrimReadCounts::of_read(b"ACGTNgc", b"5?4>!II");
        assert_eq!(all, TrimReadCounts { reads: 1, bases: 7, q20: 5, q30: 3, gc: 4, longest: 7 });
        all += TrimReadCounts::of_read(&[b'G'; 1000], &[b'I'; 1000]);
        assert_eq!(
            all,
            TrimReadCounts { reads: 2, bases: 1007, q20: 1005, q30: 1003, gc: 1004, longest: 1000 }
        );
        assert_eq!((all.mean_length(), TrimReadCounts::default().mean_length()), (503, 0));
    }
}
