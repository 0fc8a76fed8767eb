//! The elements of an index: the mapping of positions to bins (SAM specification, section 5.1), chunks of bins, runs of
//! windows, counts.

use readmill_record::{Error, Header, RecordRef, Result};
use serde::{Deserialize, Serialize};

/// log2 of the bases in a window of the linear index (16 KiB in a BAI) and in a bin of the lowest level.
pub(super) const MIN_SHIFT: u8 = 14;
/// Levels below the root in a BAI.
pub(super) const BAI_DEPTH: u8 = 5;
/// The most levels below the root: the numbers of more bins would not fit into 31 bits.
const MAX_DEPTH: u8 = 9;
/// Levels, root included, of the deepest scheme.
pub(super) const MAX_LEVELS: usize = MAX_DEPTH as usize + 1;
/// The longest reference sequence a BAI covers.
pub(super) const BAI_LENGTH: u32 = 1 << 29;

/// The format of an index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexFormat {
    /// `.bai`
    Bai,
    /// `.csi`
    Csi,
    /// `.tbi`
    Tbi,
}

impl IndexFormat {
    /// The end of the name of an index.
    pub fn suffix(self) -> &'static str {
        match self {
            IndexFormat::Bai => ".bai",
            IndexFormat::Csi => ".csi",
            IndexFormat::Tbi => ".tbi",
        }
    }
}

/// The place of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Index of the reference sequence, -1 when there is none.
    pub ref_id: i32,
    /// Leftmost position, 0-based; -1 when there is none.
    pub start: i64,
    /// One past the last base, 0-based.
    pub end: i64,
    /// Whether it is a read that is not mapped.
    pub is_unmapped: bool,
}

impl Interval {
    /// The place of a read.
    #[inline]
    pub fn of(record: RecordRef<'_>) -> Self {
        Interval {
            ref_id: record.ref_id(),
            start: i64::from(record.pos()),
            end: record.end(),
            is_unmapped: record.flags().is_unmapped(),
        }
    }

    /// The sort key: reference sequence, then position, those without a position last.
    #[inline]
    pub(super) fn order(&self) -> u64 {
        match u64::try_from(self.ref_id) {
            Ok(ref_id) => ref_id << 32 | (self.start + 1).cast_unsigned(),
            Err(_) => u64::MAX,
        }
    }
}

/// A mapping of positions to bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    pub(super) kind: IndexFormat,
    pub(super) depth: u8,
    /// log2 of the bases in a bin of the lowest level.
    pub(super) min_shift: u8,
}

impl Scheme {
    /// A BAI, or a CSI if a reference sequence is too long for a BAI (2^29 bases).
    pub fn for_header(header: &Header) -> Self {
        Scheme::bai(header).unwrap_or_else(|_| Scheme::csi(header))
    }

    /// A BAI; an error if a reference sequence is too long for it.
    pub fn bai(header: &Header) -> Result<Self> {
        match header.references().iter().find(|reference| reference.length > BAI_LENGTH) {
            None => Ok(Scheme { kind: IndexFormat::Bai, ..Scheme::tbi() }),
            Some(long) => {
                let name = String::from_utf8_lossy(&long.name);
                let what = format!("{name} is too long for a BAI index ({} bases)", long.length);
                Err(Error::usage(what).hint("write a CSI index"))
            }
        }
    }

    /// A TBI, which has the bins of a BAI.
    pub fn tbi() -> Self {
        Scheme { kind: IndexFormat::Tbi, depth: BAI_DEPTH, min_shift: MIN_SHIFT }
    }

    /// A CSI with windows of 2^14 bases, as deep as the longest reference sequence needs; `samtools
    /// index -c` chooses the same depth.
    pub fn csi(header: &Header) -> Self {
        let longest = header.references().iter().map(|reference| reference.length).max();
        let longest = u64::from(longest.unwrap_or(0));
        Scheme::csi_of(MIN_SHIFT, 0, longest)
            .unwrap_or(Scheme { kind: IndexFormat::Csi, ..Scheme::tbi() })
    }

    /// A CSI with windows of 2^`min_shift` bases for reference sequences of at most `longest` bases, with at least
    /// `depth` levels below the root.
    ///
    /// # Errors
    /// The windows are too small for so long a reference sequence.
    pub fn csi_of(min_shift: u8, depth: u8, longest: u64) -> Result<Self> {
        let span = longest + 256; // htslib's allowance for overhangs
        let covers =
            |depth: &u8| span <= 1u64.checked_shl(u32::from(min_shift + 3 * depth)).unwrap_or(u64::MAX);
        let depth = (depth..=MAX_DEPTH).find(covers).ok_or_else(|| {
            let what =
                format!("a CSI index with windows of 2^{min_shift} bases cannot hold {longest} bases");
            Error::usage(what).hint("ask for larger windows: -m 14")
        })?;
        Ok(Scheme { kind: IndexFormat::Csi, depth, min_shift })
    }

    /// The longest reference sequence that it can hold.
    pub fn most_bases(self) -> u64 {
        1u64.checked_shl(u32::from(self.min_shift + 3 * self.depth)).unwrap_or(u64::MAX)
    }

    /// The format of the file.
    pub fn kind(self) -> IndexFormat {
        self.kind
    }

    /// The first and the last window that a record overlaps. Position -1 counts as 0, as in htslib; positions
    /// beyond the last window count as in it, where htslib refuses to index.
    pub(super) fn windows(self, place: Interval) -> (u32, u32) {
        let most = (1 << (3 * self.depth)) - 1;
        let window = |position: i64| (position.max(0) >> self.min_shift).min(most) as u32;
        (window(place.start), window(place.end - 1))
    }

    /// The smallest bin that holds the windows from `first` to `last`.
    pub(super) fn bin(self, first: u32, last: u32) -> u32 {
        let up = (u32::BITS - (first ^ last).leading_zeros()).div_ceil(3);
        first_bin(u32::from(self.depth) - up) + (first >> (3 * up))
    }

    /// The leftmost window of a bin.
    pub(super) fn first_window(self, bin: u32) -> u32 {
        let level = level(bin) as u32;
        (bin - first_bin(level)) << (3 * (u32::from(self.depth) - level))
    }
}

/// The leftmost bin of a level; the root is level 0.
pub(super) fn first_bin(level: u32) -> u32 {
    ((1 << (3 * level)) - 1) / 7
}

/// The level of a bin.
pub(super) fn level(bin: u32) -> usize {
    ((7 * bin + 1).ilog2() / 3) as usize
}

/// The parent of a bin; the root has none.
pub(super) fn parent(bin: u32) -> Option<u32> {
    bin.checked_sub(1).map(|below| below >> 3)
}

/// A range of the file with records of one bin, as virtual offsets. 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// The offset of a window; `None` beyond the last window with records. (A list of all windows would not be small: bins of two
/// bases make 2^27 of a long contig.)
pub(super) fn offset_of(runs: &Windows, window: u32) -> Option<u64> {
    let run = runs.partition_point(|&(end, _)| end <= window);
    runs.get(run).map(|&(_, offset)| offset)
}

/// The content of the pseudo-bin of a reference sequence: the place and the number of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Summary {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) mapped: u64,
    pub(super) unmapped: u64,
}
