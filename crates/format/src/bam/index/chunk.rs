//! The elements of an index: chunks of bins, runs of windows, counts.

/// A range of the file with records of one bin, as virtual offsets. 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) bin: u32,
}

impl Chunk {
    /// The empty value: a bin that no scheme has.
    pub(super) const NONE: Chunk = Chunk { begin: 0, end: 0, bin: u32::MAX };

    /// Merges a later chunk of the same bin that starts in the block this one ends in: to read one is to read the
    /// other.
    pub(super) fn merge(&mut self, next: Chunk) -> bool {
        let joins = self.bin == next.bin && next.begin >> 16 <= self.end >> 16;
        if joins {
            self.end = self.end.max(next.end);
        }
        joins
    }

    /// This chunk with its partition at `base`.
    pub(super) fn rebased(self, base: u64) -> Self {
        Chunk { begin: rebase(self.begin, base), end: rebase(self.end, base), ..self }
    }
}

/// Converts a virtual offset in a partition to one in the file. The partition starts at byte `base` of the file.
pub(super) fn rebase(offset: u64, base: u64) -> u64 {
    offset + (base << 16)
}

/// The linear index of one reference sequence, as runs of windows with one offset: one past the last window of each
/// run, and the offset of the first record that overlaps it. A window that no record overlaps takes the offset of
/// the next window with records, so runs leave no gaps.
pub(super) type Windows = Vec<(u32, u64)>;

/// Adds the record at `offset`, which overlaps the windows before `end`. Windows that earlier records reached keep
/// their offset. The reference sequence has the last `own` of the runs; returns whether it has one more.
pub(super) fn reach(runs: &mut Windows, own: usize, end: u32, offset: u64) -> bool {
    let further = runs.last().filter(|_| own > 0).is_none_or(|&(reached, _)| reached < end);
    runs.extend(further.then_some((end, offset)));
    further
}

/// The offset of every window.
pub(super) fn offsets(runs: &Windows) -> Vec<u64> {
    let mut out = Vec::with_capacity(runs.last().map_or(0, |&(end, _)| end as usize));
    for &(end, offset) in runs {
        out.resize(end as usize, offset);
    }
    out
}

/// The content of the pseudo-bin of a reference sequence: the place and the number of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) mapped: u64,
    pub(super) unmapped: u64,
}
