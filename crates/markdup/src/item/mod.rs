//! Ends, pairs and reads, packed into arrays of 64-bit words that sort as one number.
//!
//! The bits of an item are ordered so that sorting the numbers compares the templates:
//!
//! ```text
//!  most significant                                              least significant
//!  │ key of the duplicate set │ rank: best score, then tile, x, y │ ordinals, payload │
//! ```
//!
//! After sorting, the members of a set are adjacent, and the member that is kept is usually first.
//! Sorting, spilling and merging treat items as plain numbers. Signed numbers are stored with a
//! bias, which keeps their order.
//!
//! | item | made of | purpose |
//! |---|---|---|
//! | pair | two mates | sets of pairs |
//! | end key | one read of a pair | fragments with this end are duplicates |
//! | fragment | a read without a mapped mate | sets of single reads |
//! | half | a read whose mate was not adjacent | joined with its mate by name |
//!
//! There are two layouts: [`PositionOnly`], and [`Barcoded`], which has 128 more bits for barcodes
//! or a UMI.

pub(crate) mod bits;
mod end;
mod half;
mod pair;

pub use end::{
    End, EndKey, end_code, end_key, end_place, fragment_code, fragment_end, fragment_locus,
    fragment_member, fragment_ordinals, fragment_prefers, pack_fragment, renumber_fragment,
};
pub use half::{
    HALF_REFS, Half, HalfKind, HalfOrder, half_name, pack_half, renumber_half_by_input,
    renumber_half_by_place, unpack_half,
};
pub use pair::{
    Pair, pack_pair, pair_code, pair_end, pair_first_record_participates, pair_library, pair_locus,
    pair_member, pair_ordinals, pair_prefers, pair_sequenced_strands, pairs_share_position,
    renumber_pair, same_set,
};

use super::location::Location;
use readmill_sort::tournament::Ranked;

/// A packed item: a fixed number of 64-bit words, compared from first to last.
///
/// Implemented for arrays. The largest value ([`Ranked::LAST`]) marks the end of a run in a merge,
/// so no real item may have it.
///
/// ```
/// use readmill_markdup::Item;
///
/// assert_eq!(<[u64; 6] as Item>::WORDS, 6);
/// assert!([1, u64::MAX] < [2, 0]);
/// ```
pub trait Item: Ranked + Send + Sync + AsRef<[u64]> + AsMut<[u64]> + 'static {
    const ZERO: Self;
    const WORDS: usize;
}

impl<const N: usize> Item for [u64; N]
where
    [u64; N]: Ranked,
{
    const ZERO: Self = [0; N];
    const WORDS: usize = N;
}

/// The sizes of the four kinds of items, with or without a code for barcodes or UMIs. Functions
/// that pack or unpack items are generic over the layout, so runs without barcodes pay nothing for
/// codes.
pub trait ItemLayout: Send + Sync + 'static {
    /// Number of bits of the code: 0 or 128. The code is between the position key and the rank, so
    /// templates at one position are adjacent whatever their codes.
    const CODE: usize;
    type Pair: Item;
    type EndKey: Item;
    type Fragment: Item;
    type Half: Item;
}

/// The layout without a code: sets differ only by library, position and orientation.
pub struct PositionOnly;

/// The layout with a 128-bit code: hashes of barcodes, or a packed UMI with strand bits.
pub struct Barcoded;

impl ItemLayout for PositionOnly {
    const CODE: usize = 0;
    type Pair = [u64; 6];
    type EndKey = [u64; 2];
    type Fragment = [u64; 5];
    type Half = [u64; 6];
}

impl ItemLayout for Barcoded {
    const CODE: usize = 128;
    type Pair = [u64; 8];
    type EndKey = [u64; 4];
    type Fragment = [u64; 7];
    type Half = [u64; 8];
}

