//! Counts the molecules that UMIs show, and the templates of each. The counts become part of the run
//! description.

use serde::{Deserialize, Serialize};

/// Number of family sizes that are counted separately. The last one also counts all larger families,
/// so that the memory does not depend on the reads.
pub const MAX_FAMILY_SIZE: usize = 1000;

/// Size of a family size's JSON description in bytes: the size and the number of families.
const DESCRIPTION_BYTES: u64 = 64;

/// Maximum memory of the counts and their description in bytes.
pub const MAX_BYTES: u64 = 2 * MAX_FAMILY_SIZE as u64 * (size_of::<u64>() as u64 + DESCRIPTION_BYTES);

/// The families of a run, that is, the sets of templates from one molecule each.
///
/// Read pairs and single reads are counted separately. A single read whose molecule has a read pair
/// belongs to the family of the pair, but is not counted there, because its start alone does not
/// show which of the pairs at this start it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoleculeCounts {
    pub pairs: FamilyCounts,
    pub single_reads: FamilyCounts,
    /// Whether both strands of a molecule form one family, so that `both_strands` is known.
    pub joins_strands: bool,
}

/// Families of read pairs, or of single reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FamilyCounts {
    /// Templates that have a UMI, and so belong to a family.
    pub templates: u64,
    pub without_umi: u64,
    /// Templates whose UMI is different from the UMI of their family, because it has an error.
    pub corrected: u64,
    pub families: u64,
    /// Families with templates from both strands of the molecule.
    pub both_strands: u64,
    /// Number of templates of the largest family.
    pub largest: u64,
    /// Number of families of each size: the first value is for families of one template.
    pub sizes: Vec<u64>,
}

impl FamilyCounts {
    pub fn count_template(&mut self, has_umi: bool, is_corrected: bool) {
        self.templates += u64::from(has_umi);
        self.without_umi += u64::from(!has_umi);
        self.corrected += u64::from(is_corrected);
    }

    /// Counts a family of `strands[0] + strands[1]` templates. Single-strand methods have all
    /// templates of a family on one strand.
    pub fn count_family(&mut self, strands: [u64; 2]) {
        let templates = strands[0] + strands[1];
        let Some(size) = (templates as usize).min(MAX_FAMILY_SIZE).checked_sub(1) else { return };
        self.families += 1;
        self.both_strands += u64::from(strands[0] > 0 && strands[1] > 0);
        self.largest = self.largest.max(templates);
        if self.sizes.len() <= size {
            self.sizes.resize(size + 1, 0);
        }
        self.sizes[size] += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_counted_by_size_and_strand() {
        let mut counts = FamilyCounts::default();
        for strands in [[1, 0], [2, 1], [0, 3], [5_000, 0], [0, 0]] {
            counts.count_family(strands);
        }
        assert_eq!((counts.families, counts.both_strands, counts.largest), (4, 1, 5_000));
        assert_eq!(counts.sizes.len(), MAX_FAMILY_SIZE);
        let counted: Vec<_> =
            counts.sizes.iter().enumerate().filter(|(_, families)| **families > 0).collect();
        assert_eq!(counted, [(0, &1), (2, &2), (MAX_FAMILY_SIZE - 1, &1)]);
    }
}
