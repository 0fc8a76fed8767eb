//! The first 100,000 distinct sequences of a file, from which duplication is estimated.

use hashbrown::HashTable;

pub(crate) const MAX_SEQUENCES: usize = 100_000;

/// Returns the part of a read that identifies its sequence. As in FastQC, reads of more than 75
/// bases are compared by their first 50 bases, so that errors near the end do not make duplicates
/// differ.
#[inline]
pub(crate) fn sequence_key(bases: &[u8]) -> &[u8] {
    if bases.len() > MAX_WHOLE_KEY { &bases[..KEY_PREFIX] } else { bases }
}

const MAX_WHOLE_KEY: usize = 75;
const KEY_PREFIX: usize = 50;

#[derive(Default)]
pub(crate) struct DistinctSequences {
    numbers: HashTable<u32>,
    ends: Vec<u32>,
    text: Vec<u8>,
}

impl DistinctSequences {
    /// Maximum memory in bytes, including the read counts and the order in which the report lists
    /// the sequences.
    pub const BYTES: u64 = (MAX_SEQUENCES * (MAX_WHOLE_KEY + 4 + 4 + 24) + (1 << 17) * 2 * 5) as u64;

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn sequence(&self, number: usize) -> &[u8] {
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.text[start as usize..self.ends[number] as usize]
    }

    #[inline]
    pub fn find(&self, sequence: &[u8]) -> Option<u32> {
        self.numbers
            .find(hash_sequence(sequence), |&number| self.sequence(number as usize) == sequence)
            .copied()
    }

    /// Returns the number of a sequence; a new sequence gets the next number. The caller stops at
    /// [`MAX_SEQUENCES`] sequences.
    pub fn find_or_insert(&mut self, sequence: &[u8]) -> u32 {
        if let Some(number) = self.find(sequence) {
            return number;
        }
        if self.ends.capacity() == 0 {
            // All memory is allocated with the first sequence. The plan charges for its full size,
            // and no buffer is ever copied.
            self.ends.reserve_exact(MAX_SEQUENCES);
            self.text.reserve_exact(MAX_SEQUENCES * MAX_WHOLE_KEY);
            self.numbers.reserve(MAX_SEQUENCES, |_| 0);
        }
        let number = self.ends.len() as u32;
        self.text.extend_from_slice(sequence);
        self.ends.push(self.text.len() as u32);
        let DistinctSequences { numbers, ends, text } = self;
        let of = |number: usize| {
            let start = if number == 0 { 0 } else { ends[number - 1] };
            hash_sequence(&text[start as usize..ends[number] as usize])
        };
        numbers.insert_unique(hash_sequence(sequence), number, |&number| of(number as usize));
        number
    }
}

#[inline]
fn hash_sequence(sequence: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let fold = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(FACTOR);
        product as u64 ^ (product >> 64) as u64
    };
    let (words, rest) = sequence.as_chunks::<8>();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let start = FACTOR.rotate_left(17) ^ sequence.len() as u64;
    let hash = words.iter().fold(start, |hash, word| fold(hash, u64::from_le_bytes(*word)));
    fold(fold(hash, u64::from_le_bytes(last)), FACTOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sequences_have_numbers_in_the_order_in_which_they_come() {
        let mut distinct = DistinctSequences::default();
        let numbers = [&b"ACGT"[..], b"", b"ACG", b"ACGT", b"", b"ACGTACGTACGT"];
        assert_eq!(numbers.map(|sequence| distinct.find_or_insert(sequence)), [0, 1, 2, 0, 1, 3]);
        assert_eq!((distinct.len(), distinct.sequence(2)), (4, &b"ACG"[..]));
        assert_eq!((distinct.find(b"ACG"), distinct.find(b"AC")), (Some(2), None));
        assert_eq!((sequence_key(&[b'A'; 75]).len(), sequence_key(&[b'A'; 76]).len()), (75, 50));
    }
}
