//! Mates that overlap: where both cover a base, it counts once.
//!
//! A read whose mate begins before the read ends waits for it. Its mate, which is found by the name, takes back the bases
//! that both cover. Names are compared by a hash of 64 bits, among the reads that wait at one place of the genome.

use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;
use readmill_record::RecordRef;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// A change of the depth: the position from which it holds (0-based), and how much is added.
pub type Event = (u32, i32);

/// A run of aligned bases: its first position, and the one after its last.
pub type Block = (u32, u32);

/// A read that waits for its mate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingRead {
    pub(crate) name: u64,
    pub(crate) place: ReadPlace,
    pub(crate) blocks: Vec<Block>,
}

/// Where a read lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadPlace {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Whether its CIGAR has one operator, which aligns bases.
    pub(crate) is_simple: bool,
}

/// The part of a read in the search for its mate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// It waits for its mate, which begins inside it.
    Wait,
    /// It begins where its mate does: whichever comes first waits.
    Either,
    /// Its mate came before, if they overlap.
    Meet,
    /// Its mate is elsewhere.
    Apart,
}

impl Meeting {
    /// Returns the part of a read that ends at `end`, 0-based and exclusive.
    #[inline]
    pub(crate) fn of(record: RecordRef<'_>, end: i64) -> Self {
        const PROPER: u16 = 0x2;
        const SUPPLEMENTARY: u16 = 0x800;
        let flags = record.flags().0;
        if flags & (PROPER | SUPPLEMENTARY) != PROPER {
            return Meeting::Apart;
        }
        let (start, mate) = (record.pos(), record.next_pos());
        let is_near = record.ref_id() == record.next_ref_id() && end > i64::from(mate);
        match start.cmp(&mate) {
            std::cmp::Ordering::Less if is_near => Meeting::Wait,
            std::cmp::Ordering::Less => Meeting::Apart,
            std::cmp::Ordering::Equal if is_near => Meeting::Either,
            _ => Meeting::Meet,
        }
    }
}

/// Returns the name of a read as a number.
#[inline]
pub(crate) fn name_of(record: RecordRef<'_>) -> u64 {
    xxh3_64(record.qname())
}

/// Takes back the bases that a read and its mate, which came before it, both cover.
///
/// Where both have one operator, which aligns bases, mosdepth (0.3.3) takes back all bases from the start of the read to the end of the mate.
pub(crate) fn take_back(
    read: (ReadPlace, &[Block]),
    mate: (ReadPlace, &[Block]),
    mut event: impl FnMut(Event),
) {
    let ((place, blocks), (mate, of_mate)) = (read, mate);
    if place.is_simple && mate.is_simple {
        event((place.start, -1));
        event((mate.end, 1));
        return;
    }
    let (mut mine, mut theirs) = (blocks.iter(), of_mate.iter());
    let (mut a, mut b) = (mine.next(), theirs.next());
    while let (Some(&(a_start, a_end)), Some(&(b_start, b_end))) = (a, b) {
        let (from, to) = (a_start.max(b_start), a_end.min(b_end));
        if from < to {
            event((from, -1));
            event((to, 1));
        }
        if a_end <= b_end {
            a = mine.next();
        } else {
            b = theirs.next();
        }
    }
}

/// Leaves a hash of names as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NoHasher(u64);

impl Hasher for NoHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// A map by the names of reads.
pub(crate) type ByName<T> = HashMap<u64, T, BuildHasherDefault<NoHasher>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(read: (&[Block], bool), mate: (&[Block], bool)) -> Vec<Event> {
        let place = |(blocks, is_simple): (&[Block], bool)| {
            let (start, end) = (blocks[0].0, blocks[blocks.len() - 1].1);
            (ReadPlace { start, end, is_simple }, blocks.to_vec())
        };
        let ((a, a_blocks), (b, b_blocks)) = (place(read), place(mate));
        let mut events = Vec::new();
        take_back((a, &a_blocks), (b, &b_blocks), |event| events.push(event));
        events
    }

    #[test]
    fn bases_of_both_are_taken_back() {
        let (read, mate) = ([(30, 40), (50, 70)], [(10, 35), (38, 60)]);
        let expected = [(30, -1), (35, 1), (38, -1), (40, 1), (50, -1), (60, 1)];
        assert_eq!(shared((&read, false), (&mate, false)), expected);
        assert_eq!(shared((&[(60, 70)], true), (&mate, false)), []);
        assert_eq!(shared((&[(20, 30)], true), (&[(10, 40)], false)), [(20, -1), (30, 1)]);
        assert_eq!(shared((&[(20, 30)], true), (&[(10, 40)], true)), [(20, -1), (40, 1)], "as mosdepth");
    }
}
