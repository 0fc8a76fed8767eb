//! The elements of an index: the mapping of positions to bins (SAM specification, section 5.1), chunks
//! of bins, runs of windows, and counts.

use readmill_record::{Error, Header, RecordRef, Result};
use serde::{Deserialize, Serialize};

/// log2 of the window size of a BAI's linear index (16,384 bases), which is also the size of the bins of
/// the lowest level.
pub(super) const MIN_SHIFT: u8 = 14;
pub(super) const BAI_DEPTH: u8 = 5;
/// Maximum number of levels below the root. With more levels, bin numbers would not fit into 31 bits.
const MAX_DEPTH: u8 = 9;
pub(super) const MAX_LEVELS: usize = MAX_DEPTH as usize + 1;
pub(super) const BAI_LENGTH: u32 = 1 << 29;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexFormat {
    /// BAI: BAM, reference sequences of up to 2^29 bases.
    Bai,
    /// CSI: BAM, BCF and text, reference sequences of any length.
    Csi,
    /// TBI of tabix: text, with the bins of BAI.
    Tbi,
}

impl IndexFormat {
    pub fn suffix(self) -> &'static str {
        match self {
            IndexFormat::Bai => ".bai",
            IndexFormat::Csi => ".csi",
            IndexFormat::Tbi => ".tbi",
        }
    }
}

/// The parts of a record's position that an index needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordInterval {
    /// Index of the reference sequence; -1 if there is none.
    pub ref_id: i32,
    /// Leftmost position, 0-based; -1 if there is none.
    pub start: i64,
    pub end: i64,
    /// Whether the record is an unmapped read. Such reads are counted separately.
    pub is_unmapped: bool,
}

impl RecordInterval {
    /// Returns the position of a read, which ends where its CIGAR ends.
    #[inline]
    pub fn of(record: RecordRef<'_>) -> Self {
        RecordInterval {
            ref_id: record.ref_id(),
            start: i64::from(record.pos()),
            end: record.end(),
            is_unmapped: record.flags().is_unmapped(),
        }
    }

    /// Returns the sort key: reference sequence, then position. Records without a reference
    /// sequence have the largest key.
    #[inline]
    pub(super) fn sort_key(&self) -> u64 {
        match u64::try_from(self.ref_id) {
            Ok(ref_id) => ref_id << 32 | (self.start + 1).cast_unsigned(),
            Err(_) => u64::MAX,
        }
    }
}

/// The mapping of positions to the bins of an index: its format, the size of the smallest bins, and the
/// number of levels.
///
/// ```
/// use readmill_format::bam::index::{IndexFormat, IndexScheme};
/// use readmill_record::Header;
///
/// let human = Header::parse(b"@SQ\tSN:chr1\tLN:248956422\n")?;
/// assert_eq!(IndexScheme::for_header(&human).kind(), IndexFormat::Bai);
///
/// let wheat = Header::parse(b"@SQ\tSN:3B\tLN:830829764\n")?;
/// assert_eq!(IndexScheme::for_header(&wheat).kind(), IndexFormat::Csi, "too long for a BAI");
/// assert!(IndexScheme::bai(&wheat).is_err());
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexScheme {
    pub(super) kind: IndexFormat,
    pub(super) depth: u8,
    pub(super) min_shift: u8,
}

impl IndexScheme {
    /// Chooses between BAI and CSI: returns the scheme of a BAI, or of a CSI if a reference sequence is
    /// too long for a BAI (more than 2^29 bases).
    pub fn for_header(header: &Header) -> Self {
        IndexScheme::bai(header).unwrap_or_else(|_| IndexScheme::csi(header))
    }

    /// Returns the scheme of a BAI.
    ///
    /// # Errors
    /// Fails if a reference sequence is too long for a BAI.
    pub fn bai(header: &Header) -> Result<Self> {
        match header.references().iter().find(|reference| reference.length > BAI_LENGTH) {
            None => Ok(IndexScheme { kind: IndexFormat::Bai, ..IndexScheme::tbi() }),
            Some(long) => {
                let name = String::from_utf8_lossy(&long.name);
                let what = format!("{name} is too long for a BAI index ({} bases)", long.length);
                Err(Error::usage(what).hint("write a CSI index"))
            }
        }
    }

    pub fn tbi() -> Self {
        IndexScheme { kind: IndexFormat::Tbi, depth: BAI_DEPTH, min_shift: MIN_SHIFT }
    }

    /// Returns the scheme of a CSI with windows of 2^14 bases, with as many levels as the longest
    /// reference sequence needs. `samtools index -c` chooses the same depth.
    pub fn csi(header: &Header) -> Self {
        let longest = header.references().iter().map(|reference| reference.length).max();
        let longest = u64::from(longest.unwrap_or(0));
        IndexScheme::csi_for_length(MIN_SHIFT, 0, longest)
            .unwrap_or(IndexScheme { kind: IndexFormat::Csi, ..IndexScheme::tbi() })
    }

