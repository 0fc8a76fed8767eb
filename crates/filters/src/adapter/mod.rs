//! Marks where reads run into the adapter after their template: XT, as Picard MarkIlluminaAdapters does.
//!
//! A template that is shorter than its reads ends at the same base in both, and after it each read continues
//! with its adapter. [`Marker`] finds that base in single reads and in pairs, and writes it to
//! [`readmill_record::ReadBatch`]. Picard drops the adapters of its list that are rare among the first ones
//! found, which depends on the order of the input: [`Kept`] holds the remaining list, once [`AdapterCounts`] has seen
//! enough templates, in that order; marks that were made meanwhile are corrected.

mod marker;
mod prefix_scan;
mod search;
mod sequences;

pub use marker::{AdapterCounts, FoundIn, Kept, Marker};
pub use sequences::AdapterPair;

/// How much of a read must match an adapter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stringency {
    /// The least number of compared bases.
    pub least_bases: usize,
    /// The highest rate of mismatches in compared bases; the product with the number of bases is rounded
    /// down. 0 to 1.
    pub error_rate: f64,
}

impl Stringency {
    /// Returns the allowed mismatches in `bases` bases.
    fn mismatches(&self, bases: usize) -> usize {
        (bases as f64 * self.error_rate) as usize
    }
}

/// The rules of adapter marking.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterRules {
    /// Adapters, in the order in which they are tried.
    pub adapters: Vec<AdapterPair>,
    /// The stringency for single reads.
    pub single: Stringency,
    /// The stringency for each read of a pair.
    pub pair: Stringency,
    /// Bases of an adapter that are used.
    pub longest: usize,
    /// Which adapters are dropped; `None` if all stay.
    pub pruning: Option<Pruning>,
}

/// When adapters are dropped, and how many stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruning {
    /// Templates with an adapter after which the list is pruned; from 1.
    pub after: u64,
    /// Adapters that stay, from 1: the most frequent ones.
    pub keep: usize,
}
