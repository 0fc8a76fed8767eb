//! Which records of a container to decode, and how much of each.

use readmill_record::Detail;

use super::parts::Fixed;

/// Which records of a container to decode, and how much of each.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecodeOptions {
    /// How much of each record.
    pub detail: Detail,
    /// The last place that is wanted. Records behind it are left out, from the first on that is no mate of one before it: the
    /// records are in coordinate order.
    pub stop: Option<Stop>,
}

impl From<Detail> for DecodeOptions {
    fn from(detail: Detail) -> Self {
        DecodeOptions { detail, stop: None }
    }
}

/// A place behind all reads that are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Number of the contig.
    pub contig: u32,
    /// The first position that is not wanted (0-based).
    pub pos: i64,
}

impl Stop {
    /// Whether a read lies behind, such as one without a contig.
    pub(super) fn is_before(self, fixed: &Fixed) -> bool {
        (fixed.contig as u32, fixed.pos - 1) >= (self.contig, self.pos)
    }
}
