//! Decides whether the input is grouped by name, from its content and, if the content is
//! inconclusive, from its header.
//!
//! A name group is a run of adjacent records with the same name. It is complete if its primary
//! paired records have as many first as last segments. The names of incomplete groups are stored as
//! hashes:
//!
//! - Two incomplete groups with the same name are a scattered template, so the input is not
//!   grouped.
//! - If the names of all incomplete groups differ, their mates are missing from the file.

use std::collections::HashSet;

use readmill_record::{Batch, Header, RecordRef, Span};
use serde::{Deserialize, Serialize};

/// Number of incomplete name groups that are compared early, so that ungrouped input is usually
/// detected in its first chunks. All of them are compared at the end.
const MAX_COMPARED_EARLY: usize = 1 << 13;

/// The sort order that the headers of the inputs declare (SO and GO of the @HD line).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatedOrder {
    Grouped,
    Coordinate,
    Neither,
}

impl StatedOrder {
    /// Returns the order that the headers of all inputs declare. Inputs are read one after another,
    /// so several coordinate-sorted inputs are not sorted as a whole.
    pub fn from_headers<'a>(mut headers: impl ExactSizeIterator<Item = &'a Header> + Clone) -> Self {
        let one = headers.len() == 1;
        let grouped = |it: &Header| it.declares_name_groups() && !it.declares_coordinate_order();
        if headers.len() > 0 && headers.clone().all(grouped) {
            StatedOrder::Grouped
        } else if one && headers.all(Header::declares_coordinate_order) {
            StatedOrder::Coordinate
        } else {
            StatedOrder::Neither
        }
    }
}

/// The sort key of a record in a coordinate-sorted file, without the strand. Unmapped records sort
/// last.
type CoordinateKey = (u32, u32);

/// Tracks whether consecutive records are in coordinate order. The spans of consecutive batches are
/// appended to each other.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct CoordinateSpan {
    ends: Option<(CoordinateKey, CoordinateKey)>,
    broken: bool,
}

impl CoordinateSpan {
    fn of(record: RecordRef<'_>) -> Self {
        let place = (record.ref_id() as u32, (record.pos() as u32).wrapping_add(1));
        CoordinateSpan { ends: Some((place, place)), broken: false }
    }

    fn append_span(&mut self, next: CoordinateSpan) {
        self.broken |= next.broken;
        self.ends = match (self.ends, next.ends) {
            (Some((first, before)), Some((behind, last))) => {
                self.broken |= behind < before;
                Some((first, last))
            }
            (own, next) => own.or(next),
        };
    }
}

#[derive(Clone, Debug, Default)]
pub struct Evidence {
    incomplete: Vec<[u64; 2]>,
    without_primary: u64,
    name_groups: u64,
    doubled: u64,
    places: CoordinateSpan,
}

impl Evidence {
    /// Examines the name groups of a batch. The batch must be stamped and not yet filtered, because
    /// a filter may remove one mate.
    pub fn of_batch(batch: &Batch) -> Self {
        let mut evidence = Evidence::default();
        let template = |span: &Span| span.stamp.template();
        for name_group in batch.spans.chunk_by(|a, b| template(a) == template(b)) {
            let mut ends = PrimaryCounts::default();
            for &span in name_group {
                let record = batch.record(span);
                ends.count_record(record);
                evidence.places.append_span(CoordinateSpan::of(record));
            }
            evidence.name_groups += 1;
            evidence.doubled += u64::from(ends.has_doubled_end());
            let name = batch.record(name_group[0]).qname();
            if ends.primaries == 0 {
                evidence.without_primary += 1;
            } else if !ends.are_complete() && name != b"*" {
                let hash = xxhash_rust::xxh3::xxh3_128(name);
                evidence.incomplete.push([(hash >> 64) as u64, hash as u64]);
            }
        }
        evidence
    }

    pub fn incomplete_names(&self) -> &[[u64; 2]] {
        &self.incomplete
    }

    /// Returns whether at least half of the name groups are complete. The pipeline checks the first
    /// reads to choose how mates are paired.
    pub fn looks_grouped(&self) -> bool {
        2 * (self.incomplete.len() as u64 + self.without_primary) <= self.name_groups
    }

