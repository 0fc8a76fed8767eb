//! Rejects shifts at which two sequences differ too much, 64 shifts at a time.
//!
//! Overlaps and adapters are both found by sliding one sequence along another ([`crate::overlap`],
//! [`crate::adapter`]). Most shifts are hopeless, so this filter removes them before the caller
//! compares base by base:
//!
//! 1. [`Shifts::set_text`] makes, for each letter, a bit mask of the text: bit `i` is set if base `i`
//!    differs from the letter.
//! 2. Base `j` of the other sequence selects the mask of its letter. Shifted right by `j`, bit `s`
//!    of that mask tells whether this base mismatches at shift `s`.
//! 3. These bits are added to 64 small counters, stored bit-sliced: one word for each of their
//!    three bits.
//! 4. A counter that overflows rejects its shift. For unrelated sequences, all 64 overflow after
//!    about 20 bases.

use std::ops::Range;

/// Number of leading bases of the other sequence that are compared: as many as decide an overlap.
/// Must be below 64, so that two words hold the mask bits for 64 shifts.
const COMPARED_BASES: usize = 50;

/// Maximum number of differences that a three-bit counter can hold.
const MAX_DIFFERENCES: usize = 7;

/// Number of letter classes: A, C, G, T, N, and one for all other bytes, which differ from
/// everything.
const LETTER_CLASSES: usize = 6;

const CLASS_OF_LETTER: [u8; 256] = {
    let mut all = [LETTER_CLASSES as u8 - 1; 256];
    all[b'A' as usize] = 0;
    all[b'C' as usize] = 1;
    all[b'G' as usize] = 2;
    all[b'T' as usize] = 3;
    all[b'N' as usize] = 4;
    all
};

/// Mismatch masks of a text. The buffer is reused across texts.
#[derive(Default)]
pub struct Shifts {
    /// One element for each 64 bases of the text, with a mask for each letter class. One more empty
    /// element follows, so that the element after any block can be read.
    differing: Vec<[u64; LETTER_CLASSES]>,
}

impl Shifts {
    pub fn set_text(&mut self, text: &[u8]) {
        self.differing.clear();
        for block in text.chunks(64) {
            let mut same = [0u64; LETTER_CLASSES];
            for (at, &base) in block.iter().enumerate() {
                same[usize::from(CLASS_OF_LETTER[usize::from(base)])] |= 1 << at;
            }
            same[LETTER_CLASSES - 1] = 0;
            let all = u64::MAX >> (64 - block.len());
            self.differing.push(same.map(|same| all & !same));
        }
        self.differing.push([0; LETTER_CLASSES]);
    }

    /// Returns the first shift in `shifts` for which `is_it` returns true.
    ///
    /// `is_it` is called only for shifts at which the first bases of `other` have at most
    /// `max_differences` differences. Bases that extend beyond the end of the text do not count as
    /// differences.
    pub fn find_shift(
        &self,
        other: &[u8],
        shifts: Range<usize>,
        max_differences: usize,
        mut is_it: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        for first in (0..shifts.end).step_by(64) {
            let mut alive = self.find_possible_shifts(other, first / 64, max_differences);
            let range = shifts.start.saturating_sub(first).min(64)..(shifts.end - first).min(64);
            alive &= low_bits_mask(range.end) & !low_bits_mask(range.start);
            while alive != 0 {
                let shift = first + alive.trailing_zeros() as usize;
                if is_it(shift) {
                    return Some(shift);
                }
                alive &= alive - 1;
            }
        }
        None
    }

    /// Returns a mask of the shifts in this block that have at most `max_differences` differences.
    /// All bits are set (nothing is rejected) if `max_differences` exceeds the counters or the
    /// block is beyond the text.
    fn find_possible_shifts(&self, other: &[u8], block: usize, max_differences: usize) -> u64 {
        let (Some(low), Some(high)) = (self.differing.get(block), self.differing.get(block + 1)) else {
            return u64::MAX;
        };
        if max_differences > MAX_DIFFERENCES {
            return u64::MAX;
        }
        // The counters start at a value from which `max_differences + 1` differences make them overflow.
        let start = MAX_DIFFERENCES - max_differences;
        let mut counter = [0, 1, 2].map(|bit| if start >> bit & 1 == 1 { u64::MAX } else { 0 });
        let mut dead = 0;
        for (bases, some) in other[..other.len().min(COMPARED_BASES)].chunks(4).enumerate() {
            for (at, &base) in some.iter().enumerate() {
                let (letter, by) = (usize::from(CLASS_OF_LETTER[usize::from(base)]), bases * 4 + at);
                let mut carry = low[letter] >> by | high[letter] << 1 << (63 - by);
                for bits in &mut counter {
                    (*bits, carry) = (*bits ^ carry, *bits & carry);
                }
                dead |= carry;
            }
            if dead == u64::MAX {
                break;
            }
        }
        !dead
    }
}

fn low_bits_mask(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds all shifts with at most `max_differences` differences by comparing every base.
    fn slow(text: &[u8], other: &[u8], shifts: Range<usize>, max_differences: usize) -> Vec<usize> {
        let differences = |shift: usize| {
            let pairs = text[shift.min(text.len())..].iter().zip(other.iter().take(COMPARED_BASES));
            pairs.filter(|&(&a, &b)| a != b || CLASS_OF_LETTER[usize::from(a)] == 5).count()
        };
        shifts.filter(|&shift| differences(shift) <= max_differences).collect()
    }

    #[test]
    fn shifts_are_those_that_a_slow_search_finds() {
        let mut state = 7u64;
        let mut random = |below: u64| {
            state =
                state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for case in 0..2000 {
            let letters = [&b"AC"[..], b"ACGT", b"ACGTNa"][case % 3];
            let mut text = |below| -> Vec<u8> {
                let length = random(below);
                (0..length).map(|_| letters[random(letters.len() as u64) as usize]).collect()
            };
            let (one, other) = (text(260), text(80));
            let shifts = (case % 5) * 13..case % 270;
            let max_differences = case % 9;
            let (mut found, mut all) = (Vec::new(), Shifts::default());
            all.set_text(&one);
            let none = all.find_shift(&other, shifts.clone(), max_differences, |shift| {
                found.push(shift);
                false
            });
            assert_eq!(none, None);
            let wanted = slow(
                &one,
                &other,
                shifts.clone(),
                if max_differences > MAX_DIFFERENCES { usize::MAX } else { max_differences },
            );
            assert_eq!(found, wanted, "{case}");
            if let Some(&first) = wanted.first() {
                assert_eq!(all.find_shift(&other, shifts, max_differences, |_| true), Some(first));
            }
        }
    }
}
