//! Options for decoding a container.

use readmill_record::Detail;

use super::parts::FixedFields;

/// Which records of a container to decode, and how much of each.
///
/// A [`Detail`] converts to options that decode all records in this detail.
#[derive(Clone, Copy, Debug, Default)]
pub struct DecodeOptions {
    pub detail: Detail,
    /// The position at which decoding may stop, for a container in coordinate order. Records from
    /// there on are omitted, unless they are mates of earlier records.
    pub stop: Option<Stop>,
}

impl From<Detail> for DecodeOptions {
    fn from(detail: Detail) -> Self {
        DecodeOptions { detail, stop: None }
    }
}

/// The end of the wanted region: reads that start there or later are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    pub contig: u32,
    /// The first position after the wanted region (0-based).
    pub pos: i64,
}

impl Stop {
    /// Returns whether a read starts at or after this position, or has no contig.
    pub(super) fn is_before(self, fixed: &FixedFields) -> bool {
        (fixed.contig as u32, fixed.pos - 1) >= (self.contig, self.pos)
    }
}
