//! One code for both strands of a duplex molecule.
//!
//! Both strands of a molecule are read, and each end has a UMI of its own. A template's UMI has that of its
//! first segment before the dash; so templates from the two strands have the same two UMIs in opposite
//! orders. Normalised, the UMI of the lower end comes first. (fgbio 4, GroupReadsByUmi, and fgumi 0.9.0,
//! group, both with the strategy `paired`.)

use super::super::item::End;
use super::code::Umi;

/// The strand of a duplex molecule that a template was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strand {
    /// The first segment is at the lower end: `/A` in a molecule's number.
    A,
    /// The first segment is at the higher end: `/B`.
    B,
}

impl Strand {
    /// Returns the suffix of the molecule's number.
    pub fn suffix(self) -> &'static str {
        match self {
            Strand::A => "/A",
            Strand::B => "/B",
        }
    }

    fn other(self) -> Strand {
        match self {
            Strand::A => Strand::B,
            Strand::B => Strand::A,
        }
    }
}

/// The strand of a template, by the ends of its first and its last segment: the lower one has the
/// smaller reference sequence, there the smaller unclipped 5′ position; at one position, the first
/// segment is at the lower end if it is forward.
pub fn strand(first: &End, last: &End) -> Strand {
    let place = |end: &End| (end.ref_id, end.five_prime);
    let is_lower = place(first) < place(last) || place(first) == place(last) && !first.reverse;
    if is_lower { Strand::A } else { Strand::B }
}

/// Returns the UMI with that of the lower end first; `None` if it does not have exactly two halves, of which
/// one or both may be empty.
pub fn normalise(umi: Umi, strand: Strand) -> Option<Umi> {
    match strand {
        Strand::A => umi.halves().map(|_| umi),
        Strand::B => umi.swapped(),
    }
}

/// The strand in the number of a template's molecule: that of the template, unless its normalised UMI
/// became, over many links, so different from the root of its cluster that it is nearer with its
/// halves swapped. In that comparison fgbio and fgumi count `edits + 1` for each half at the other
/// end.
pub fn strand_beside(root: Umi, umi: Umi, strand: Strand, edits: u32) -> Strand {
    let as_it_is = root.distance(umi).unwrap_or(u32::MAX);
    let swapped = umi.swapped().and_then(|swapped| root.distance(swapped));
    let swapped = swapped
        .map_or(u32::MAX, |distance| distance.saturating_add(edits.saturating_add(1).saturating_mul(2)));
    if root == umi || as_it_is < swapped { strand } else { strand.other() }
}

#[cfg(test)]
mod tests {
    use super::super::testing::umi;
    use super::*;

    fn end(ref_id: i32, five_prime: i64, reverse: bool) -> End {
        End { library: 0, ref_id, five_prime, reverse }
    }

    #[test]
    fn both_strands_have_one_code() {
        assert_eq!(normalise(umi("ACG-TTT"), Strand::A), Some(umi("ACG-TTT")));
        assert_eq!(normalise(umi("TTT-ACG"), Strand::B), Some(umi("ACG-TTT")));
        assert_eq!(normalise(umi("-ACG"), Strand::B), Some(umi("ACG-")));
        assert_eq!(normalise(umi("ACG"), Strand::A), None);
        assert_eq!(normalise(umi("A-C-G"), Strand::B), None);
    }

    #[test]
    fn the_first_segment_at_the_lower_end_is_strand_a() {
        let (low, high) = (end(1, 100, false), end(1, 300, true));
        assert_eq!(strand(&low, &high), Strand::A);
        assert_eq!(strand(&high, &low), Strand::B);
        assert_eq!(strand(&end(2, 5, false), &high), Strand::B);
        let (forward, reverse) = (end(1, 100, false), end(1, 100, true));
        assert_eq!(strand(&forward, &reverse), Strand::A);
        assert_eq!(strand(&reverse, &forward), Strand::B);
        assert_eq!(strand(&forward, &forward), Strand::A);
    }

    #[test]
    fn a_umi_that_drifted_to_its_opposite_changes_strand() {
        let root = umi("AAAAA-TTTTT");
        let beside = |text| strand_beside(root, umi(text), Strand::A, 1);
        assert_eq!(beside("AAAAA-TTTTT"), Strand::A);
        assert_eq!(beside("AAAAC-TTTTT"), Strand::A);
        assert_eq!(beside("TTTAA-TTTAA"), Strand::A); // 5 as it is, 4 + 5 swapped
        assert_eq!(beside("TTTTA-TTTAA"), Strand::A); // 6 and 4 + 4
        assert_eq!(beside("TTTTA-TTAAA"), Strand::B); // 7 and 4 + 3
        assert_eq!(beside("TTTTT-AAAAA"), Strand::B);
        let same = umi("AA-AA");
        assert_eq!(strand_beside(same, same, Strand::B, 0), Strand::B);
    }
}
