//! Sorts entries with equal keys by the tails of their keys, in bounded memory.
//!
//! A tail can be as long as a read name or an optional field, so tails are never stored. For a pair
//! of entries, both tails are computed from the records when they are compared. For larger groups,
//! the next 15 bytes of each tail are stored as keys in the scratch buffer of the list sort.
//! Entries that are equal in these bytes are sorted by the following 15 bytes, and so on.

use super::entry::{Entry, Place};
use super::key::Key;

/// Number of bytes of a tail that one round compares: all bytes of a [`Key`] except the last.
const PIECE_BYTES: usize = 15;

/// Maximum number of rounds, each of which is a level of recursion. Entries that are still equal
/// after them are compared by their complete tails, so that a field of 1 MB does not need a stack
/// of 1 MB.
const MAX_PIECES: u32 = 24;

/// Sorts entries by the tails of their keys. It owns two buffers for tails, which are reused for
/// each group. `make` replaces the content of the vector with the tail of the record at a place.
pub struct TailSort<F> {
    make_tail: F,
    first_tail: Vec<u8>,
    second_tail: Vec<u8>,
}

impl<F: FnMut(Place, &mut Vec<u8>)> TailSort<F> {
    pub fn new(make: F) -> Self {
        TailSort { make_tail: make, first_tail: Vec::new(), second_tail: Vec::new() }
    }

    /// Sorts a group of entries whose keys are equal. Entries with equal tails keep their order.
    /// `scratch` grows to the size of the group; callers pass the scratch buffer of the list sort.
    pub fn sort_group(&mut self, group: &mut [Entry], scratch: &mut Vec<Entry>) {
        if let [first, second] = group {
            if self.sorts_after(first.place, second.place) {
                std::mem::swap(&mut first.place, &mut second.place);
            }
        } else {
            self.sort_from(0, MAX_PIECES, group, scratch);
        }
    }

    /// Sorts a group whose tails are equal in their first `from` bytes, with at most `pieces`
    /// further rounds.
    fn sort_from(&mut self, from: usize, pieces: u32, group: &mut [Entry], scratch: &mut Vec<Entry>) {
        let Some(key) = group.first().map(|entry| entry.key) else { return };
        if pieces == 0 {
            return self.sort_by_whole_tails(group, scratch);
        }
        scratch.clear();
        scratch.reserve_exact(group.len());
        let mut shared = usize::MAX; // length of the prefix that all tails share
        for (number, entry) in (0..).zip(&*group) {
            (self.make_tail)(entry.place, &mut self.first_tail);
            if number == 0 {
                self.second_tail.clone_from(&self.first_tail);
            }
            let pairs = self.first_tail.iter().zip(&self.second_tail).take(shared);
            shared = pairs.take_while(|(a, b)| a == b).count();
            scratch.push(Entry { key: pack_tail_piece(&self.first_tail, from), place: Place(number) });
        }
        let first = scratch.first().map_or(Key([0; 2]), |entry| entry.key);
        if scratch.iter().all(|entry| entry.key == first) {
            if has_more_bytes(first) {
                self.sort_from(shared, pieces - 1, group, scratch);
            }
            return;
        }
        scratch.sort_unstable_by_key(|entry| (entry.key, entry.place.0));
        apply_order(group, scratch);
        // While groups of equal pieces are sorted, the pieces replace the keys. All keys of the
        // group are equal, so they can be restored afterwards.
        for (entry, sorted) in group.iter_mut().zip(&*scratch) {
            entry.key = sorted.key;
        }
        for equal in group.chunk_by_mut(|a, b| a.key == b.key).filter(|equal| equal.len() > 1) {
            if has_more_bytes(equal[0].key) {
                self.sort_from(from + PIECE_BYTES, pieces - 1, equal, scratch);
            }
        }
        group.iter_mut().for_each(|entry| entry.key = key);
    }

    fn sort_by_whole_tails(&mut self, group: &mut [Entry], scratch: &mut Vec<Entry>) {
        scratch.clear();
        scratch.reserve_exact(group.len());
        scratch.extend(
            (0..group.len()).map(|number| Entry { key: group[number].key, place: Place(number as u64) }),
        );
        scratch.sort_unstable_by(|a, b| {
            (self.make_tail)(group[a.place.0 as usize].place, &mut self.first_tail);
            (self.make_tail)(group[b.place.0 as usize].place, &mut self.second_tail);
            self.first_tail.cmp(&self.second_tail).then(a.place.0.cmp(&b.place.0))
        });
        apply_order(group, scratch);
    }

