//! Options for decoding a container.

use readmill_record::Detail;

use super::parts::FixedFields;

/// Which records of a container to decode, and how much of each.
///
/// A [`Detail`] converts to the options that decode this much of all records.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecodeOptions {
    pub detail: Detail,
    /// The place at which decoding may stop, for a container in coordinate order. Records from
    /// there on are left out, except as far as mates of earlier records are among them.
    pub stop: Option<Stop>,
}

impl From<Detail> for DecodeOptions {
    fn from(detail: Detail) -> Self {
        DecodeOptions { detail, stop: None }
    }
}

/// The end of the wanted region: reads that start there or later are not wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    pub contig: u32,
    /// The first position that is not wanted (0-based).
    pub pos: i64,
}

impl Stop {
    /// Returns whether this end is before a read: the read starts here or later, or has no contig.
    pub(super) fn is_before(self, fixed: &FixedFields) -> bool {
        (fixed.contig as u32, fixed.pos - 1) >= (self.contig, self.pos)
    }
}
