//! Whether the input is grouped by name, judged from its content while it is read.
//!
//! A template whose records all stand together has its first and its last segment (or, unpaired, its
//! one primary record) in one stretch. Stretches that lack one are remembered by a hash of their
//! name: if two such stretches have the same name, a template was scattered. If none do, those
//! mates are simply not in the file, and the input is grouped.

use std::collections::HashSet;

use readmill_record::Batch;

/// More incomplete stretches than this are not remembered; the input then counts as not grouped.
const MOST_INCOMPLETE: usize = 1 << 20;

/// What one batch shows.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Hashes of the names of stretches without their mate.
    incomplete: Vec<u64>,
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
                evidence.incomplete.push(xxhash_rust::xxh3::xxh3_64(name));
            }
        }
        evidence
    }

    /// Whether the batch looks as if it came from grouped input.
    pub fn looks_grouped(&self) -> bool {
        2 * (self.incomplete.len() as u64 + self.without_primary) <= self.templates
    }

    /// Bytes it holds.
    pub fn bytes(&self) -> u64 {
        24 * self.incomplete.len() as u64
    }
}

/// What the whole input shows.
#[derive(Debug, Default)]
pub struct Grouping {
    incomplete: HashSet<u64>,
    without_primary: u64,
    scattered: bool,
}

impl Grouping {
    /// Adds what a batch showed.
    pub fn add(&mut self, evidence: &Evidence) {
        self.without_primary += evidence.without_primary;
        for &name in &evidence.incomplete {
            self.scattered |= !self.incomplete.insert(name) || self.incomplete.len() > MOST_INCOMPLETE;
            if self.scattered {
                self.incomplete = HashSet::new();
                return;
            }
        }
    }

    /// Whether a template is known to be scattered.
    pub fn is_scattered(&self) -> bool {
        self.scattered
    }

    /// Whether the input is proved to be grouped. A stretch of only secondary or supplementary records
    /// proves nothing; there the header's word is taken.
    pub fn is_proved(&self, header_says_grouped: bool) -> bool {
        !self.scattered && (self.without_primary == 0 || header_says_grouped)
    }
}