    /// Returns whether two incomplete name groups of the batch have the same name, which proves
    /// that the input is not grouped.
    pub fn is_scattered(&self) -> bool {
        let mut names = HashSet::with_capacity(self.incomplete.len());
        !self.incomplete.iter().all(|name| names.insert(name))
    }

    /// Returns whether the batch is consistent with grouped input: every name group has all its
    /// mates.
    pub fn is_complete(&self) -> bool {
        self.incomplete.is_empty() && self.without_primary == 0
    }

    pub fn bytes(&self) -> u64 {
        size_of_val(&self.incomplete[..]) as u64
    }
}

#[derive(Default)]
struct PrimaryCounts {
    primaries: u64,
    first: u64,
    last: u64,
    /// Paired reads whose FLAG has both segment bits or neither.
    other: u64,
}

impl PrimaryCounts {
    fn count_record(&mut self, record: RecordRef<'_>) {
        let flags = record.flags();
        if !flags.is_primary() {
            return;
        }
        self.primaries += 1;
        if flags.is_paired() {
            *match (flags.is_first(), flags.is_last()) {
                (true, false) => &mut self.first,
                (false, true) => &mut self.last,
                _ => &mut self.other,
            } += 1;
        }
    }

    /// Returns whether the name has two first or two last segments, as if the same file had been
    /// given twice.
    fn has_doubled_end(&self) -> bool {
        self.first > 1 || self.last > 1
    }

    fn are_complete(&self) -> bool {
        self.first == self.last && self.other.is_multiple_of(2)
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Grouping {
    #[serde(skip)]
    first: HashSet<[u64; 2]>,
    without_primary: u64,
    doubled: u64,
    scattered: bool,
    places: CoordinateSpan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupingDecision {
    pub grouped: bool,
    /// Whether the header declares a different order. The pipeline warns about it.
    pub contradicts: bool,
}

impl Grouping {
    /// Adds the evidence of a batch. Batches must be added in input order, because coordinate order
    /// is tracked across them.
    pub fn add_evidence(&mut self, evidence: &Evidence) {
        self.without_primary += evidence.without_primary;
        self.doubled += evidence.doubled;
        self.places.append_span(evidence.places);
        let room = MAX_COMPARED_EARLY - self.first.len();
        for &name in evidence.incomplete.iter().take(room) {
            self.scattered |= !self.first.insert(name);
        }
    }

    /// Adds the evidence of the next slice of the input (a job in stages). Incomplete name groups
    /// of different slices are compared later, by
    /// [`EndStore::compare_incomplete`](super::EndStore::compare_incomplete).
    pub fn append_slice(&mut self, next: Grouping) {
        self.without_primary += next.without_primary;
        self.doubled += next.doubled;
        self.places.append_span(next.places);
        self.scattered |= next.scattered;
    }

    pub fn note_scattered(&mut self) {
        self.scattered = true;
    }

    /// Returns the number of name groups with two first or two last segments. Duplicates among
    /// these reads are not marked reliably, so the pipeline warns about them.
    pub fn doubled_groups(&self) -> u64 {
        self.doubled
    }

    pub fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Returns whether the content alone proves that the input is grouped. Valid after all
    /// incomplete name groups have been compared. A name group with only secondary or supplementary
    /// records proves nothing, because its template may be elsewhere.
    pub fn is_proved(&self) -> bool {
        !self.scattered && self.without_primary == 0
    }

    /// Decides whether the input is grouped. If the header declares grouping, it is grouped unless
    /// a template is scattered. If the header declares coordinate order, it is grouped only if the
    /// content proves it and is not in coordinate order. Otherwise the content must prove it.
    pub fn decide(&self, stated: StatedOrder) -> GroupingDecision {
        let contradicts = match stated {
            StatedOrder::Grouped => self.scattered,
            StatedOrder::Coordinate => self.is_proved() && self.places.broken,
            StatedOrder::Neither => false,
        };
        let grouped = match stated {
            StatedOrder::Grouped => !self.scattered,
            StatedOrder::Coordinate => contradicts,
            StatedOrder::Neither => self.is_proved(),
        };
        GroupingDecision { grouped, contradicts }
    }
}
