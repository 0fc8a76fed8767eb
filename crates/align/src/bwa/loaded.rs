//! Checks a loaded bwa-mem3 index before the C++ code uses it.
//!
//! The C++ code looks up rows and positions without bounds checks. The following checks of the
//! loaded data guarantee that they exist:
//!
//! - Each row has exactly one preceding base, except the row of the whole text, and the counts
//!   are the sums of these bases. So extending a match leads to an existing range of rows with the
//!   right size.
//! - Each strand has as many A as the other has T, and so on. So the same is true for
//!   reverse-complement matches.
//! - Samples of the suffix array are positions in the text. Those near its end are correct; the
//!   others are so far from the end that no read extends beyond it.

use crate::text::{self, IndexFault, Transform};

/// A block of 64 rows (`CP_OCC` of bwa-mem3): how often each base precedes the rows of earlier
/// blocks, and for each base a mask of the rows that it precedes, with the first row in the highest
/// bit.
#[repr(C)]
#[derive(Clone)]
pub(super) struct CheckpointBlock {
    pub(super) counts: [u64; 4],
    pub(super) masks: [u64; 4],
}

const ROWS_PER_BLOCK: u64 = 64;

/// The parts of an index in the memory of the C++ code. Its rows are the suffixes of both strands
/// and the empty suffix.
pub(super) struct LoadedBwaIndex<'a> {
    pub(super) bases: u64,
    /// The first row of the suffixes that start with each base, followed by the number of rows.
    pub(super) first_rows: [u64; 5],
    pub(super) whole_text_row: u64,
    pub(super) blocks: &'a [CheckpointBlock],
    /// Base-2 logarithm of the sampling rate of the suffix array.
    pub(super) shift: u32,
    /// The samples, split as in bwa-mem3: the bits from 32 on, and the lower 32 bits.
    pub(super) samples: (&'a [i8], &'a [u32]),
    /// Bases of the first strand, four per byte, the first one in the highest bits.
    pub(super) packed: &'a [u8],
}

impl LoadedBwaIndex<'_> {
    /// Checks the parts against each other, and reads [`text::READ_BACK_BASES`] bases back.
    pub(super) fn check_index(&self) -> Result<(), IndexFault> {
        self.check_and_read_back(text::READ_BACK_BASES)
    }

    fn check_and_read_back(&self, max_bases: u64) -> Result<(), IndexFault> {
        self.check_firsts()?;
        self.check_blocks()?;
        text::check_text(self, max_bases, self.check_starts(max_bases)?)
    }

    fn check_firsts(&self) -> Result<(), IndexFault> {
        let [a, c, g, t, end] = self.first_rows;
        let sorted = a == 1 && self.first_rows.is_sorted() && end == self.length() + 1;
        if sorted && c - a == end - t && g - c == t - g { Ok(()) } else { Err(IndexFault::Transform) }
    }

    fn check_blocks(&self) -> Result<(), IndexFault> {
        let mut counts = [0; 4];
        let mut left = self.length() + 1;
        for (at, block) in (0..).zip(self.blocks) {
            let rows = left.min(ROWS_PER_BLOCK);
            left -= rows;
            let mut all = !u64::MAX.checked_shr(rows as u32).unwrap_or(0);
            if at == self.whole_text_row / ROWS_PER_BLOCK {
                all &= !(1 << (ROWS_PER_BLOCK - 1 - self.whole_text_row % ROWS_PER_BLOCK));
            }
            let [a, c, g, t] = block.masks;
            let twice = a & c | g & t | (a | c) & (g | t);
            if twice != 0 || a | c | g | t != all || block.counts != counts {
                return Err(IndexFault::Transform);
            }
            for (count, mask) in counts.iter_mut().zip(block.masks) {
                *count += u64::from(mask.count_ones());
            }
        }
        let firsts = self.first_rows.windows(2).map(|pair| pair[1] - pair[0]);
        if left == 0 && firsts.eq(counts) { Ok(()) } else { Err(IndexFault::Transform) }
    }

    /// Checks that all samples are positions in the text. Returns how many of them are within the
    /// last `last` bases.
    fn check_starts(&self, last: u64) -> Result<u64, IndexFault> {
        let (high, low) = self.samples;
        let rows = (self.length() >> self.shift) as usize + 1;
        let end = self.length();
        let (mut outside, mut among_last) = (0, 0);
        for (&high, &low) in high.iter().zip(low) {
            // A negative number becomes larger than any valid position.
            let start = (i64::from(high) << 32) as u64 | u64::from(low);
            outside += u64::from(start > end);
            among_last += u64::from(start >= end.saturating_sub(last));
        }
        let whole =
            (high.len(), low.len()) == (rows, rows) && outside == 0 && self.sampled_start(0) == end;
        if whole { Ok(among_last) } else { Err(IndexFault::Starts) }
    }
}

