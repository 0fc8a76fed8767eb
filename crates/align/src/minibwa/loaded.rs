//! Checks a loaded index of minibwa before the C code uses it.
//!
//! The C code looks up rows without bounds checks. Two checks of the loaded data guarantee that
//! they exist: the counts are the sums of the bases before each block, and each strand has as many
//! A as the other has T, and so on. Then extending a match always leads to an existing range of
//! rows. The samples of the suffix array are checked as well; the C code itself ignores those
//! outside the text.

use crate::text::{self, IndexFault, Transform};

/// Rows per block, not counting the row of the whole text.
const ROWS_PER_BLOCK: u64 = 128;
/// Words per block: four counts, then the bases that precede its rows, 32 per word, the first one
/// in the lowest bits.
const WORDS_PER_BLOCK: usize = 8;
/// From this bit on, a count of a block contains the count of its first half.
const HALF_SHIFT: u32 = 56;

/// The parts of an index in the memory of the C code. Its rows are the suffixes of both strands and
/// the empty suffix.
pub(super) struct LoadedMinibwaIndex<'a> {
    pub(super) bases: u64,
    /// For each base, the number of smaller bases; then the total number of bases.
    pub(super) smaller_bases: [u64; 5],
    pub(super) whole_text_row: u64,
    /// Blocks of [`WORDS_PER_BLOCK`] words, then the final counts.
    pub(super) blocks: &'a [u64],
    pub(super) shift: u32,
    /// The samples. The first one belongs to the empty suffix, which has no position.
    pub(super) samples: &'a [u64],
    pub(super) words: &'a [u64],
}

/// Returns how often each base is among the first `count` bases of a word.
fn count_bases(word: u64, count: u64) -> [u64; 4] {
    let within = if count < 32 { (1 << (2 * count)) - 1 } else { u64::MAX } & 0x5555_5555_5555_5555;
    let (low, high) = (word & within, word >> 1 & within);
    [!low & !high & within, low & !high, !low & high, low & high].map(|ones| ones.count_ones().into())
}

fn add_counts(to: &mut [u64; 4], more: [u64; 4]) {
    to.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

impl LoadedMinibwaIndex<'_> {
    /// Checks the parts against each other, and reads [`text::READ_BACK_BASES`] bases back.
    pub(super) fn check_index(&self) -> Result<(), IndexFault> {
        self.check_blocks()?;
        text::check_text(self, text::READ_BACK_BASES, self.check_starts()?)
    }

    fn check_blocks(&self) -> Result<(), IndexFault> {
        let (mut sum, mut left) = ([0; 4], self.length());
        let (blocks, last) = self.blocks.as_chunks::<WORDS_PER_BLOCK>();
        for &[a, c, g, t, ref words @ ..] in blocks {
            let stored = [a, c, g, t];
            let first = sum;
            let mut half = [0; 4];
            for (at, &word) in words.iter().enumerate() {
                let rows = left.min(32);
                left -= rows;
                add_counts(&mut sum, count_bases(word, rows));
                if at == 1 && left > 0 {
                    half = [0, 1, 2, 3].map(|base| sum[base] - first[base]);
                }
            }
            let expected = [0, 1, 2, 3].map(|base| first[base] | half[base] << HALF_SHIFT);
            if stored != expected {
                return Err(IndexFault::Transform);
            }
        }
        let [none, c, g, t, all] = self.smaller_bases;
        let sums =
            [none, c, g, t].into_iter().zip(sum).map(|(smaller, count)| smaller.wrapping_add(count));
        let symmetric = sum[0] == sum[3] && sum[1] == sum[2] && none == 0;
        let whole =
            left == 0 && *last == sum && self.whole_text_row <= self.length() && all == self.length();
        if whole && symmetric && sums.eq([c, g, t, all]) { Ok(()) } else { Err(IndexFault::Transform) }
    }

    /// Checks that all samples are positions in the text. Returns how many of them are near its
    /// end.
    fn check_starts(&self) -> Result<u64, IndexFault> {
        let end = self.length();
        let Some((&u64::MAX, starts)) = self.samples.split_first() else {
            return Err(IndexFault::Starts);
        };
        let outside = starts.iter().filter(|&&start| start >= end).count();
        let last =
            starts.iter().filter(|&&start| start >= end.saturating_sub(text::READ_BACK_BASES)).count();
        let whole = starts.len() as u64 == end >> self.shift && outside == 0;
        if whole { Ok(1 + last as u64) } else { Err(IndexFault::Starts) }
    }
}

impl Transform for LoadedMinibwaIndex<'_> {
    fn length(&self) -> u64 {
        2 * self.bases
    }

    fn base_before(&self, row: u64) -> Option<(u8, u64)> {
        if row == self.whole_text_row {
            return None;
        }
        let at = row - u64::from(row > self.whole_text_row);
        let (blocks, _) = self.blocks.as_chunks::<WORDS_PER_BLOCK>();
        let block = &blocks[(at / ROWS_PER_BLOCK) as usize];
        let (word, within) = ((at % ROWS_PER_BLOCK / 32) as usize, at % 32);
        let base = (block[4 + word] >> (2 * within) & 3) as usize;
        let of_words: u64 = block[4..4 + word].iter().map(|&word| count_bases(word, 32)[base]).sum();
        let earlier = (block[base] & ((1 << HALF_SHIFT) - 1)) + of_words;
        Some((
            base as u8,
            1 + self.smaller_bases[base] + earlier + count_bases(block[4 + word], within)[base],
        ))
    }

    fn sample_period(&self) -> u64 {
        1 << self.shift
    }

    fn sampled_start(&self, row: u64) -> u64 {
        self.samples[(row >> self.shift) as usize]
    }

    fn base(&self, at: u64) -> u8 {
        (self.words[(at / 32) as usize] >> (2 * (at % 32)) & 3) as u8
    }
}
