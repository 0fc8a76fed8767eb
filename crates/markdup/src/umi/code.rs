//! A UMI packed into one number, with one form for both strands of a duplex molecule.
//!
//! In duplex sequencing, both strands of a molecule are read, and each end has its own UMI. The UMI
//! of a template starts with the UMI of its first segment, so templates from the two strands have
//! the same two halves in opposite order:
//!
//! ```text
//!  strand A   first segment ► ACG ──────── TTT ◄ last segment     ACG-TTT
//!  strand B    last segment ► ACG ──────── TTT ◄ first segment    TTT-ACG, normalised ACG-TTT
//! ```
//!
//! In a normalised UMI, the half of the lower end is first. (fgbio 4, GroupReadsByUmi, and fgumi
//! 0.9.0, group, both with the strategy `paired`.)

use std::fmt;

use crate::item::End;

const BITS: usize = 3;

const FILLED: u128 = u128::MAX >> 2;

const LOWEST: u128 = FILLED / 0b111;

const DASH: u128 = 1;

/// Symbols by their codes, in byte order. Code 0 means that there is no symbol.
const SYMBOLS: &[u8; 8] = b"?-ACGNT?";

/// A unique molecular identifier of up to 42 symbols: `A`, `C`, `G`, `T`, `N` and `-`.
///
/// Each symbol has 3 bits, and the first symbol has the highest. So UMIs compare as their strings
/// do, byte by byte, and counting the symbols that differ takes a few instructions.
///
/// ```
/// use readmill_markdup::umi::Umi;
///
/// let umi = Umi::parse(b"acg+ttt").unwrap();
/// assert_eq!(umi.to_string(), "ACG-TTT");
/// assert_eq!(umi.swap_halves().unwrap().to_string(), "TTT-ACG");
/// assert_eq!(umi.distance(Umi::parse(b"ACG-TAT").unwrap()), Some(1));
/// assert_eq!(umi.distance(Umi::parse(b"ACGTTT").unwrap()), None); // of another shape
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Umi(u128);

impl Umi {
    /// No UMI: the result of parsing an empty string. Sorts before all UMIs.
    pub const NONE: Umi = Umi(0);

    pub const MAX_SYMBOLS: usize = 42;

    /// Packs the symbols of `text`. Lower case counts as upper case. `+`, which Illumina writes
    /// between two UMIs in a read name, counts as `-`, which the SAM specification requires
    /// (optional fields, RX). Returns `None` for other symbols or more than [`Umi::MAX_SYMBOLS`]
    /// symbols.
    pub fn parse(text: &[u8]) -> Option<Umi> {
        text.iter().try_fold(Umi::NONE, |umi, &symbol| umi.with_symbol(symbol))
    }

    /// Returns this UMI with one more symbol, or `None` if the symbol is invalid or the UMI is
    /// full.
    pub fn with_symbol(self, symbol: u8) -> Option<Umi> {
        let code = match symbol {
            b'-' | b'+' => DASH,
            b'A' | b'a' => 2,
            b'C' | b'c' => 3,
            b'G' | b'g' => 4,
            b'N' | b'n' => 5,
            b'T' | b't' => 6,
            _ => return None,
        };
        let length = self.len();
        (length < Self::MAX_SYMBOLS).then(|| Umi(self.0 | code << symbol_shift(length)))
    }

    /// Returns the packed number: below 2^126, and 0 for no UMI.
    pub fn code(self) -> u128 {
        self.0
    }

    pub fn from_code(code: u128) -> Umi {
        debug_assert!(code & !FILLED == 0);
        Umi(code)
    }

    pub fn to_text(self) -> Vec<u8> {
        (0..self.len()).map(|at| SYMBOLS[(self.0 >> symbol_shift(at) & 0b111) as usize]).collect()
    }