    /// Returns the scheme of a CSI with windows of 2^`min_shift` bases. It has at least `depth`
    /// levels below the root, and more if reference sequences of `longest` bases need them.
    ///
    /// # Errors
    /// Fails if the windows are too small for a reference sequence of `longest` bases.
    pub fn csi_for_length(min_shift: u8, depth: u8, longest: u64) -> Result<Self> {
        let span = longest + 256; // htslib's allowance for overhangs
        let covers =
            |depth: &u8| span <= 1u64.checked_shl(u32::from(min_shift + 3 * depth)).unwrap_or(u64::MAX);
        let depth = (depth..=MAX_DEPTH).find(covers).ok_or_else(|| {
            let what =
                format!("a CSI index with windows of 2^{min_shift} bases is too small for a contig of {longest} bases");
            Error::usage(what).hint("use larger windows: -m 14")
        })?;
        Ok(IndexScheme { kind: IndexFormat::Csi, depth, min_shift })
    }

    pub fn max_bases(self) -> u64 {
        1u64.checked_shl(u32::from(self.min_shift + 3 * self.depth)).unwrap_or(u64::MAX)
    }

    pub fn kind(self) -> IndexFormat {
        self.kind
    }

    /// Returns the first and the last window that a record overlaps. Position -1 counts as 0, as in
    /// htslib. Positions beyond the last window count as part of it; htslib refuses to index them.
    pub(super) fn window_range(self, place: RecordInterval) -> (u32, u32) {
        let max_window = (1 << (3 * self.depth)) - 1;
        let window = |position: i64| (position.max(0) >> self.min_shift).min(max_window) as u32;
        (window(place.start), window(place.end - 1))
    }

    /// Returns the smallest bin that contains the windows from `first` to `last` (`reg2bin` of the
    /// SAM specification).
    pub(super) fn smallest_bin(self, first: u32, last: u32) -> u32 {
        let up = (u32::BITS - (first ^ last).leading_zeros()).div_ceil(3);
        first_bin(u32::from(self.depth) - up) + (first >> (3 * up))
    }

    pub(super) fn first_window(self, bin: u32) -> u32 {
        let level = bin_level(bin) as u32;
        (bin - first_bin(level)) << (3 * (u32::from(self.depth) - level))
    }
}

/// Returns the leftmost bin of a level; the root is level 0.
pub(super) fn first_bin(level: u32) -> u32 {
    ((1 << (3 * level)) - 1) / 7
}

pub(super) fn bin_level(bin: u32) -> usize {
    ((7 * bin + 1).ilog2() / 3) as usize
}

pub(super) fn parent_bin(bin: u32) -> Option<u32> {
    bin.checked_sub(1).map(|below| below >> 3)
}

/// A range of the file with records of one bin, as virtual offsets. Its size is 24 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct BinChunk {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) bin: u32,
}

impl BinChunk {
    pub(super) const NONE: BinChunk = BinChunk { begin: 0, end: 0, bin: u32::MAX };

    /// Merges a later chunk of the same bin if it starts in the block in which this one ends, because a
    /// reader must inflate this block anyway. Returns whether it was merged.
    pub(super) fn try_merge(&mut self, next: BinChunk) -> bool {
        let joins = self.bin == next.bin && next.begin >> 16 <= self.end >> 16;
        if joins {
            self.end = self.end.max(next.end);
        }
        joins
    }

    pub(super) fn with_base(self, base: u64) -> Self {
        BinChunk { begin: rebase_offset(self.begin, base), end: rebase_offset(self.end, base), ..self }
    }
}

pub(super) fn rebase_offset(offset: u64, base: u64) -> u64 {
    offset + (base << 16)
}

/// The linear index of one reference sequence, as runs of windows that share an offset. Each entry holds
/// the number of the window after the run, and the virtual offset of the first record that overlaps the
/// run. A window without records belongs to the run of the next window with records, so there are no
/// gaps between runs.
pub(super) type Windows = Vec<(u32, u64)>;

/// Adds the record at `offset`, which overlaps the windows before `end`. Windows that earlier records
/// overlap keep their offset. The last `own` runs belong to the reference sequence. Returns whether a
/// run was added.
pub(super) fn extend_windows(runs: &mut Windows, own: usize, end: u32, offset: u64) -> bool {
    let further = runs.last().filter(|_| own > 0).is_none_or(|&(reached, _)| reached < end);
    runs.extend(further.then_some((end, offset)));
    further
}

/// Returns the offset of a window; `None` after the last window with records. (A list of all windows
/// would be large: with windows of two bases, a long contig has 2^27 windows.)
pub(super) fn window_offset(runs: &Windows, window: u32) -> Option<u64> {
    let run = runs.partition_point(|&(end, _)| end <= window);
    runs.get(run).map(|&(_, offset)| offset)
}

/// The contents of the pseudo-bin of a reference sequence: the range and the counts of its records (SAM
/// specification, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReferenceSummary {
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) mapped: u64,
    pub(super) unmapped: u64,
}
