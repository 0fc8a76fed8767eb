//! Finds the shifts at which two texts may be alike, 64 of them at once.
//!
//! For each letter, a bit says of each base of one text that it differs. Shifted by the number of a base of the other
//! text, the bits of its letter say of 64 shifts at once whether the two bases there differ. These are added up in
//! counters whose bits lie in words of their own, until all shifts have too many differences: after some 20 bases, where
//! the texts are not alike. What is left is compared base by base, by whoever asks.

use std::ops::Range;

/// Bases of the other text that are looked at: those that decide whether mates overlap, and few enough that two words hold
/// all bits of 64 shifts.
const LOOKED_AT: usize = 50;

/// The most differences that are counted.
const MOST: usize = 7;

/// A, C, G, T and N, and all else, which differs from anything.
const LETTERS: usize = 6;

/// The number of each letter.
const NUMBERS: [u8; 256] = {
    let mut all = [LETTERS as u8 - 1; 256];
    all[b'A' as usize] = 0;
    all[b'C' as usize] = 1;
    all[b'G' as usize] = 2;
    all[b'T' as usize] = 3;
    all[b'N' as usize] = 4;
    all
};

/// Where each letter differs from a text.
#[derive(Default)]
pub struct Shifts {
    /// For each 64 bases of the text: bits of those that differ from each letter. One more block, of no base, ends it.
    differing: Vec<[u64; LETTERS]>,
}

impl Shifts {
    /// Takes a text.
    pub fn set(&mut self, text: &[u8]) {
        self.differing.clear();
        for block in text.chunks(64) {
            let mut same = [0u64; LETTERS];
            for (at, &base) in block.iter().enumerate() {
                same[usize::from(NUMBERS[usize::from(base)])] |= 1 << at;
            }
            same[LETTERS - 1] = 0;
            let all = u64::MAX >> (64 - block.len());
            self.differing.push(same.map(|same| all & !same));
        }
        self.differing.push([0; LETTERS]);
    }

    /// Returns the first of these shifts that `is_it`. It is asked only of those at which `other` does not differ in more
    /// than `most` of its first bases; behind its end, the text does not differ.
    pub fn find(
        &self,
        other: &[u8],
        shifts: Range<usize>,
        most: usize,
        mut is_it: impl FnMut(usize) -> bool,
    ) -> Option<usize> {
        for first in (0..shifts.end).step_by(64) {
            let mut alive = self.alive(other, first / 64, most);
            let range = shifts.start.saturating_sub(first).min(64)..(shifts.end - first).min(64);
            alive &= ones(range.end) & !ones(range.start);
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

    /// The shifts in this block that do not have too many differences.
    fn alive(&self, other: &[u8], block: usize, most: usize) -> u64 {
        let (Some(low), Some(high)) = (self.differing.get(block), self.differing.get(block + 1)) else {
            return u64::MAX;
        };
        if most > MOST {
            return u64::MAX;
        }
        // Counters start so high that one difference too many makes them overflow.
        let start = MOST - most;
        let mut counter = [0, 1, 2].map(|bit| if start >> bit & 1 == 1 { u64::MAX } else { 0 });
        let mut dead = 0;
        for (bases, some) in other[..other.len().min(LOOKED_AT)].chunks(4).enumerate() {
            for (at, &base) in some.iter().enumerate() {
                let (letter, by) = (usize::from(NUMBERS[usize::from(base)]), bases * 4 + at);
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

/// A word of so many ones.
fn ones(bits: usize) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All shifts at which there are at most so many differences, one by one.
    fn slow(text: &[u8], other: &[u8], shifts: Range<usize>, most: usize) -> Vec<usize> {
        let differences = |shift: usize| {
            let pairs = text[shift.min(text.len())..].iter().zip(other.iter().take(LOOKED_AT));
            pairs.filter(|&(&a, &b)| a != b || NUMBERS[usize::from(a)] == 5).count()
        };
        shifts.filter(|&shift| differences(shift) <= most).collect()
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
            let most = case % 9;
            let (mut found, mut all) = (Vec::new(), Shifts::default());
            all.set(&one);
            let none = all.find(&other, shifts.clone(), most, |shift| {
                found.push(shift);
                false
            });
            assert_eq!(none, None);
            let wanted = slow(&one, &other, shifts.clone(), if most > MOST { usize::MAX } else { most });
            assert_eq!(found, wanted, "{case}");
            if let Some(&first) = wanted.first() {
                assert_eq!(all.find(&other, shifts, most, |_| true), Some(first));
            }
        }
    }
}
