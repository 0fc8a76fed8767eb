//! Duplicate counts, as in Picard's DuplicationMetrics.
//!
//! | subject | module |
//! |---|---|
//! | library size, and the yield of deeper sequencing | [`readmill_format::library_size`] |
//! | Picard's metrics file, with numbers formatted as in Java | [`picard`] |
//! | the metrics as JSON | [`json`] |
//!
//! Each record belongs to the first of these categories that applies (Picard 3.4.0):
//!
//! 1. unmapped, even if it is secondary;
//! 2. secondary or supplementary;
//! 3. unpaired: single-end, or the mate is unmapped;
//! 4. paired.
//!
//! Duplicates are counted only in the last two categories. Records are counted before any are
//! removed.

pub mod json;
pub mod picard;

use readmill_format::library_size::{estimate_library_size, expected_yield};

use std::collections::BTreeMap;

use readmill_record::Flags;
use serde::{Deserialize, Serialize};

/// Duplicate counts of one library, in records unless stated otherwise.
///
/// ```
/// use readmill_markdup::metrics::LibraryCounts;
///
/// let counts = LibraryCounts {
///     paired_reads_examined: 2000,
///     paired_read_duplicates: 200,
///     ..LibraryCounts::default()
/// };
/// assert_eq!(counts.pairs_examined(), 1000);
/// assert_eq!(counts.unique_pairs(), 900);
/// assert_eq!(counts.duplication(), 0.1);
/// assert!(counts.library_size().is_some_and(|molecules| molecules > 900));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryCounts {
    pub unpaired_examined: u64,
    /// Mapped primary records of pairs. Each mate counts, so this is twice the number of pairs.
    pub paired_reads_examined: u64,
    pub secondary_or_supplementary: u64,
    pub unmapped: u64,
    pub unpaired_duplicates: u64,
    pub paired_read_duplicates: u64,
    pub optical_pairs: u64,
}

impl LibraryCounts {
    /// Returns the number of pairs. A read whose mate is not in the file counts as half a pair, and
    /// the sum is rounded down, as in Picard.
    pub fn pairs_examined(&self) -> u64 {
        self.paired_reads_examined / 2
    }

    pub fn duplicate_pairs(&self) -> u64 {
        self.paired_read_duplicates / 2
    }

    /// Returns the fraction of duplicates among the examined reads (PERCENT_DUPLICATION), from 0 to
    /// 1, or 0 if there are no reads.
    pub fn duplication(&self) -> f64 {
        let examined = self.unpaired_examined + 2 * self.pairs_examined();
        let duplicates = self.unpaired_duplicates + 2 * self.duplicate_pairs();
        if examined == 0 { 0.0 } else { duplicates as f64 / examined as f64 }
    }

    pub fn unique_pairs(&self) -> u64 {
        self.pairs_examined().saturating_sub(self.duplicate_pairs())
    }

    /// Estimates the number of molecules in the library with [`estimate_library_size`]. Optical
    /// duplicates are excluded, because they do not depend on the library. Returns `None` if no
    /// estimate is possible.
    pub fn library_size(&self) -> Option<u64> {
        let pairs = self.pairs_examined().checked_sub(self.optical_pairs)?;
        estimate_library_size(pairs, self.unique_pairs())
    }

    pub fn add(&mut self, more: &LibraryCounts) {
        self.unpaired_examined += more.unpaired_examined;
        self.paired_reads_examined += more.paired_reads_examined;
        self.secondary_or_supplementary += more.secondary_or_supplementary;
        self.unmapped += more.unmapped;
        self.unpaired_duplicates += more.unpaired_duplicates;
        self.paired_read_duplicates += more.paired_read_duplicates;
        self.optical_pairs += more.optical_pairs;
    }
}

/// The number of pair sets of each size, over all libraries. Single reads are not counted.
///
/// ```
/// use readmill_markdup::metrics::SetSizes;
///
/// let mut sizes = SetSizes::default();
/// sizes.count(1, 0); // a pair without duplicates
/// sizes.count(4, 1); // four pairs, one of them an optical duplicate
/// assert_eq!(sizes.all.into_iter().collect::<Vec<_>>(), [(1, 1), (4, 1)]);
/// assert_eq!(sizes.non_optical.into_iter().collect::<Vec<_>>(), [(1, 1), (3, 1)]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetSizes {
    pub all: BTreeMap<u64, u64>,
    /// Sets with optical duplicates, by the number of optical duplicates plus 1 for the pair that
    /// they duplicate.
    pub optical: BTreeMap<u64, u64>,
    pub non_optical: BTreeMap<u64, u64>,
}

