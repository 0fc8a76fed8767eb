//! Finds how the two reads of a pair overlap.
//!
//! The last read is reverse-complemented and shifted along the first one. If the template is
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

/// Mismatches decide only in this many leading bases of an overlap. fastp does not look further.
const DECISIVE: usize = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The start of the reverse-complemented last read, relative to the start of the first read.
    /// Negative if the template is shorter than the reads.
    pub offset: isize,
    pub length: usize,
    /// Number of mismatches over the whole length, including those after the first 50 bases.
    pub differing: usize,
}

/// Finds overlaps. Reuse one for many pairs: it keeps its buffers.
#[derive(Default)]
pub struct OverlapSearch {
    shifts: Shifts,
    last: Vec<u8>,
}

impl OverlapSearch {
    /// Returns the first overlap that satisfies the rules, or `None`.
    ///
    /// Offsets are tried in fastp's order: 0, 1, 2, ... first, then 0, -1, -2, ...
    pub fn find(&mut self, first: &[u8], last: &[u8], rules: &OverlapRules) -> Option<Overlap> {
        reverse_complement(last, &mut self.last);
        let last = &self.last[..];
        self.shifts.set(first);
        let behind = self.search(first, last, rules);
        if let Some((shift, length, differing)) = behind {
            return Some(Overlap { offset: shift as isize, length, differing });
        }
        self.shifts.set(last);
        let (shift, length, differing) = self.search(last, first, rules)?;
        Some(Overlap { offset: -(shift as isize), length, differing })
    }

    /// Finds the smallest shift at which `moved` overlaps `text`. Returns the shift, the length of
    /// the overlap and its number of mismatches.
    ///
    /// `self.shifts` must have been set to `text`.
    fn search(&self, text: &[u8], moved: &[u8], rules: &OverlapRules) -> Option<(usize, usize, usize)> {
        let shifts = 0..text.len().saturating_sub(rules.least);
        let length = |shift: usize| moved.len().min(text.len() - shift);
        let found = self.shifts.find(moved, shifts, rules.most_different, |shift| {
            let length = length(shift);
            let decisive = length.min(DECISIVE);
            differing(&text[shift..shift + decisive], &moved[..decisive]) <= most(rules, length)
        });
        found.map(|shift| {
            let length = length(shift);
            (shift, length, differing(&text[shift..shift + length], &moved[..length]))
        })
    }
}

/// Returns the maximum number of mismatches for an overlap of this length. fastp multiplies by a
/// fraction, and other arithmetic would round differently.
fn most(rules: &OverlapRules, length: usize) -> usize {
    let share = length as f64 * (f64::from(rules.percent) / 100.0);
    rules.most_different.min(share as usize)
}

fn differing(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).filter(|(one, other)| one != other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: OverlapRules = OverlapRules { least: 30, most_different: 5, percent: 20 };

    fn find(first: &str, last: &str, rules: &OverlapRules) -> Option<(isize, usize, usize)> {
        let found = OverlapSearch::default().find(first.as_bytes(), last.as_bytes(), rules)?;
        Some((found.offset, found.length, found.differing))
    }

    #[test]
    fn mates_overlap_where_their_templates_are_short() {
        // The example of fastp's own test.
        let first =
            "CAGCGCCTACGGGCCCCTTTTTCTGCGCGACCGCGTGGCTGTGGGCGCGGATGCCTTTGAGCGCGGTGACTTCTCACTGCGTATCGAGC";
        let last =
            "ACCTCCAGCGGCTCGATACGCAGTGAGAAGTCACCGCGCTCAAAGGCATCCGCGCCCACAGCCACGCGGTCGCGCAGAAAAAGGGGTCC";
        let rules = OverlapRules { most_different: 2, ..RULES };
        assert_eq!(find(first, last, &rules), Some((10, 79, 1)));
        assert_eq!(find(first, last, &OverlapRules { most_different: 0, ..RULES }), None);
        assert_eq!(find(first, last, &OverlapRules { percent: 0, ..RULES }), None);
        assert_eq!(find(first, last, &OverlapRules { least: 79, ..RULES }), None, "more than the least");
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
        let found = OverlapSearch::default().find(&first, &last, &RULES);
        assert_eq!(found, Some(Overlap { offset: 0, length: 80, differing: 30 }));
    }
}
