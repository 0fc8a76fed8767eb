//! The mapping of positions to bins (SAM specification, section 5.1).

use readmill_record::{Error, Header, RecordRef, Result};

/// log2 of the bases in a window of the linear index (16 KiB in a BAI) and in a bin of the lowest level.
pub(super) const MIN_SHIFT: u8 = 14;
/// Levels below the root in a BAI.
pub(super) const BAI_DEPTH: u8 = 5;
/// Levels, root included, of the deepest scheme: 2^14 bases * 8^6 exceed every position of BAM.
pub(super) const MAX_LEVELS: usize = 7;
/// The longest reference sequence a BAI covers.
pub(super) const BAI_LENGTH: u32 = 1 << 29;

/// The format of an index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexFormat {
    /// `.bai`
    Bai,
    /// `.csi`
    Csi,
}

/// A mapping of positions to bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scheme {
    pub(super) kind: IndexFormat,
    pub(super) depth: u8,
}

impl Scheme {
    /// A BAI, or a CSI if a reference sequence is too long for a BAI (2^29 bases).
    pub fn for_header(header: &Header) -> Self {
        Scheme::bai(header).unwrap_or_else(|_| Scheme::csi(header))
    }

    /// A BAI; an error if a reference sequence is too long for it.
    pub fn bai(header: &Header) -> Result<Self> {
        match header.references().iter().find(|reference| reference.length > BAI_LENGTH) {
            None => Ok(Scheme { kind: IndexFormat::Bai, depth: BAI_DEPTH }),
            Some(long) => {
                let name = String::from_utf8_lossy(&long.name);
                let what = format!("{name} is too long for a BAI index ({} bases)", long.length);
                Err(Error::usage(what).hint("write a CSI index"))
            }
        }
    }

    /// A CSI with windows of 2^14 bases, as deep as the longest reference sequence needs; `samtools
    /// index -c` chooses the same depth.
    pub fn csi(header: &Header) -> Self {
        let longest = header.references().iter().map(|reference| reference.length).max();
        let span = u64::from(longest.unwrap_or(0)) + 256; // htslib's allowance for overhangs
        let depth = (0..).find(|depth| span <= 1 << (MIN_SHIFT + 3 * depth)).unwrap_or(BAI_DEPTH);
        Scheme { kind: IndexFormat::Csi, depth }
    }

    /// The format of the file.
    pub fn kind(self) -> IndexFormat {
        self.kind
    }

    /// The first and the last window that a record overlaps. Position -1 counts as 0, as in htslib; positions
    /// beyond the last window count as in it, where htslib refuses to index.
    pub(super) fn windows(self, record: RecordRef<'_>) -> (u32, u32) {
        let most = (1 << (3 * self.depth)) - 1;
        let window = |position: i64| ((position.max(0) >> MIN_SHIFT) as u32).min(most);
        (window(i64::from(record.pos())), window(record.end() - 1))
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