impl SetSizes {
    pub fn count(&mut self, pairs: u64, optical: u64) {
        *self.all.entry(pairs).or_default() += 1;
        if pairs > optical {
            *self.non_optical.entry(pairs - optical).or_default() += 1;
        }
        if optical > 0 {
            *self.optical.entry(optical + 1).or_default() += 1;
        }
    }

    pub fn add(&mut self, more: &SetSizes) {
        let sums = [&mut self.all, &mut self.optical, &mut self.non_optical];
        for (sum, more) in sums.into_iter().zip([&more.all, &more.optical, &more.non_optical]) {
            for (&size, &sets) in more {
                *sum.entry(size).or_default() += sets;
            }
        }
    }
}

/// The metrics of a file, ready to be written by [`Self::to_picard`] or [`Self::write_json`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicationMetrics {
    /// Each library once, with its name, in any order: all libraries of the header's read groups,
    /// with or without reads, and [`UNKNOWN_LIBRARY`](readmill_record::header::UNKNOWN_LIBRARY) if
    /// a read group has no library or there are reads without one.
    pub libraries: Vec<(Vec<u8>, LibraryCounts)>,
    pub sets: SetSizes,
}

impl DuplicationMetrics {
    fn sorted_libraries(&self) -> Vec<(&[u8], &LibraryCounts)> {
        let mut libraries: Vec<(&[u8], &LibraryCounts)> =
            self.libraries.iter().map(|(name, counts)| (&name[..], counts)).collect();
        libraries.sort_by_key(|&(name, _)| name);
        libraries
    }
}

/// Record counts of each library, indexed by library number. They are counted while ends are
/// collected, before any read is known to be a duplicate.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExaminedCounts(Vec<LibraryCounts>);

impl ExaminedCounts {
    pub fn counts_mut(&mut self, library: u16) -> &mut LibraryCounts {
        let at = usize::from(library);
        if self.0.len() <= at {
            self.0.resize_with(at + 1, LibraryCounts::default);
        }
        &mut self.0[at]
    }

    pub fn count_record(&mut self, flags: Flags, library: u16) {
        let counts = self.counts_mut(library);
        let kind = if flags.is_unmapped() {
            &mut counts.unmapped
        } else if !flags.is_primary() {
            &mut counts.secondary_or_supplementary
        } else if !flags.is_paired() || flags.is_mate_unmapped() {
            &mut counts.unpaired_examined
        } else {
            &mut counts.paired_reads_examined
        };
        *kind += 1;
    }

    pub fn add(&mut self, other: &ExaminedCounts) {
        for (library, counts) in other.0.iter().enumerate() {
            self.counts_mut(library as u16).add(counts);
        }
    }

    pub fn into_counts(self) -> Vec<LibraryCounts> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_pairs_are_cut_off() {
        let counts = LibraryCounts {
            unpaired_examined: 1,
            paired_reads_examined: 15,
            paired_read_duplicates: 7,
            optical_pairs: 1,
            ..LibraryCounts::default()
        };
        assert_eq!(
            (counts.pairs_examined(), counts.duplicate_pairs(), counts.unique_pairs()),
            (7, 3, 4)
        );
        assert_eq!(counts.duplication(), 6.0 / 15.0);
        assert_eq!(counts.library_size(), estimate_library_size(6, 4));
        assert_eq!(LibraryCounts::default().duplication(), 0.0);
        assert_eq!(LibraryCounts { optical_pairs: 1, ..LibraryCounts::default() }.library_size(), None);
    }

    #[test]
    fn a_set_counts_whole_and_without_its_optical_duplicates() {
        let mut sets = SetSizes::default();
        let mut more = SetSizes::default();
        sets.count(1, 0);
        sets.count(3, 1);
        more.count(3, 2);
        sets.add(&more);
        assert_eq!(sets.all, BTreeMap::from([(1, 1), (3, 2)]));
        assert_eq!(sets.optical, BTreeMap::from([(2, 1), (3, 1)]));
        assert_eq!(sets.non_optical, BTreeMap::from([(1, 2), (2, 1)]));
    }
}