    pub fn len(self) -> usize {
        // No symbol has code 0, so the lowest bit that is set belongs to the last symbol.
        if self.is_empty() { 0 } else { Self::MAX_SYMBOLS - self.0.trailing_zeros() as usize / BITS }
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the length and the positions of dashes as one number. Only UMIs of the same shape
    /// can be near each other.
    pub fn shape(self) -> u128 {
        mask_occupied_symbols(self.0) << 1 | self.dashes()
    }

    fn dashes(self) -> u128 {
        self.0 & !(self.0 >> 1) & !(self.0 >> 2) & LOWEST
    }

    /// Returns the number of symbols in which two UMIs differ, or `None` if their
    /// [shapes](Umi::shape) differ. `N` differs from every base.
    pub fn distance(self, other: Umi) -> Option<u32> {
        (self.shape() == other.shape()).then(|| mask_occupied_symbols(self.0 ^ other.0).count_ones())
    }

    pub(super) fn is_within(self, other: Umi, edits: u32) -> bool {
        let mut differing = mask_occupied_symbols(self.0 ^ other.0);
        for _ in 0..edits.min(Self::MAX_SYMBOLS as u32) {
            differing &= differing.wrapping_sub(1); // clears one difference
        }
        differing == 0
    }

    /// Returns the symbols in `from..to` at their positions, with zeros elsewhere.
    pub(super) fn window(self, from: usize, to: usize) -> u128 {
        let upto = |at: usize| FILLED >> (BITS * at);
        self.0 & upto(from) & !upto(to)
    }

    /// Returns the parts before and after the only dash, either of which may be empty. Returns
    /// `None` unless there is exactly one dash.
    pub fn halves(self) -> Option<(Umi, Umi)> {
        let dashes = self.dashes();
        if dashes.count_ones() != 1 {
            return None;
        }
        let at = Self::MAX_SYMBOLS - 1 - dashes.trailing_zeros() as usize / BITS;
        Some((Umi(self.window(0, at)), Umi(self.0 << (BITS * (at + 1)) & FILLED)))
    }

    pub fn from_halves(first: Umi, second: Umi) -> Option<Umi> {
        let length = first.len();
        let fits = length + 1 + second.len() <= Self::MAX_SYMBOLS;
        fits.then(|| Umi(first.0 | DASH << symbol_shift(length) | second.0 >> (BITS * (length + 1))))
    }

    /// Returns the UMI with its halves swapped, as on the other strand of a duplex molecule.
    pub fn swap_halves(self) -> Option<Umi> {
        let (first, second) = self.halves()?;
        Umi::from_halves(second, first)
    }
}

fn symbol_shift(at: usize) -> usize {
    BITS * (Umi::MAX_SYMBOLS - 1 - at)
}

fn mask_occupied_symbols(symbols: u128) -> u128 {
    (symbols | symbols >> 1 | symbols >> 2) & LOWEST
}

impl fmt::Display for Umi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.to_text()))
    }
}

impl fmt::Debug for Umi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Umi({self})")
    }
}

/// The strand of a duplex molecule from which a template was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strand {
    /// Read 1 is at the lower end: `/A` in a molecule number.
    A,
    /// Read 1 is at the higher end: `/B`.
    B,
}

impl Strand {
    pub fn suffix(self) -> &'static str {
        match self {
            Strand::A => "/A",
            Strand::B => "/B",
        }
    }

    fn opposite(self) -> Strand {
        match self {
            Strand::A => Strand::B,
            Strand::B => Strand::A,
        }
    }
}

/// Returns the strand of a template from the ends of read 1 (`first`) and read 2 (`last`). The
/// lower end has the smaller reference sequence, then the smaller unclipped 5′ position. If these
/// are equal, read 1 is at the lower end if it is forward.
pub fn find_template_strand(first: &End, last: &End) -> Strand {
    let place = |end: &End| (end.ref_id, end.five_prime);
    let is_lower = place(first) < place(last) || place(first) == place(last) && !first.reverse;
    if is_lower { Strand::A } else { Strand::B }
}

/// Returns the UMI with the half of the lower end first. Returns `None` if it does not have exactly
/// two halves, either of which may be empty.
pub fn normalise_umi(umi: Umi, strand: Strand) -> Option<Umi> {
    match strand {
        Strand::A => umi.halves().map(|_| umi),
        Strand::B => umi.swap_halves(),
    }
}

/// Returns the strand in the molecule number of a template.
///
/// It is the strand of the template unless the normalised UMI is nearer to the root of its cluster
/// with its halves swapped, which can happen over many links. In this comparison, fgbio and fgumi
/// add `edits + 1` for each half at the other end.
pub fn find_strand_in_molecule(root: Umi, umi: Umi, strand: Strand, edits: u32) -> Strand {
    let as_it_is = root.distance(umi).unwrap_or(u32::MAX);
    let swapped = umi.swap_halves().and_then(|swapped| root.distance(swapped));
    let swapped = swapped
        .map_or(u32::MAX, |distance| distance.saturating_add(edits.saturating_add(1).saturating_mul(2)));
    if root == umi || as_it_is < swapped { strand } else { strand.opposite() }
}

#[cfg(test)]
mod tests {
    use readmill_simulate::Rng;

    use super::super::testing::{text, umi};
    use super::*;

    #[test]
    fn what_is_packed_is_unpacked() {
        let longest = "ACGTN".repeat(8) + "-A";
        for text in ["", "A", "-", "ACGT-TTGA", "NNNN", "ACGT-", "-ACGT", "A-C-G", &longest] {
            let packed = umi(text);
            assert_eq!(packed.to_string(), text);
            assert_eq!(packed.len(), text.len());
            assert_eq!(Umi::from_code(packed.code()), packed);
        }
        assert_eq!(umi("acgt+n").to_string(), "ACGT-N");
        assert_eq!(Umi::parse(b""), Some(Umi::NONE));
        for illegal in ["ACGU", "AC GT", "R", "A=", "AC_GT", &(longest.clone() + "A")] {
            assert_eq!(Umi::parse(illegal.as_bytes()), None, "{illegal}");
        }
    }

