//! Finds the bases of a read that its mate also covers. They are clipped from the read that starts
//! further left, from the start of the mate. The rule is htsjdk 4.2's
//! `SAMUtils.getNumOverlappingAlignedBasesToClip`, which does not check the mate's contig.

use readmill_record::RecordRef;
use readmill_record::cigar::{consumes_query, consumes_reference};

/// The operation M, and the operations that htsjdk does not clip: N, S, H and P.
const MATCH: u32 = 0;
const LEFT_ALONE: [u32; 4] = [3, 4, 5, 6];

const SOFT_CLIP: u32 = 4;

/// The bases of a mapped read that are not counted, because its mate covers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clip {
    /// Number of bases that are clipped.
    pub bases: u64,
    /// Number of bases that are kept, including soft-clipped bases before them. `None` if all bases
    /// are kept.
    pub kept: Option<u64>,
}

impl Clip {
    pub const NONE: Clip = Clip { bases: 0, kept: None };

    /// Computes the clip of a mapped read. It is [`Clip::NONE`] for the second of two overlapping
    /// reads.
    pub fn from_record(record: RecordRef<'_>) -> Self {
        let flags = record.flags();
        if !flags.is_paired() || flags.is_mate_unmapped() {
            return Clip::NONE;
        }
        let (start, mate) = (i64::from(record.pos()), i64::from(record.next_pos()));
        if mate < start || mate == start && flags.is_first() {
            return Clip::NONE;
        }
        let (mut at, mut bases, mut last_clip) = (start, 0_i64, 0);
        for (op, n) in record.cigar().ops() {
            let n = i64::from(n);
            let length = if consumes_reference(op) { n } else { 0 };
            if mate < at + length {
                bases += match op {
                    MATCH => length.min(at + length - mate),
                    op if LEFT_ALONE.contains(&op) || !consumes_query(op) => 0,
                    _ => n,
                };
            }
            at += length;
            last_clip = if op == SOFT_CLIP { n } else { 0 };
        }
        let Ok(clipped) = u64::try_from(bases) else { return Clip::NONE };
        let kept = match clipped {
            0 => None,
            _ if mate <= start => Some(0),
            _ => Some(u64::try_from(record.l_seq() as i64 - bases - last_clip).unwrap_or(0)),
        };
        Clip { bases: clipped, kept }
    }
}
