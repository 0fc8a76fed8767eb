//! Overlapping mates: a base that both reads of a pair cover is counted once.
//!
//! First, all aligned bases of both reads are counted. A read whose mate starts inside it waits for
//! the mate. When the mate is read, the bases that both cover are subtracted once. Mates are found
//! by a 64-bit hash of the read name, among the waiting reads of the same contig.

use std::hash::{BuildHasherDefault, Hasher};

use hashbrown::HashMap;
use readmill_record::RecordRef;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

/// A depth change: its 0-based position, and the number that is added to the depth from there on.
pub type DepthChange = (u32, i32);

/// A block of aligned bases, 0-based and half-open.
pub type AlignedBlock = (u32, u32);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WaitingRead {
    pub(crate) name: u64,
    pub(crate) place: ReadPlace,
    pub(crate) blocks: Vec<AlignedBlock>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReadPlace {
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The CIGAR is a single M, = or X operation. mosdepth treats pairs of such reads differently
    /// (see [`subtract_overlap`]).
    pub(crate) is_simple: bool,
}

/// How a read finds its mate, decided from its own fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// The mate starts inside this read: this read waits.
    Wait,
    /// Both mates start at the same position: the first one in the file waits.
    Either,
    /// The mate is an earlier read, which waits if the two overlap.
    Meet,
    /// The mates do not overlap, or are not a proper pair.
    Apart,
}

impl Meeting {
    /// Decides for a read that ends at `end` (0-based, exclusive). As in mosdepth, only reads of
    /// proper pairs look for mates, without supplementary alignments.
    #[inline]
    pub(crate) fn for_record(record: RecordRef<'_>, end: i64) -> Self {
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

#[inline]
pub(crate) fn hash_name(record: RecordRef<'_>) -> u64 {
    xxh3_64(record.qname())
}

/// Passes the depth changes to `event` that subtract the bases which a read and its earlier mate
/// both cover.
///
/// If both reads have a single M, = or X operation, mosdepth 0.3.3 subtracts from the start of the
/// read to the end of the mate, even if the read ends first.
pub(crate) fn subtract_overlap(
    read: (ReadPlace, &[AlignedBlock]),
    mate: (ReadPlace, &[AlignedBlock]),
    mut event: impl FnMut(DepthChange),
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

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
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

pub(crate) type ByName<T> = HashMap<u64, T, BuildHasherDefault<IdentityHasher>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(read: (&[AlignedBlock], bool), mate: (&[AlignedBlock], bool)) -> Vec<DepthChange> {
        let place = |(blocks, is_simple): (&[AlignedBlock], bool)| {
            let (start, end) = (blocks[0].0, blocks[blocks.len() - 1].1);
            (ReadPlace { start, end, is_simple }, blocks.to_vec())
        };
        let ((a, a_blocks), (b, b_blocks)) = (place(read), place(mate));
        let mut events = Vec::new();
        subtract_overlap((a, &a_blocks), (b, &b_blocks), |event| events.push(event));
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
