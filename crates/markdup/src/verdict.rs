//! The verdict: the duplicate marks of each record.

use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Result, Stamp};

use super::Mode;
use super::metrics::{LibraryCounts, SetSizes};
use super::table::{BitSet, OrdinalTable, RowStore};

/// The duplicate marks of all records, looked up by record number.
pub struct Verdict {
    /// Which records of a duplicate template are flagged.
    pub mode: Mode,
    /// Whether marks are stored at a template's first record for all of it.
    pub(super) by_template: bool,
    pub(super) duplicates: BitSet,
    pub(super) optical: Option<BitSet>,
    pub(super) sets: Option<DuplicateSets>,
    pub(super) spill: Arc<Spill>,
    /// The counts.
    pub tally: DuplicateCounts,
}

/// The counts of a resolver run.
#[derive(Debug, Default)]
pub struct DuplicateCounts {
    /// Pairs that are duplicates.
    pub pairs: u64,
    /// Single reads that are duplicates.
    pub fragments: u64,
    /// Single reads that are optical duplicates.
    pub optical_fragments: u64,
    /// Records of each kind, and optical pairs, by the number of the library.
    pub libraries: Vec<LibraryCounts>,
    /// Pair sets by size.
    pub sizes: SetSizes,
    /// The largest set.
    pub deepest: Option<Deepest>,
}

/// The largest duplicate set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deepest {
    /// Templates.
    pub size: u64,
    /// Reference sequence.
    pub ref_id: i32,
    /// Unclipped 5′ position of the first end, 0-based.
    pub five_prime: i64,
}

/// The duplicate set of each record.
pub(super) struct DuplicateSets {
    /// The set of a record.
    pub(super) of: OrdinalTable,
    /// The same, where it is stored at another record of the name.
    pub(super) linked: Option<OrdinalTable>,
    /// Each set's representative and size.
    pub(super) rows: RowStore<2>,
}

/// The duplicate set of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// The set's number.
    pub set: u64,
    /// Number of the template that stays.
    pub representative: u64,
    /// Pairs; 0 for a set of single reads.
    pub pairs: u64,
}

impl Verdict {
    /// Bytes it takes in addition to [`verdict_bytes`](super::verdict_bytes).
    pub fn bytes_beside_bits(&self) -> u64 {
        self.sets.as_ref().map_or(0, |DuplicateSets { of, linked, rows }| {
            rows.bytes() + of.bytes_of_rows() + linked.as_ref().map_or(0, OrdinalTable::bytes_of_rows)
        })
    }

    /// Returns the number by which a record is looked up.
    fn ordinal(&self, stamp: Stamp) -> u64 {
        if self.by_template { stamp.template() } else { stamp.ordinal() }
    }

    /// Whether the record with this stamp is a duplicate.
    pub fn is_duplicate(&self, stamp: Stamp) -> bool {
        self.duplicates.get(self.ordinal(stamp))
    }

    /// Whether it is an optical duplicate.
    pub fn is_optical(&self, stamp: Stamp) -> bool {
        self.optical.as_ref().is_some_and(|bits| bits.get(self.ordinal(stamp)))
    }

    /// Returns its duplicate set, if that was stored.
    pub fn membership(&self, stamp: Stamp) -> Result<Option<Membership>> {
        let Some(DuplicateSets { of, linked, rows }) = &self.sets else { return Ok(None) };
        let ordinal = self.ordinal(stamp);
        let set = match (of.get(ordinal, &self.spill)?, linked) {
            (None, Some(linked)) => linked.get(ordinal, &self.spill)?,
            (set, _) => set,
        };
        let Some(set) = set else { return Ok(None) };
        let row = rows.get(set, &self.spill)?;
        Ok(row.map(|[representative, pairs]| Membership { set, representative, pairs }))
    }
}