impl Transform for LoadedBwaIndex<'_> {
    fn length(&self) -> u64 {
        2 * self.bases
    }

    fn base_before(&self, row: u64) -> Option<(u8, u64)> {
        let block = &self.blocks[(row / ROWS_PER_BLOCK) as usize];
        let within = row % ROWS_PER_BLOCK;
        let base = block.masks.iter().position(|mask| mask << within >> (ROWS_PER_BLOCK - 1) == 1)?;
        let earlier = (block.masks[base] & !(u64::MAX >> within)).count_ones();
        Some((base as u8, self.first_rows[base] + block.counts[base] + u64::from(earlier)))
    }

    fn sample_period(&self) -> u64 {
        1 << self.shift
    }

    fn sampled_start(&self, row: u64) -> u64 {
        let (at, (high, low)) = ((row >> self.shift) as usize, self.samples);
        (i64::from(high[at]) << 32) as u64 | u64::from(low[at])
    }

    fn base(&self, at: u64) -> u8 {
        self.packed[(at / 4) as usize] >> (2 * (3 - at % 4)) & 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct TransformParts {
        bases: u64,
        firsts: [u64; 5],
        whole: u64,
        blocks: Vec<CheckpointBlock>,
        high: Vec<i8>,
        low: Vec<u32>,
        packed: Vec<u8>,
    }

    const SHIFT: u32 = 2;

    impl TransformParts {
        fn of(forward: &[u8]) -> Self {
            let text: Vec<u8> =
                forward.iter().copied().chain(forward.iter().rev().map(|base| 3 - base)).collect();
            let mut starts: Vec<usize> = (0..=text.len()).collect();
            starts.sort_by_key(|&at| &text[at..]);
            let mut blocks = Vec::new();
            let (mut counts, mut whole) = ([0; 4], 0);
            for (number, rows) in starts.chunks(64).enumerate() {
                let mut masks = [0; 4];
                for (at, &start) in rows.iter().enumerate() {
                    match start {
                        0 => whole = (64 * number + at) as u64,
                        _ => masks[usize::from(text[start - 1])] |= 1 << (63 - at),
                    }
                }
                blocks.push(CheckpointBlock { counts, masks });
                counts
                    .iter_mut()
                    .zip(masks)
                    .for_each(|(count, mask)| *count += u64::from(mask.count_ones()));
            }
            let first = |base| 1 + text.iter().filter(|&&other| other < base).count() as u64;
            let mut packed = vec![0; forward.len() / 4 + 1];
            for (at, base) in forward.iter().enumerate() {
                packed[at / 4] |= base << (2 * (3 - at % 4));
            }
            let low: Vec<u32> = starts.iter().step_by(1 << SHIFT).map(|&start| start as u32).collect();
            TransformParts {
                bases: forward.len() as u64,
                firsts: [0, 1, 2, 3, 4].map(first),
                whole,
                blocks,
                high: vec![0; low.len()],
                low,
                packed,
            }
        }

        fn check(&self, max_bases: u64) -> Result<(), IndexFault> {
            let (bases, firsts, whole, shift) = (self.bases, self.firsts, self.whole, SHIFT);
            let (blocks, packed) = (&self.blocks[..], &self.packed[..]);
            let starts = (&self.high[..], &self.low[..]);
            LoadedBwaIndex {
                bases,
                first_rows: firsts,
                whole_text_row: whole,
                blocks,
                shift,
                samples: starts,
                packed,
            }
            .check_and_read_back(max_bases)
        }

        fn changed(&self, max_bases: u64, change: impl FnOnce(&mut Self)) -> Result<(), IndexFault> {
            let mut copy = self.clone();
            change(&mut copy);
            copy.check(max_bases)
        }
    }

    fn parts() -> TransformParts {
        let forward: Vec<u8> = (0..130u32).map(|at| (at * at % 23 + at / 7) as u8 & 3).collect();
        TransformParts::of(&forward)
    }

    #[test]
    fn a_whole_index_is_good_however_much_is_read_back() {
        for max_bases in [1, 16, 259, 260, 1000] {
            assert_eq!(parts().check(max_bases), Ok(()), "{max_bases}");
        }
        assert_eq!(TransformParts::of(&[0; 33]).check(1000), Ok(()));
        assert_eq!(TransformParts::of(&[2]).check(1000), Ok(()));
    }

    #[test]
    fn counts_and_masks_are_right_to_the_bit_even_if_little_is_read_back() {
        let parts = parts();
        for (block, base, bit) in
            (0..parts.blocks.len()).flat_map(|block| (0..256).map(move |at| (block, at / 64, at % 64)))
        {
            let mask = parts.changed(1, |it| it.blocks[block].masks[base] ^= 1 << bit);
            let count = parts.changed(1, |it| it.blocks[block].counts[base] ^= 1 << bit);
            assert_eq!([mask, count], [Err(IndexFault::Transform); 2], "{block} {base} {bit}");
        }
        for bit in 0..64 {
            assert_eq!(parts.changed(1, |it| it.whole ^= 1 << bit), Err(IndexFault::Transform), "{bit}");
            for at in 0..5 {
                assert_eq!(
                    parts.changed(1, |it| it.firsts[at] ^= 1 << bit),
                    Err(IndexFault::Transform),
                    "{bit}"
                );
            }
        }
        assert_eq!(parts.changed(1, |it| it.blocks.truncate(4)), Err(IndexFault::Transform));
        assert_eq!(parts.changed(1, |it| it.low.truncate(4)), Err(IndexFault::Starts));
    }

    #[test]
    fn no_suffix_starts_outside_or_unread_among_the_last_bases() {
        let parts = parts();
        for at in 0..parts.low.len() {
            for start in [261, u32::MAX, 260, 259, 250, 244] {
                if parts.low[at] != start {
                    let wrong = parts.changed(16, |it| it.low[at] = start);
                    assert_eq!(wrong, Err(IndexFault::Starts), "{at} {start}");
                }
            }
            for high in [1, 127, -1, -128] {
                assert_eq!(
                    parts.changed(16, |it| it.high[at] = high),
                    Err(IndexFault::Starts),
                    "{at} {high}"
                );
            }
        }
    }

    #[test]
    fn what_is_read_back_is_right_to_the_bit() {
        let parts = parts();
        for at in 0..parts.low.len() {
            for bit in 0..32 {
                let wrong = parts.changed(1000, |it| it.low[at] ^= 1 << bit);
                assert_eq!(wrong, Err(IndexFault::Starts), "{at} {bit}");
            }
        }
        for base in 0..130 {
            let wrong = parts.changed(1000, |it| it.packed[base / 4] ^= 1 << (2 * (3 - base % 4)));
            assert_eq!(wrong, Err(IndexFault::Bases), "{base}");
        }
    }

    /// Swapping two bases of the transform leaves the counts correct, so only reading back can
    /// detect it.
    #[test]
    fn rows_that_changed_places_are_found_by_reading_back() {
        let parts = parts();
        let swapped = parts.changed(1000, |it| {
            let masks = &mut it.blocks[1].masks;
            let bit = |of: u64| of & of.wrapping_neg();
            let (one, two) = (bit(masks[0]), bit(masks[2]));
            masks[0] ^= one | two;
            masks[2] ^= one | two;
        });
        assert!(swapped.is_err());
    }
}
