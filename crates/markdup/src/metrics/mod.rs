//! Counts of duplicates by kind: Picard's DuplicationMetrics as plain data.
//!
//! | subject | file |
//! |---|---|
//! | the number of molecules in a library, and the gain of deeper sequencing | [`readmill_format::library_size`] |
//! | the file that Picard writes, with numbers as Java writes them | [`picard`] |
//! | the same as JSON | [`json`] |
//!
//! The categories (Picard 3.4.0): an unmapped record is unmapped, even if it is secondary; of the others a
//! secondary or supplementary one is just that; the rest are paired, unless the record is single-end or its
//! mate unmapped. Duplicates are counted among these last two kinds alone. Records are counted before any is
//! removed.

pub mod json;
pub mod picard;

use readmill_format::library_size::{estimated_library_size, expected_yield};

use std::collections::BTreeMap;

use readmill_record::Flags;
use serde::{Deserialize, Serialize};

/// Counts of one library, in records where not stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryCounts {
    /// Mapped primary records that are single-end, or whose mate is unmapped.
    pub unpaired_examined: u64,
    /// Mapped primary records of pairs; each mate is one.
    pub paired_reads_examined: u64,
    /// Mapped records that are secondary or supplementary.
    pub secondary_or_supplementary: u64,
    /// Unmapped records.
    pub unmapped: u64,
    /// Duplicates among [`Self::unpaired_examined`].
    pub unpaired_duplicates: u64,
    /// Duplicates among [`Self::paired_reads_examined`].
    pub paired_read_duplicates: u64,
    /// Pairs that are optical duplicates.
    pub optical_pairs: u64,
}

impl LibraryCounts {
    /// Pairs examined. A record whose mate is not in the file counts half, and halves are cut off.
    pub fn pairs_examined(&self) -> u64 {
        self.paired_reads_examined / 2
    }

    /// Pairs that are duplicates, counted as [`Self::pairs_examined`].
    pub fn duplicate_pairs(&self) -> u64 {
        self.paired_read_duplicates / 2
    }

    /// The share of duplicates among the reads examined, from 0 to 1; 0 if none were.
    pub fn duplication(&self) -> f64 {
        let examined = self.unpaired_examined + 2 * self.pairs_examined();
        let duplicates = self.unpaired_duplicates + 2 * self.duplicate_pairs();
        if examined == 0 { 0.0 } else { duplicates as f64 / examined as f64 }
    }

    /// Pairs that are not duplicates.
    pub fn unique_pairs(&self) -> u64 {
        self.pairs_examined().saturating_sub(self.duplicate_pairs())
    }

    /// Estimates the number of molecules in the library: see [`estimated_library_size`]. Optical duplicates
    /// do not depend on the library and are left out.
    pub fn library_size(&self) -> Option<u64> {
        let pairs = self.pairs_examined().checked_sub(self.optical_pairs)?;
        estimated_library_size(pairs, self.unique_pairs())
    }

    /// Adds the counts of more reads of the same library.
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

/// The number of sets of each size, in pairs, over all libraries. Single reads are not counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetSizes {
    /// Sets by their size; a pair without duplicates is a set of 1.
    pub all: BTreeMap<u64, u64>,
    /// Sets with optical duplicates, by their number and 1 for the pair they are duplicates of.
    pub optical: BTreeMap<u64, u64>,
    /// Sets by their size without their optical duplicates.
    pub non_optical: BTreeMap<u64, u64>,
}

impl SetSizes {
    /// Counts a set of `pairs` pairs, of which `optical` are optical duplicates.
    pub fn count(&mut self, pairs: u64, optical: u64) {
        *self.all.entry(pairs).or_default() += 1;
        if pairs > optical {
            *self.non_optical.entry(pairs - optical).or_default() += 1;
        }
        if optical > 0 {
            *self.optical.entry(optical + 1).or_default() += 1;
        }
    }

    /// Adds more sets.
    pub fn add(&mut self, more: &SetSizes) {
        let sums = [&mut self.all, &mut self.optical, &mut self.non_optical];
        for (sum, more) in sums.into_iter().zip([&more.all, &more.optical, &more.non_optical]) {
            for (&size, &sets) in more {
                *sum.entry(size).or_default() += sets;
            }
        }
    }
}

/// The metrics of a file. Its text forms are [`Self::to_picard`] and [`Self::put_json`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicationMetrics {
    /// Each library once, by name, in any order: all that the header's read groups have, reads or not, and
    /// [`UNKNOWN_LIBRARY`](super::libraries::UNKNOWN_LIBRARY) if a read group has none or such reads exist.
    pub libraries: Vec<(Vec<u8>, LibraryCounts)>,
    /// Sizes of sets.
    pub sets: SetSizes,
}

impl DuplicationMetrics {
    /// Libraries in the order of their names' bytes.
    fn sorted(&self) -> Vec<(&[u8], &LibraryCounts)> {
        let mut libraries: Vec<(&[u8], &LibraryCounts)> =
            self.libraries.iter().map(|(name, counts)| (&name[..], counts)).collect();
        libraries.sort_by_key(|&(name, _)| name);
        libraries
    }
}

/// Records of each kind, by the number of their library.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Examined(Vec<LibraryCounts>);

impl Examined {
    /// The counts of a library.
    pub fn of(&mut self, library: u16) -> &mut LibraryCounts {
        let at = usize::from(library);
        if self.0.len() <= at {
            self.0.resize_with(at + 1, LibraryCounts::default);
        }
        &mut self.0[at]
    }

    /// Counts a record.
    pub fn count(&mut self, flags: Flags, library: u16) {
        let counts = self.of(library);
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

    /// Adds the counts of another part of the input.
    pub fn add(&mut self, other: &Examined) {
        for (library, counts) in other.0.iter().enumerate() {
            self.of(library as u16).add(counts);
        }
    }

    /// Returns all counts, by library number.
    pub fn counts(self) -> Vec<LibraryCounts> {
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
        assert_eq!(counts.library_size(), estimated_library_size(6, 4));
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
