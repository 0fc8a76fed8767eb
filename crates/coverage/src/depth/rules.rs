//! Which reads and bases count.

use readmill_record::RecordRef;

use crate::options::ReadOptions;

/// The part of a contig in which bases count: 0-based, half-open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The number of the contig.
    pub contig: u32,
    /// Its first base.
    pub start: u32,
    /// The base after its last one, which may lie behind the end of the contig.
    pub end: u32,
}

/// How the length of a read is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadLength {
    /// Its bases without soft clips (samtools depth).
    Aligned,
    /// Its bases (samtools coverage).
    Whole,
}

/// Which reads and bases count.
#[derive(Clone, Debug)]
pub struct DepthRules {
    /// Reads with any of these flags do not count.
    pub exclude_flags: u16,
    /// Only reads with any of these flags count; 0 for all.
    pub include_flags: u16,
    /// Only reads with all of these flags count.
    pub require_flags: u16,
    /// Reads of a lower mapping quality do not count.
    pub min_mapq: u32,
    /// Shorter reads do not count.
    pub min_length: u64,
    /// How they are measured.
    pub length: ReadLength,
    /// Bases of a lower quality do not count. Bases without qualities do.
    pub min_base_quality: u32,
    /// Deletions count, by the quality of the base behind them.
    pub deletions: bool,
    /// Skipped bases count where deletions do, reads are listed, and those that cover nothing do not reach their position: as
    /// samtools bedcov has it.
    pub of_pileup: bool,
    /// Counts reads and sums qualities, too, for the table of coverage. Then nothing counts outside of the contig.
    pub tallies: bool,
    /// Nothing counts outside of it.
    pub window: Option<Window>,
    /// Sums the qualities of each position, because only deep ones count.
    pub by_position: bool,
}

impl Default for DepthRules {
    fn default() -> Self {
        DepthRules {
            exclude_flags: ReadOptions::EXCLUDED,
            include_flags: 0,
            require_flags: 0,
            min_mapq: 0,
            min_length: 0,
            length: ReadLength::Aligned,
            min_base_quality: 0,
            deletions: false,
            of_pileup: false,
            tallies: false,
            window: None,
            by_position: false,
        }
    }
}

impl DepthRules {
    /// Whether a read counts.
    #[inline]
    pub fn keeps(&self, record: RecordRef<'_>) -> bool {
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
            // Without its bases, those that the CIGAR aligns or inserts.
            ReadLength::Aligned => {
                let aligned = cigar.ops().filter(|&(op, _)| matches!(op, 0 | 1 | 7 | 8));
                aligned.map(|(_, n)| u64::from(n)).sum()
            }
        }
    }
}

/// The operator S.
const SOFT_CLIP: u32 = 4;
