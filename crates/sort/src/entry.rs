//! Entries, which are sorted instead of the records themselves. An entry holds a sort key and the
//! place of the record's bytes in the arena.

use super::key::Key;

/// The place of a record in the arena, packed into 64 bits: the offset in the upper bits (at most
/// 39 bits) and the length in the lower 24.
///
/// [`Place::new`] never sets the highest bit, so the merge uses it to mark records on disk. The
/// length of a record of 16 MiB or more does not fit and is read from the record itself.
///
/// ```
/// use readmill_sort::entry::Place;
///
/// let place = Place::new(4096, 350);
/// assert_eq!((place.offset(), place.arena_len()), (4096, Some(350)));
/// assert_eq!(Place::new(4096, 20 << 20).arena_len(), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(pub u64);

impl Place {
    const LONG_RECORD: u64 = (1 << 24) - 1;

    /// Packs an offset and a length in bytes. `len` includes the stamp that precedes the BAM record
    /// in the arena ([`STAMP_BYTES`](crate::run::STAMP_BYTES)).
    pub fn new(offset: usize, len: usize) -> Self {
        debug_assert!((offset as u64) < 1 << 39);
        Place((offset as u64) << 24 | (len as u64).min(Self::LONG_RECORD))
    }

    pub fn offset(self) -> usize {
        (self.0 >> 24) as usize
    }

    /// Returns the length of the arena record in bytes, including its stamp. Returns `None` if the
    /// length did not fit: callers then read the record's `block_size`.
    pub fn arena_len(self) -> Option<usize> {
        let len = self.0 & Self::LONG_RECORD;
        (len < Self::LONG_RECORD).then_some(len as usize)
    }
}

/// The unit of sorting, 24 bytes: the first 15 bytes of a record's sort key, and the record's
/// place.
///
/// There is one entry for each read in memory, so its size decides how many reads fit into the
/// arena's budget. Entries whose keys are equal but not [decided](Key::is_decided) must also be
/// compared by the tails of their keys; [`List::sort`](crate::List::sort) does both.
///
/// ```
/// use readmill_sort::entry::{Entry, Place, sort_entries};
/// use readmill_sort::Key;
///
/// let entry = |key: &[u8], offset| Entry { key: Key::of(key), place: Place::new(offset, 50) };
/// let mut entries = vec![entry(b"chr2", 0), entry(b"chr1", 50), entry(b"chr2", 100)];
/// let was_sorted = sort_entries(&mut entries, &mut Vec::new());
///
/// let offsets: Vec<usize> = entries.iter().map(|entry| entry.place.offset()).collect();
/// assert_eq!(offsets, [50, 0, 100]); // equal keys keep their order
/// assert!(!was_sorted);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: Key,
    pub place: Place,
}

const DIGIT_BITS: u32 = 11;

/// Sorts entries by key with a radix sort, and returns whether they were already in order. Entries
/// with equal keys keep their order; tails of keys are not compared.
///
/// The sort starts at the least significant digit of 11 bits and skips all bits that are equal in
/// every key. Keys of a coordinate sort differ in only a few more bits than the length of a contig
/// needs, so they take few passes. `scratch` is resized to the number of entries and can be reused
/// for the next list.
pub fn sort_entries(entries: &mut Vec<Entry>, scratch: &mut Vec<Entry>) -> bool {
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
            distribute_by_digit(entries, scratch, |key| key.0[word] >> shift);
            std::mem::swap(entries, scratch);
            let digit = (1u64 << DIGIT_BITS) - 1;
            differing[word] &= !(digit << shift);
        }
    }
    false
}

/// Performs one stable pass of the radix sort: copies `from` into `to`, ordered by the lowest 11
/// bits of `number`.
fn distribute_by_digit(from: &[Entry], to: &mut Vec<Entry>, number: impl Fn(Key) -> u64) {
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
            sort_entries(&mut entries, &mut Vec::new());
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
