//! Finds mates in a container, so that their data about each other need not be stored.

use readmill_record::{Flags, RecordRef};

/// The part of a record that its mate needs.
#[derive(Clone, Copy)]
pub struct RecordEnd {
    /// One past the last base of the reference (0-based).
    pub end: i64,
    /// The index of its mate.
    pub mate: Option<usize>,
}

/// A table of records by name.
#[derive(Default)]
pub struct NameTable {
    /// Indexes of records plus one, at the place of their hash or after it; zero if free.
    slots: Vec<u32>,
    mask: usize,
}

fn hash(name: &[u8]) -> usize {
    let mut hash = name.len() as u64;
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash >> 20) as usize
}

impl NameTable {
    /// Clears the table and makes room for `n` records.
    pub fn clear(&mut self, n: usize) {
        let size = (2 * n).next_power_of_two().max(16);
        self.slots.clear();
        self.slots.resize(size, 0);
        self.mask = size - 1;
    }

    /// Returns the last record called `name`, and replaces it by `number`.
    pub fn replace<'a>(
        &mut self,
        name: &[u8],
        number: usize,
        of: impl Fn(usize) -> &'a [u8],
    ) -> Option<usize> {
        let mut at = hash(name) & self.mask;
        loop {
            match self.slots[at] {
                0 => {
                    self.slots[at] = number as u32 + 1;
                    return None;
                }
                known if of(known as usize - 1) == name => {
                    self.slots[at] = number as u32 + 1;
                    return Some(known as usize - 1);
                }
                _ => at = (at + 1) & self.mask,
            }
        }
    }
}

/// Whether a record may have its mate in the container.
pub fn may_pair(record: RecordRef<'_>) -> bool {
    record.flags().is_paired() && record.flags().is_primary()
}

/// Whether decoding restores the data of two records about each other; `first` comes first. (This requires more
/// than htslib does: TLEN must be the same by the ends of the template and by the 5′ ends, as in htsjdk.)
pub fn are_mates(first: (RecordRef<'_>, i64), second: (RecordRef<'_>, i64)) -> bool {
    let (a, b) = (first.0, second.0);
    let says = |one: RecordRef<'_>, other: RecordRef<'_>| {
        let (flags, mate) = (one.flags(), other.flags());
        flags.is_mate_unmapped() == mate.is_unmapped()
            && flags.is_mate_reverse() == mate.is_reverse()
            && (one.next_ref_id(), one.next_pos()) == (other.ref_id(), other.pos())
    };
    if a.ref_id() != b.ref_id() || !says(a, b) || !says(b, a) {
        return false;
    }
    if (a.flags().0 | b.flags().0) & Flags::UNMAPPED != 0 {
        return a.tlen() == 0 && b.tlen() == 0;
    }
    let (forward, reverse) = if a.flags().is_reverse() { (second, first) } else { (first, second) };
    if forward.0.flags().is_reverse() || !reverse.0.flags().is_reverse() {
        return false;
    }
    let (left, right) = (forward.0.pos(), reverse.1);
    if reverse.0.pos() < left || forward.1 > right {
        return false;
    }
    let length = right - i64::from(left);
    if a.pos() == b.pos() {
        return false; // the sign depends on more than this
    }
    let positive = a.pos() == left;
    let own = if positive { length } else { -length };
    (i64::from(a.tlen()), i64::from(b.tlen())) == (own, -own)
}