/// The unpacked properties of a read that duplicate detection uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadSummary {
    pub end: End,
    pub pos: i32,
    /// Score by the selected strategy, in Picard's 16-bit arithmetic. Higher is better.
    pub score: i16,
    pub location: Location,
    pub read_group: u16,
    pub first_segment: bool,
    /// Reference ID of the mate, or -1 if there is none.
    pub next_ref_id: i32,
    pub ordinal: u64,
    /// Ordinal of this record minus the ordinal of the template's first record. 0 for joined
    /// halves.
    pub template_offset: u32,
    /// Whether the first record of the template is compared (mapped and primary). Picard writes DI
    /// and DS only for such templates.
    pub first_record_participates: bool,
    /// This read's part of the template's code. 0 without barcodes and UMIs.
    pub code: u128,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ref_id: i32, five_prime: i64, reverse: bool) -> ReadSummary {
        ReadSummary {
            end: End { library: 7, ref_id, five_prime, reverse },
            pos: 100,
            score: -5,
            location: Location { tile: -1, x: 32767, y: -32768 },
            read_group: 3,
            first_segment: true,
            next_ref_id: 2,
            ordinal: (1 << 40) - 1,
            template_offset: (1 << 15) - 1,
            first_record_participates: true,
            code: 0,
        }
    }

    fn plain(seen: &ReadSummary, arriving: &ReadSummary) -> <PositionOnly as ItemLayout>::Pair {
        pack_pair::<PositionOnly>(seen, arriving, 0).0
    }

    #[test]
    fn a_half_is_unpacked_as_it_was_packed() {
        for read in [read(0, -50, true), read(HALF_REFS - 1, (1 << 32) - 1, false)] {
            for order in [HalfOrder::Place, HalfOrder::Input] {
                let library = |group| if group == 3 { 7 } else { 0 };
                let expected =
                    ReadSummary { template_offset: 0, first_record_participates: false, ..read };
                let item = pack_half::<PositionOnly>(u128::MAX / 3, &read, HalfKind::Paired, order);
                let (kind, unpacked) = unpack_half::<PositionOnly>(&item, order, library);
                assert_eq!((kind, unpacked), (HalfKind::Paired, expected));
                let coded = ReadSummary { code: u128::MAX / 5, ..read };
                let item = pack_half::<Barcoded>(u128::MAX / 3, &coded, HalfKind::Alone, order);
                let expected = ReadSummary { code: u128::MAX / 5, next_ref_id: -1, ..expected };
                assert_eq!(unpack_half::<Barcoded>(&item, order, library), (HalfKind::Alone, expected));
            }
        }
    }

    #[test]
    fn halves_of_one_name_are_in_the_order_asked_for() {
        let early = ReadSummary { ordinal: 1, ..read(5, 0, false) };
        let left = ReadSummary { ordinal: 2, ..read(4, 0, false) };
        let order = |order| {
            let key = |read| pack_half::<PositionOnly>(1, &read, HalfKind::Paired, order);
            key(early) < key(left)
        };
        assert!(order(HalfOrder::Input) && !order(HalfOrder::Place));
    }

    #[test]
    fn ordinals_and_ends_come_back() {
        let a = read(1, 10, false);
        let near = ReadSummary {
            ordinal: a.ordinal - 7,
            template_offset: a.template_offset - 7,
            ..read(1, 300, true)
        };
        let far = ReadSummary { ordinal: 5, template_offset: 0, ..read(1, 300, true) };
        for (b, template) in [(near, a.ordinal - u64::from(a.template_offset)), (far, a.ordinal)] {
            let (item, second) = pack_pair::<PositionOnly>(&a, &b, 0);
            assert_eq!(pair_ordinals::<PositionOnly>(&item), (a.ordinal, b.ordinal, template));
            assert_eq!(pair_end::<PositionOnly>(&item), Some(end_key::<PositionOnly>(&a.end, 0)));
            assert_eq!(
                second.map(|end| end_key::<PositionOnly>(&end, 0)),
                Some(end_key::<PositionOnly>(&b.end, 0))
            );
        }
        let single = pack_fragment::<PositionOnly>(&a);
        assert_eq!(fragment_end::<PositionOnly>(&single), end_key::<PositionOnly>(&a.end, 0));
        assert_eq!(fragment_ordinals::<PositionOnly>(&single).0, a.ordinal);
    }

    #[test]
    fn the_set_does_not_depend_on_who_came_first_and_the_order_prefers_the_better() {
        let (a, b) = (read(1, 10, true), read(1, 10, false));
        let same = |x: &_, y: &_| same_set::<PositionOnly>(x, y);
        assert!(same(&plain(&a, &b), &plain(&b, &a)), "RF at one position is FR");
        let (c, d) = (read(1, 10, true), read(1, 11, false));
        assert!(same(&plain(&c, &d), &plain(&d, &c)));
        assert!(!same(&plain(&c, &d), &plain(&read(1, 10, false), &d)));
        let better = plain(&ReadSummary { score: 9, ..c }, &d);
        assert!(better < plain(&c, &d) && same(&better, &plain(&c, &d)));
        let left = ReadSummary { location: Location { x: 32766, ..c.location }, ..c };
        assert!(plain(&left, &d) < plain(&c, &d));
    }

    #[test]
    fn codes_part_sets_and_keep_positions_together() {
        let (a, b) = (read(1, 10, false), read(1, 300, true));
        let of = |code| pack_pair::<Barcoded>(&a, &b, code).0;
        assert!(!same_set::<Barcoded>(&of(1), &of(2)) && same_set::<Barcoded>(&of(2), &of(2)));
        assert!(pairs_share_position::<Barcoded>(&of(1), &of(u128::MAX)));
        assert_eq!(pair_code::<Barcoded>(&of(u128::MAX - 4)), u128::MAX - 4);
        let elsewhere = pack_pair::<Barcoded>(&a, &read(1, 301, true), 1).0;
        assert!(!pairs_share_position::<Barcoded>(&of(1), &elsewhere));
    }
}
