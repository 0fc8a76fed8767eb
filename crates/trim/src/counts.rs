//! Counts of bases and qualities.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

/// Counts of reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadCounts {
    /// Reads.
    pub reads: u64,
    /// Bases.
    pub bases: u64,
    /// Bases of quality 20 or more.
    pub q20: u64,
    /// Bases of quality 30 or more.
    pub q30: u64,
    /// G and C.
    pub gc: u64,
    /// The length of the longest read.
    pub longest: u64,
}

impl ReadCounts {
    /// The counts of one read.
    pub fn of(bases: &[u8], qualities: &[u8]) -> Self {
        ReadCounts {
            reads: 1,
            bases: bases.len() as u64,
            q20: count(qualities, |quality| quality >= 33 + 20),
            q30: count(qualities, |quality| quality >= 33 + 30),
            // As fastp has it: C, G, and the few other letters that share their last two bits.
            gc: count(bases, |base| base & 3 == 3),
            longest: bases.len() as u64,
        }
    }

    /// The mean length, rounded down.
    pub fn mean_length(&self) -> u64 {
        self.bases.checked_div(self.reads).unwrap_or(0)
    }
}

impl AddAssign for ReadCounts {
    fn add_assign(&mut self, other: Self) {
        self.reads += other.reads;
        self.bases += other.bases;
        self.q20 += other.q20;
        self.q30 += other.q30;
        self.gc += other.gc;
        self.longest = self.longest.max(other.longest);
    }
}

/// How many letters are so. Counts of pieces fit into a byte, so that many are counted at once.
pub fn count(text: &[u8], is_so: impl Fn(u8) -> bool) -> u64 {
    let piece = |piece: &[u8]| piece.iter().fold(0u8, |sum, &letter| sum + u8::from(is_so(letter)));
    text.chunks(u8::MAX.into()).map(|of| u64::from(piece(of))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_reads_add_up() {
        let mut all = ReadCounts::of(b"ACGTNgc", b"5?4>!II");
        assert_eq!(all, ReadCounts { reads: 1, bases: 7, q20: 5, q30: 3, gc: 4, longest: 7 });
        all += ReadCounts::of(&[b'G'; 1000], &[b'I'; 1000]);
        assert_eq!(
            all,
            ReadCounts { reads: 2, bases: 1007, q20: 1005, q30: 1003, gc: 1004, longest: 1000 }
        );
        assert_eq!((all.mean_length(), ReadCounts::default().mean_length()), (503, 0));
    }
}
