//! What is taken for an adapter.

use super::sequences::AdapterPair;

/// How much of a read must be like an adapter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stringency {
    /// Fewest bases of the read that are compared.
    pub least_bases: usize,
    /// Mismatches in a compared base, at most; the product with the number of bases is rounded down. 0 to 1.
    pub error_rate: f64,
}

impl Stringency {
    /// Mismatches that are allowed in so many bases.
    pub(super) fn mismatches(&self, bases: usize) -> usize {
        (bases as f64 * self.error_rate) as usize
    }
}

/// What is marked as an adapter.
#[derive(Clone, Debug, PartialEq)]
pub struct AdapterRules {
    /// Adapters, in the order in which they are tried.
    pub adapters: Vec<AdapterPair>,
    /// What a single read takes.
    pub single: Stringency,
    /// What each read of a pair takes.
    pub pair: Stringency,
    /// Bases of an adapter that count.
    pub longest: usize,
    /// Which adapters are dropped; nothing if all stay.
    pub pruning: Option<Pruning>,
}

/// When adapters are dropped, and how many are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruning {
    /// Templates with an adapter after which it is judged; from 1.
    pub after: u64,
    /// Adapters that stay, from 1: those found most often.
    pub keep: usize,
}
