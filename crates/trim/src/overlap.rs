//! Finds how the two reads of a pair overlap.
//!
//! Read 2 (`last`) is reverse-complemented and shifted along read 1 (`first`). If the template is
//! shorter than the reads, both reads run into the adapter, and the offset is negative:
//!
//! ```text
//!            offset 3: long template         offset -3: the last 3 bases of each read are adapter
//! first      ACGTACGTAC                         ACGTACGTAC
//! last, rc      TACGTACGGT                   TTTACGTACG
//! ```

use crate::bases::reverse_complement;
use crate::options::OverlapRules;
use crate::shifts::Shifts;

/// Number of leading bases of an overlap in which fastp limits the mismatches. Later mismatches are
/// allowed.
const DECISIVE_BASES: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The start of the reverse-complemented read 2, relative to the start of read 1. Negative if
    /// the template is shorter than the reads.
    pub offset: isize,
    pub length: usize,
    /// Number of mismatches over the whole length, including those after the first 50 bases.
    pub mismatches: usize,
}

/// Finds overlaps. Use one search for many pairs, so that its buffers are reused.
#[derive(Default)]
pub struct OverlapSearch {
    shifts: Shifts,
    last: Vec<u8>,
}

impl OverlapSearch {
    /// Returns the first overlap that satisfies the rules, or `None`.
    ///
    /// Offsets are tried in fastp's order: 0, 1, 2, ... first, then 0, -1, -2, ...
    pub fn find_overlap(&mut self, first: &[u8], last: &[u8], rules: &OverlapRules) -> Option<Overlap> {
        reverse_complement(last, &mut self.last);
        let last = &self.last[..];
        self.shifts.set_text(first);
        let behind = self.find_shift(first, last, rules);
        if let Some((shift, length, differing)) = behind {
            return Some(Overlap { offset: shift as isize, length, mismatches: differing });
        }
        self.shifts.set_text(last);
        let (shift, length, differing) = self.find_shift(last, first, rules)?;
        Some(Overlap { offset: -(shift as isize), length, mismatches: differing })
    }

    /// Finds the smallest shift at which `moved` overlaps `text`. Returns the shift, the length of
    /// the overlap and its number of mismatches.
    ///
    /// `self.shifts` must have been set to `text`.
    fn find_shift(
        &self,
        text: &[u8],
        moved: &[u8],
        rules: &OverlapRules,
    ) -> Option<(usize, usize, usize)> {
        let shifts = 0..text.len().saturating_sub(rules.min_bases);
        let length = |shift: usize| moved.len().min(text.len() - shift);
        let found = self.shifts.find_shift(moved, shifts, rules.max_mismatches, |shift| {
            let length = length(shift);
            let decisive = length.min(DECISIVE_BASES);
            count_mismatches(&text[shift..shift + decisive], &moved[..decisive])
                <= max_mismatches(rules, length)
        });
        found.map(|shift| {
            let length = length(shift);
            (shift, length, count_mismatches(&text[shift..shift + length], &moved[..length]))
        })
    }
}

/// Returns the maximum number of mismatches for an overlap of this length. Multiplies by a fraction
/// like fastp, because integer arithmetic would round differently.
fn max_mismatches(rules: &OverlapRules, length: usize) -> usize {
    let share = length as f64 * (f64::from(rules.max_mismatch_percent) / 100.0);
    rules.max_mismatches.min(share as usize)
}

fn count_mismatches(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).filter(|(one, other)| one != other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: OverlapRules =
        OverlapRules { min_bases: 30, max_mismatches: 5, max_mismatch_percent: 20 };

    fn find(first: &str, last: &str, rules: &OverlapRules) -> Option<(isize, usize, usize)> {
        let found = OverlapSearch::default().find_overlap(first.as_bytes(), last.as_bytes(), rules)?;
        Some((found.offset, found.length, found.mismatches))
    }

    #[test]
    fn mates_overlap_where_their_templates_are_short() {
        // The example of fastp's own test.
        let first =
            "CAGCGCCTACGGGCCCCTTTTTCTGCGCGACCGCGTGGCTGTGGGCGCGGATGCCTTTGAGCGCGGTGACTTCTCACTGCGTATCGAGC";
        let last =
            "ACCTCCAGCGGCTCGATACGCAGTGAGAAGTCACCGCGCTCAAAGGCATCCGCGCCCACAGCCACGCGGTCGCGCAGAAAAAGGGGTCC";
        let rules = OverlapRules { max_mismatches: 2, ..RULES };
        assert_eq!(find(first, last, &rules), Some((10, 79, 1)));
        assert_eq!(find(first, last, &OverlapRules { max_mismatches: 0, ..RULES }), None);
        assert_eq!(find(first, last, &OverlapRules { max_mismatch_percent: 0, ..RULES }), None);
        assert_eq!(
            find(first, last, &OverlapRules { min_bases: 79, ..RULES }),
            None,
            "more than the least"
        );
    }

    #[test]
    fn reads_run_into_adapters_behind_their_template() {
        let template = "GATTACACCTGAAGCTTGGCATCCTAGGTTACGCAAGTC";
        let mut other = Vec::new();
        reverse_complement(template.as_bytes(), &mut other);
        let first = format!("{template}AGATCGGAAG");
        let last = format!("{}CTGTCTCTTA", String::from_utf8(other).unwrap());
        assert_eq!(find(&first, &last, &RULES), Some((-10, 39, 0)));
        assert_eq!(find(&template[..30], &last, &RULES), Some((-10, 30, 0)));
        assert_eq!(find(&template[..29], &last[..30], &RULES), None);
    }

    #[test]
    fn differences_behind_the_first_50_bases_do_not_count() {
        let mut first = "GATTACACCTGAAGCTTGGCATCCTAGGTTACGCAAGTCGGCTATTCGCA".repeat(2).into_bytes();
        first.truncate(80);
        let mut last = Vec::new();
        reverse_complement(&first, &mut last);
        first[50..80].fill(b'N');
        let found = OverlapSearch::default().find_overlap(&first, &last, &RULES);
        assert_eq!(found, Some(Overlap { offset: 0, length: 80, mismatches: 30 }));
    }
}
