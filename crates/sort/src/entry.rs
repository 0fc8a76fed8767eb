//! Entries, which are sorted instead of records: a key and the place of the record's bytes.

use super::key::Key;

/// The place of an arena record: 39 bits of offset, 24 of length. The merge uses the highest bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub u64);

impl Place {
    /// A length that does not fit is stored as this, and read from the record itself.
    const LONG: u64 = (1 << 24) - 1;

    /// Packs the place of an arena record of `len` bytes.
    pub fn new(offset: usize, len: usize) -> Self {
        debug_assert!((offset as u64) < 1 << 39);
        Place((offset as u64) << 24 | (len as u64).min(Self::LONG))
    }

    /// Offset in the arena.
    pub fn offset(self) -> usize {
        (self.0 >> 24) as usize
    }

    /// Bytes of the arena record; `None` if it is too long to be stored here.
    pub fn arena_len(self) -> Option<usize> {
        let len = self.0 & Self::LONG;
        (len < Self::LONG).then_some(len as usize)
    }
}

/// Key and place: 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key of the order.
    pub key: Key,
    /// The place in the arena.
    pub place: Place,
}

const DIGIT_BITS: u32 = 11;

/// Sorts by key; equal keys keep their order. Least significant digit first, and only over the bits in which
/// the keys differ, which for coordinates are a few more than the bits of a contig's length. Returns whether
/// they were already in order.
pub fn sort(entries: &mut Vec<Entry>, scratch: &mut Vec<Entry>) -> bool {
    let Some(&first) = entries.first() else { return true };
    if entries.is_sorted_by_key(|entry| entry.key) {
        return true;
    }
    let mut differing = entries.iter().fold([0; 2], |bits, entry| {
        std::array::from_fn(|word| bits[word] | (entry.key.0[word] ^ first.key.0[word]))
    });
    for word in [1, 0] {
        while differing[word] != 0 {
            let shift = differing[word].trailing_zeros();
            pass(entries, scratch, |key| key.0[word] >> shift);
            std::mem::swap(entries, scratch);
            let digit = (1u64 << DIGIT_BITS) - 1;
            differing[word] &= !(digit << shift);
        }
    }
    false
}

/// Distributes `from` into `to` by the lowest digit of `number`.
fn pass(from: &[Entry], to: &mut Vec<Entry>, number: impl Fn(Key) -> u64) {
    const BUCKETS: usize = 1 << DIGIT_BITS;
    let digit = |entry: &Entry| number(entry.key) as usize & (BUCKETS - 1);
    let mut next = [0u32; BUCKETS];
    for entry in from {
        next[digit(entry)] += 1;
    }
    let mut sum = 0;
    for slot in &mut next {
        sum += std::mem::replace(slot, sum);
    }
    to.resize(from.len(), from[0]);
    for entry in from {
        let slot = &mut next[digit(entry)];
        to[*slot as usize] = *entry;
        *slot += 1;
    }
}

#[cfg(test)]
mod tests {
    use readmill_simulate::Rng;

    use super::*;

    #[test]
    fn radix_equals_the_stable_standard_sort() {
        let mut rng = Rng::new(7);
        let mut random = || rng.bits();
        let masks = [[0, 0], [9, 0], [7, 3], [!0, !0], [0x3_0000_00ff, 0], [1 << 52, 1], [0, 0xfff0]];
        for (n, mask) in [0, 1, 1000, 5000, 3000, 64, 700].into_iter().zip(masks) {
            let mut entries: Vec<Entry> = (0..n)
                .map(|i| Entry { key: Key([random() & mask[0], random() & mask[1]]), place: Place(i) })
                .collect();
            let mut expected = entries.clone();
            expected.sort_by_key(|entry| entry.key);
            sort(&mut entries, &mut Vec::new());
            assert_eq!(entries, expected, "{n} keys under {mask:x?}");
        }
    }

    #[test]
    fn places_hold_what_they_are_given() {
        let place = Place::new((1 << 39) - 1, 350);
        assert_eq!((place.offset(), place.arena_len()), ((1 << 39) - 1, Some(350)));
        assert_eq!(Place::new(5, 1 << 24).arena_len(), None);
    }
}
