//! Finds mates within a container, whose mate fields need not be stored.

use readmill_record::{Flags, RecordRef};

#[derive(Clone, Copy)]
pub struct RecordEnd {
    /// End of the alignment (0-based, exclusive).
    pub end: i64,
    pub mate: Option<usize>,
}

/// A hash table of records by name, with open addressing. It keeps its memory between containers.
#[derive(Default)]
pub struct NameTable {
    /// Index of a record plus one, at the slot of its hash or the next free one; zero in a free
    /// slot.
    slots: Vec<u32>,
    mask: usize,
}

fn hash_name(name: &[u8]) -> usize {
    let mut hash = name.len() as u64;
    for chunk in name.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash >> 20) as usize
}

impl NameTable {
    pub fn clear(&mut self, n: usize) {
        let size = (2 * n).next_power_of_two().max(16);
        self.slots.clear();
        self.slots.resize(size, 0);
        self.mask = size - 1;
    }

    /// Returns the last record with name `name`, and replaces it with record `number`. `of` returns
    /// the name of a record.
    pub fn replace_record<'a>(
        &mut self,
        name: &[u8],
        number: usize,
        of: impl Fn(usize) -> &'a [u8],
    ) -> Option<usize> {
        let mut at = hash_name(name) & self.mask;
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

/// Returns whether a record can have its mate in the container: it is paired, and neither secondary
/// nor supplementary.
pub fn may_pair(record: RecordRef<'_>) -> bool {
    record.flags().is_paired() && record.flags().is_primary()
}

/// Returns whether the decoder restores exactly the mate fields of both records. Each record is
/// given with the end of its alignment, and `first` precedes `second`.
///
/// This is stricter than htslib: htslib measures TLEN between the ends of the template, htsjdk
/// between 5' ends, and both must give the stored TLEN.
pub fn has_restorable_mates(first: (RecordRef<'_>, i64), second: (RecordRef<'_>, i64)) -> bool {
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
        return false; // then the sign depends on other fields, too
    }
    let positive = a.pos() == left;
    let own = if positive { length } else { -length };
    (i64::from(a.tlen()), i64::from(b.tlen())) == (own, -own)
}