    #[test]
    fn distance_is_of_equal_shapes_alone() {
        let distance = |a, b| umi(a).distance(umi(b));
        assert_eq!(distance("ACGT", "ACGT"), Some(0));
        assert_eq!(distance("ACGT", "ACGN"), Some(1));
        assert_eq!(distance("AAAA", "TTTT"), Some(4));
        assert_eq!(distance("AC-GT", "AC-TT"), Some(1));
        assert_eq!(distance("ACGT", "ACG"), None);
        assert_eq!(distance("AC-GT", "ACG-T"), None);
        assert_eq!(distance("AC-GT", "ACAGT"), None);
        assert_eq!(distance("", "A"), None);
        assert_eq!(distance("", ""), Some(0));
    }

    #[test]
    fn halves_and_their_other_order() {
        let halves = |text| umi(text).halves().map(|(a, b)| (a.to_string(), b.to_string()));
        let pair = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(halves("ACG-TT"), pair("ACG", "TT"));
        assert_eq!(halves("ACG-"), pair("ACG", ""));
        assert_eq!(halves("-ACG"), pair("", "ACG"));
        assert_eq!(halves("-"), pair("", ""));
        assert_eq!(halves("ACG"), None);
        assert_eq!(halves("A-C-G"), None);
        assert_eq!(umi("ACG-TT").swap_halves(), Some(umi("TT-ACG")));
        let (long, dashed) = ("C".repeat(41), "C".repeat(41) + "-");
        assert_eq!(umi(&dashed).halves(), Some((umi(&long), Umi::NONE)));
        assert_eq!(umi(&dashed).swap_halves(), Some(umi(&("-".to_owned() + &long))));
        assert_eq!(Umi::from_halves(umi(&long), umi("A")), None);
    }

    #[test]
    fn numbers_are_as_the_texts() {
        let random = &mut Rng::new(1);
        let text = |random: &mut Rng| {
            let length = random.below64(7);
            text(random, b"-ACGNT", length)
        };
        for _ in 0..20_000 {
            let (a, b) = (text(random), text(random));
            assert_eq!(umi(&a).cmp(&umi(&b)), a.cmp(&b), "{a} {b}");
            let places = |text: &str| text.bytes().map(|b| b == b'-').collect::<Vec<_>>();
            let differ = a.bytes().zip(b.bytes()).filter(|(a, b)| a != b).count() as u32;
            let expected = (places(&a) == places(&b)).then_some(differ);
            assert_eq!(umi(&a).distance(umi(&b)), expected, "{a} {b}");
        }
    }

    fn end(ref_id: i32, five_prime: i64, reverse: bool) -> End {
        End { library: 0, ref_id, five_prime, reverse }
    }

    #[test]
    fn both_strands_have_one_code() {
        assert_eq!(normalise_umi(umi("ACG-TTT"), Strand::A), Some(umi("ACG-TTT")));
        assert_eq!(normalise_umi(umi("TTT-ACG"), Strand::B), Some(umi("ACG-TTT")));
        assert_eq!(normalise_umi(umi("-ACG"), Strand::B), Some(umi("ACG-")));
        assert_eq!(normalise_umi(umi("ACG"), Strand::A), None);
        assert_eq!(normalise_umi(umi("A-C-G"), Strand::B), None);
    }

    #[test]
    fn the_first_segment_at_the_lower_end_is_strand_a() {
        let (low, high) = (end(1, 100, false), end(1, 300, true));
        assert_eq!(find_template_strand(&low, &high), Strand::A);
        assert_eq!(find_template_strand(&high, &low), Strand::B);
        assert_eq!(find_template_strand(&end(2, 5, false), &high), Strand::B);
        let (forward, reverse) = (end(1, 100, false), end(1, 100, true));
        assert_eq!(find_template_strand(&forward, &reverse), Strand::A);
        assert_eq!(find_template_strand(&reverse, &forward), Strand::B);
        assert_eq!(find_template_strand(&forward, &forward), Strand::A);
    }

    #[test]
    fn a_umi_that_drifted_to_its_opposite_changes_strand() {
        let root = umi("AAAAA-TTTTT");
        let beside = |text| find_strand_in_molecule(root, umi(text), Strand::A, 1);
        assert_eq!(beside("AAAAA-TTTTT"), Strand::A);
        assert_eq!(beside("AAAAC-TTTTT"), Strand::A);
        assert_eq!(beside("TTTAA-TTTAA"), Strand::A); // 5 unswapped, 4 + 5 swapped
        assert_eq!(beside("TTTTA-TTTAA"), Strand::A); // 6 and 4 + 4
        assert_eq!(beside("TTTTA-TTAAA"), Strand::B); // 7 and 4 + 3
        assert_eq!(beside("TTTTT-AAAAA"), Strand::B);
        let same = umi("AA-AA");
        assert_eq!(find_strand_in_molecule(same, same, Strand::B, 0), Strand::B);
    }
}
