//! Whether the input is grouped by name, judged from its content while it is read, and from its header where the
//! content does not tell.
//!
//! A stretch is what stands together of one name. Primary records of paired reads have two different ends: a stretch
//! is complete if it has as many first as last ones. The names of others are remembered by a hash: two such stretches
//! of one name are a template that was scattered. If there are none, those mates are simply not in the file.

use std::collections::HashSet;

use readmill_record::{Batch, Header, RecordRef, Span};

/// The first so many incomplete stretches are compared at once, so that input that is not grouped is
/// usually noticed in its first chunks; all of them are compared at the end.
const COMPARED_AT_ONCE: usize = 1 << 13;

/// The order of reads that headers state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stated {
    /// Reads of one name stand together.
    Grouped,
    /// Reads are sorted by coordinate.
    Coordinate,
    /// Neither.
    Neither,
}

impl Stated {
    /// The statement of the headers of all inputs, which are read one after the other: several that are sorted by
    /// coordinate are not sorted as a whole.
    pub fn by<'a>(mut headers: impl ExactSizeIterator<Item = &'a Header> + Clone) -> Self {
        let one = headers.len() == 1;
        if headers.len() > 0 && headers.clone().all(says_grouped) {
            Stated::Grouped
        } else if one && headers.all(Header::claims_coordinate_order) {
            Stated::Coordinate
        } else {
            Stated::Neither
        }
    }
}

fn says_grouped(header: &Header) -> bool {
    let mut lines = header.lines_of(b"HD");
    let said = lines.any(|it| it.get(b"SO") == Some(b"queryname") || it.get(b"GO") == Some(b"query"));
    said && !header.claims_coordinate_order()
}

/// The place of a record in the order of a coordinate-sorted file, strands aside.
type Place = (u32, u32);

/// Whether records come in the order of a coordinate-sorted file.
#[derive(Clone, Copy, Debug, Default)]
struct Places {
    /// Of the first record and the last.
    ends: Option<(Place, Place)>,
    broken: bool,
}

impl Places {
    fn of(record: RecordRef<'_>) -> Self {
        let place = (record.ref_id() as u32, (record.pos() as u32).wrapping_add(1));
        Places { ends: Some((place, place)), broken: false }
    }

    /// Adds what follows.
    fn add(&mut self, next: Places) {
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

/// What one batch shows.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Hashes of the names of incomplete stretches.
    incomplete: Vec<[u64; 2]>,
    /// Stretches without any primary record.
    without_primary: u64,
    /// Stretches in all.
    stretches: u64,
    places: Places,
}

impl Evidence {
    /// Judges the stretches of a batch, which must be stamped and not yet filtered.
    pub fn of(batch: &Batch) -> Self {
        let mut evidence = Evidence::default();
        let template = |span: &Span| span.stamp.template();
        for stretch in batch.spans.chunk_by(|a, b| template(a) == template(b)) {
            let mut ends = Ends::default();
            for &span in stretch {
                let record = batch.record(span);
                ends.add(record);
                evidence.places.add(Places::of(record));
            }
            evidence.stretches += 1;
            let name = batch.record(stretch[0]).qname();
            if ends.primaries == 0 {
                evidence.without_primary += 1;
            } else if !ends.are_complete() && name != b"*" {
                let hash = xxhash_rust::xxh3::xxh3_128(name);
                evidence.incomplete.push([(hash >> 64) as u64, hash as u64]);
            }
        }
        evidence
    }

    /// Hashes of the names of incomplete stretches.
    pub fn incomplete(&self) -> &[[u64; 2]] {
        &self.incomplete
    }

    /// Whether the batch looks as if it came from grouped input.
    pub fn looks_grouped(&self) -> bool {
        2 * (self.incomplete.len() as u64 + self.without_primary) <= self.stretches
    }

    /// Whether two incomplete stretches of the batch have one name, which proves that the input is not grouped.
    pub fn is_scattered(&self) -> bool {
        let mut names = HashSet::with_capacity(self.incomplete.len());
        !self.incomplete.iter().all(|name| names.insert(name))
    }

    /// Whether nothing in the batch speaks against grouped input.
    pub fn is_complete(&self) -> bool {
        self.incomplete.is_empty() && self.without_primary == 0
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> u64 {
        size_of_val(&self.incomplete[..]) as u64
    }
}

/// The primary records of a stretch, by their ends.
#[derive(Default)]
struct Ends {
    primaries: u64,
    first: u64,
    last: u64,
    /// Paired reads that say of themselves that they are both ends, or neither.
    other: u64,
}

impl Ends {
    fn add(&mut self, record: RecordRef<'_>) {
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

    /// Whether none lacks its other end. Single reads have none.
    fn are_complete(&self) -> bool {
        self.first == self.last && self.other.is_multiple_of(2)
    }
}

/// What the whole input shows.
#[derive(Debug, Default)]
pub struct Grouping {
    first: HashSet<[u64; 2]>,
    without_primary: u64,
    scattered: bool,
    places: Places,
}

/// The judgement of an input whose first piece looked grouped, or whose header says that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Whether reads of one name stand together.
    pub grouped: bool,
    /// Whether the header says otherwise.
    pub contradicts: bool,
}

impl Grouping {
    /// Adds what a batch showed; batches come in input order.
    pub fn add(&mut self, evidence: &Evidence) {
        self.without_primary += evidence.without_primary;
        self.places.add(evidence.places);
        let room = COMPARED_AT_ONCE - self.first.len();
        for &name in evidence.incomplete.iter().take(room) {
            self.scattered |= !self.first.insert(name);
        }
    }

    /// Notes that two incomplete stretches have the same name.
    pub fn note_scattered(&mut self) {
        self.scattered = true;
    }

    /// Whether a template is known to be scattered.
    pub fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Whether the content alone proves that the input is grouped, once all incomplete stretches have been compared.
    /// A stretch of only secondary or supplementary records may belong to a template elsewhere.
    pub fn is_proved(&self) -> bool {
        !self.scattered && self.without_primary == 0
    }

    /// Judges by the content, and by the header where the content is inconclusive: where it has stretches without any
    /// primary record, or is grouped and sorted by coordinate at once, or begins with stretches most of which are
    /// incomplete, though no template is scattered.
    pub fn judged(&self, stated: Stated) -> Judged {
        let contradicts = match stated {
            Stated::Grouped => self.scattered,
            Stated::Coordinate => self.is_proved() && self.places.broken,
            Stated::Neither => false,
        };
        let grouped = match stated {
            Stated::Grouped => !self.scattered,
            Stated::Coordinate => contradicts,
            Stated::Neither => self.is_proved(),
        };
        Judged { grouped, contradicts }
    }
}