    fn sorts_after(&mut self, first: Place, second: Place) -> bool {
        (self.make_tail)(first, &mut self.first_tail);
        (self.make_tail)(second, &mut self.second_tail);
        self.first_tail > self.second_tail
    }
}

/// Puts `group` in the order of `sorted`. On entry, the places in `sorted` are indexes into
/// `group`.
fn apply_order(group: &mut [Entry], sorted: &mut [Entry]) {
    for entry in &mut *sorted {
        entry.place = group[entry.place.0 as usize].place;
    }
    for (entry, sorted) in group.iter_mut().zip(sorted) {
        entry.place = sorted.place;
    }
}

/// Returns up to 15 bytes of `tail`, starting at byte `from`, as a key padded with zeros. The last
/// byte of the key is the number of remaining bytes, at most 16, so a shorter tail sorts before its
/// extensions.
fn pack_tail_piece(tail: &[u8], from: usize) -> Key {
    let tail = tail.get(from..).unwrap_or_default();
    let mut bytes = [0; PIECE_BYTES + 1];
    let n = tail.len().min(PIECE_BYTES);
    bytes[..n].copy_from_slice(&tail[..n]);
    bytes[PIECE_BYTES] = tail.len().min(PIECE_BYTES + 1) as u8;
    let number = u128::from_be_bytes(bytes);
    Key([(number >> 64) as u64, number as u64])
}

fn has_more_bytes(piece: Key) -> bool {
    usize::from(piece.0[1] as u8) > PIECE_BYTES
}

#[cfg(test)]
mod tests {
    use readmill_simulate::Rng;

    use super::*;

    /// Sorts entries with these tails, and returns the indexes of the tails in order.
    fn sorted(tails: &[Vec<u8>], scratch: &mut Vec<Entry>) -> Vec<usize> {
        let key = Key([7, 9]);
        let mut group: Vec<Entry> =
            (0..tails.len() as u64).map(|i| Entry { key, place: Place(i) }).collect();
        TailSort::new(|place, into: &mut Vec<u8>| into.clone_from(&tails[place.0 as usize]))
            .sort_group(&mut group, scratch);
        assert!(group.iter().all(|entry| entry.key == key));
        group.iter().map(|entry| entry.place.0 as usize).collect()
    }

    fn check(tails: &[Vec<u8>]) {
        let mut expected: Vec<usize> = (0..tails.len()).collect();
        expected.sort_by_key(|&i| &tails[i]);
        let mut scratch = Vec::with_capacity(tails.len());
        assert!(sorted(tails, &mut scratch) == expected, "{} rests", tails.len());
        assert_eq!(scratch.capacity(), tails.len());
    }

    #[test]
    fn tails_of_every_length_are_sorted_as_bytes_are_and_equal_ones_stay() {
        let mut rng = Rng::new(5);
        let mut random = |below: u64| rng.below64(below);
        for (n, letters, longest, shared) in [
            (2, 2, 3, 0),
            (3, 2, 40, 0),
            (500, 2, 4, 0),
            (2000, 3, 50, 200),
            (700, 1, 400, 0),
            (900, 2, 34, 15),
        ] {
            let tail = |random: &mut dyn FnMut(u64) -> u64| -> Vec<u8> {
                let length = random(longest + 1) as usize;
                let bytes = std::iter::repeat_with(|| random(letters) as u8).take(length);
                std::iter::repeat_n(9, shared).chain(bytes.collect::<Vec<u8>>()).collect()
            };
            check(&(0..n).map(|_| tail(&mut random)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn tails_that_differ_late_are_sorted_without_a_deep_stack() {
        // Tail `i` shares its first `i` pieces with all tails of higher numbers, so each round
        // separates only one tail from the others.
        let tail =
            |i: usize| [vec![1; PIECE_BYTES * i], vec![0], vec![1; 7000 - PIECE_BYTES * i]].concat();
        check(&(0..400).rev().map(tail).collect::<Vec<_>>());
    }
}
