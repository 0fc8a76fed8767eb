//! Finds the base at which a read continues into the adapter, and marks it in XT, as Picard
//! MarkIlluminaAdapters does.
//!
//! If a template is shorter than its reads, each read continues with the adapter after the last
//! base of the template, at the same base in both reads:
//!
//! ```text
//! template      ACGTTGCAACG
//! read 1        ACGTTGCAACG|AGATCGGAAG      XT:i:12 in both reads
//! read 2        CGTTGCAACGT|AGATCGGAAG
//! ```
//!
//! [`Marker`] finds this base and stores it in [`readmill_record::ReadBatch`]. Picard drops
//! adapters that are rare among the first ones found, which depends on the input order. So
//! [`AdapterCounts`] counts templates in that order. Once it has counted enough,
//! [`RemainingAdapters`] holds the remaining adapters, and marks made in the meantime are
//! corrected.

mod marker;
mod prefix_scan;
mod search;
mod sequences;

pub use marker::{AdapterCounts, FoundIn, Marker, RemainingAdapters};
pub use sequences::AdapterPair;

/// Minimum length and maximum error rate of an adapter match.
///
/// Picard's defaults are 12 bases for single reads, 6 for each read of a pair, and an error rate of
/// 0.1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stringency {
    /// Minimum number of bases of the read that are compared, at least 1.
    pub min_bases: usize,
    /// Maximum fraction of mismatches among the compared bases, 0 to 1. The maximum number of
    /// mismatches is rounded down.
    pub error_rate: f64,
}

impl Stringency {
    fn max_mismatches(&self, bases: usize) -> usize {
        (bases as f64 * self.error_rate) as usize
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct AdapterRules {
    pub adapters: Vec<AdapterPair>,
    pub single: Stringency,
    pub pair: Stringency,
    /// Maximum number of bases of an adapter that are compared (Picard's
    /// `ADAPTER_TRUNCATION_LENGTH`).
    pub max_adapter_bases: usize,
    pub pruning: Option<Pruning>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruning {
    /// Number of templates with an adapter after which the list is pruned, at least 1 (Picard's
    /// `PRUNE_ADAPTER_LIST_AFTER_THIS_MANY_ADAPTERS_SEEN`).
    pub after: u64,
    /// Number of adapters to keep, the most frequent ones; at least 1 (Picard's
    /// `NUM_ADAPTERS_TO_KEEP`).
    pub keep: usize,
}
