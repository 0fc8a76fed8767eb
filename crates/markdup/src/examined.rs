//! Counts of examined records of each kind, by library.

use readmill_record::Flags;

use super::metrics::LibraryCounts;

/// Records of each kind, by the number of their library.
#[derive(Clone, Debug, Default)]
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
            &mut counts.paired_examined
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
