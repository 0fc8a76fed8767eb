//! Which reads and bases `samtools depth`, `coverage` and `bedcov` count.

use readmill_record::RecordRef;

use crate::options::ReadOptions;

/// Part of a contig to which counting is restricted, 0-based and half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountWindow {
    pub contig: u32,
    pub start: u32,
    pub end: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadLength {
    /// Without soft clips (`samtools depth`).
    Aligned,
    /// All bases (`samtools coverage`).
    Whole,
}

/// Which reads and bases count. The default is what `samtools depth` counts without options.
#[derive(Clone, Debug)]
pub struct DepthRules {
    /// Do not count reads with any of these FLAG bits.
    pub exclude_flags: u16,
    /// Count only reads with any of these FLAG bits; 0 counts all.
    pub include_flags: u16,
    /// Count only reads with all of these FLAG bits.
    pub require_flags: u16,
    pub min_mapq: u32,
    /// Minimum length of a read in bases, measured by `length`.
    pub min_length: u64,
    pub length: ReadLength,
    /// Minimum base quality. Bases without a quality count.
    pub min_base_quality: u32,
    /// Count deleted bases, if the quality of the next base suffices (`samtools depth -J`).
    pub count_deletions: bool,
    /// Count as `samtools bedcov` does, which uses the pileup engine: skipped bases (CIGAR N) count
    /// like deletions, start and end of each read are listed, and reads without aligned bases span
    /// no position.
    pub is_pileup: bool,
    /// Also sum reads and qualities by contig, for `samtools coverage`. Bases after the end of the
    /// contig do not count then.
    pub sums_by_contig: bool,
    pub window: Option<CountWindow>,
    /// Sum base qualities by position, because a minimum depth decides later which positions count.
    pub sums_by_position: bool,
}

impl Default for DepthRules {
    fn default() -> Self {
        DepthRules {
            exclude_flags: ReadOptions::DEFAULT_EXCLUDED_FLAGS,
            include_flags: 0,
            require_flags: 0,
            min_mapq: 0,
            min_length: 0,
            length: ReadLength::Aligned,
            min_base_quality: 0,
            count_deletions: false,
            is_pileup: false,
            sums_by_contig: false,
            window: None,
            sums_by_position: false,
        }
    }
}

impl DepthRules {
    /// Returns whether a read passes the filters. Base qualities are checked later.
    #[inline]
    pub fn keeps_read(&self, record: RecordRef<'_>) -> bool {
        let flags = record.flags().0;
        flags & self.exclude_flags == 0
            && (self.include_flags == 0 || flags & self.include_flags != 0)
            && flags & self.require_flags == self.require_flags
            && u32::from(record.mapq()) >= self.min_mapq
            && (self.min_length == 0 || self.length_of(record) >= self.min_length)
    }

    fn length_of(&self, record: RecordRef<'_>) -> u64 {
        let cigar = record.cigar();
        match self.length {
            ReadLength::Whole => cigar.query_length().max(0).cast_unsigned(),
            ReadLength::Aligned if record.l_seq() > 0 => {
                let clips = |ops: &mut dyn Iterator<Item = (u32, u32)>| {
                    ops.take_while(|&(op, _)| op == SOFT_CLIP).map(|(_, n)| u64::from(n)).sum::<u64>()
                };
                let front = clips(&mut cigar.ops());
                let all = cigar.ops().all(|(op, _)| op == SOFT_CLIP);
                let back = if all { 0 } else { clips(&mut cigar.ops().rev()) };
                (record.l_seq() as u64).saturating_sub(front + back)
            }
            // If the record has no bases, the length is taken from the CIGAR.
            ReadLength::Aligned => {
                let aligned = cigar.ops().filter(|&(op, _)| matches!(op, 0 | 1 | 7 | 8));
                aligned.map(|(_, n)| u64::from(n)).sum()
            }
        }
    }
}

const SOFT_CLIP: u32 = 4;
