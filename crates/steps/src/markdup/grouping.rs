//! Whether the input is grouped by name, judged from its content while it is read.
//!
//! A template whose records all stand together has its first and its last segment (or, unpaired, its
//! one primary record) in one stretch. Stretches that lack one are remembered by a hash of their
//! name: if two such stretches have the same name, a template was scattered. If none do, those
//! mates are simply not in the file, and the input is grouped.

use std::collections::HashSet;

use readmill_record::Batch;

/// The first so many incomplete stretches are compared at once, so that input that is not grouped is
/// usually noticed in its first chunks; all of them are compared at the end.
const COMPARED_AT_ONCE: usize = 1 << 14;

/// What one batch shows.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Hashes of the names of stretches without their mate.
    incomplete: Vec<[u64; 1]>,
    /// Stretches without any primary record.
    without_primary: u64,
    /// Stretches in all.
    templates: u64,
}

impl Evidence {
    /// Judges the stretches of a batch, which must be stamped and not yet filtered.
    pub fn of(batch: &Batch) -> Self {
        let mut evidence = Evidence::default();
        let template = |span: &readmill_record::Span| span.stamp.template();
        for stretch in batch.spans.chunk_by(|a, b| template(a) == template(b)) {
            let (mut paired, mut primaries) = (false, 0);
            for &span in stretch {
                let flags = batch.record(span).flags();
                paired |= flags.is_paired();
                primaries += u32::from(flags.is_primary());
            }
            evidence.templates += 1;
            let name = batch.record(stretch[0]).qname();
            if primaries == 0 {
                evidence.without_primary += 1;
            } else if paired && primaries % 2 == 1 && name != b"*" {
                evidence.incomplete.push([xxhash_rust::xxh3::xxh3_64(name)]);
            }
        }
        evidence
    }

    /// Whether there was anything to judge.
    pub fn is_empty(&self) -> bool {
        self.templates == 0
    }

    /// Hashes of the names of stretches without their mate.
    pub fn incomplete(&self) -> &[[u64; 1]] {
        &self.incomplete
    }

    /// Whether the batch looks as if it came from grouped input.
    pub fn looks_grouped(&self) -> bool {
        2 * (self.incomplete.len() as u64 + self.without_primary) <= self.templates
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

/// What the whole input shows.
#[derive(Debug, Default)]
pub struct Grouping {
    first: HashSet<u64>,
    without_primary: u64,
    scattered: bool,
}

impl Grouping {
    /// Adds what a batch showed.
    pub fn add(&mut self, evidence: &Evidence) {
        self.without_primary += evidence.without_primary;
        let room = COMPARED_AT_ONCE - self.first.len();
        for &[name] in evidence.incomplete.iter().take(room) {
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

    /// Whether the input is proved to be grouped, once all incomplete stretches have been compared. A
    /// stretch of only secondary or supplementary records proves nothing; there the header's word is
    /// taken.
    pub fn is_proved(&self, header_says_grouped: bool) -> bool {
        !self.scattered && (self.without_primary == 0 || header_says_grouped)
    }
}
