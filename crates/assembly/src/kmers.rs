//! Numbers for the distinct k-mers of a text.

use std::ops::Range;

/// Marks positions of the text whose k-mer has no number.
const NONE: u32 = u32::MAX;

/// Base of the rolling hash, an odd constant of SplitMix64.
const FACTOR: u64 = 0xbf58_476d_1ce4_e5b9;

/// The number of the k-mer at each position of a text. K-mers of the same bases have the same number.
#[derive(Debug)]
pub(crate) struct KmerNumbers {
    numbers: Vec<u32>,
    count: usize,
}

impl KmerNumbers {
    /// Numbers the k-mers of the parts `spans` of `text`.
    pub(crate) fn new(text: &[u8], spans: &[Range<usize>], k: usize) -> Self {
        let positions: usize = spans.iter().map(|span| (span.len() + 1).saturating_sub(k)).sum();
        let mut table = KmerTable::with_capacity(positions);
        let mut numbers = vec![NONE; text.len()];
        let high = (1..k).fold(1u64, |power, _| power.wrapping_mul(FACTOR));
        for span in spans.iter().filter(|span| span.len() >= k) {
            let mut hash = 0u64;
            for index in span.clone() {
                if index >= span.start + k {
                    hash = hash.wrapping_sub(u64::from(text[index - k]).wrapping_mul(high));
                }
                hash = hash.wrapping_mul(FACTOR).wrapping_add(u64::from(text[index]));
                if index + 1 >= span.start + k {
                    let start = index + 1 - k;
                    numbers[start] = table.find_or_add(text, start, k, hash);
                }
            }
        }
        KmerNumbers { numbers, count: table.kmers.len() }
    }

    /// Returns how many distinct k-mers there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of the k-mer that starts at `position`, which must be inside a span.
    pub(crate) fn number_at(&self, position: usize) -> usize {
        self.numbers[position] as usize
    }
}

/// A hash table of k-mers, by the position of one occurrence.
struct KmerTable {
    /// Number of a k-mer, or `NONE`; open addressing.
    slots: Vec<u32>,
    shift: u32,
    /// Hash and position of each k-mer.
    kmers: Vec<(u64, u32)>,
}

impl KmerTable {
    fn with_capacity(count: usize) -> Self {
        let size = (2 * count).next_power_of_two().max(16);
        KmerTable { slots: vec![NONE; size], shift: 64 - size.trailing_zeros(), kmers: Vec::new() }
    }

    fn find_or_add(&mut self, text: &[u8], position: usize, k: usize, hash: u64) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = ((hash ^ hash >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        loop {
            let number = self.slots[slot];
            if number == NONE {
                self.slots[slot] = self.kmers.len() as u32;
                self.kmers.push((hash, position as u32));
                return self.slots[slot];
            }
            let (other_hash, other) = self.kmers[number as usize];
            let other = other as usize;
            if other_hash == hash && text[other..other + k] == text[position..position + k] {
                return number;
            }
            slot = (slot + 1) & mask;
        }
    }
}
