//! Ends and pairs packed into arrays of 64-bit numbers whose numeric order is the wanted order: first the key
//! of a set, then the choice of its representative (best score, then smallest tile, x, y, then earliest),
//! then payload. Sorting, spilling and merging treat them as plain numbers.
//!
//! Items have two layouts: [`Plain`], and [`Coded`] with 128 bits more for barcodes or a UMI.

mod bits;
mod end;
mod fragment;
mod half;
mod pair;

pub use end::{End, EndKey, end_code, end_key, end_place};
pub use fragment::{
    fragment, fragment_code, fragment_end, fragment_locus, fragment_member, fragment_ordinals,
    fragment_prefers,
};
pub use half::{HALF_REFS, Half, Kind, Order, half, half_name, half_read};
pub use pair::{
    Pair, pair, pair_code, pair_end, pair_is_led, pair_library, pair_locus, pair_member, pair_ordinals,
    pair_prefers, pair_sequenced, pairs_stand_together, same_set,
};

use super::location::Location;
use readmill_sort::tournament::Ranked;

/// A packed item.
pub trait Item: Ranked + Send + Sync + AsRef<[u64]> + AsMut<[u64]> + 'static {
    /// The empty item.
    const ZERO: Self;
    /// Length in 64-bit words.
    const WORDS: usize;
}

impl<const N: usize> Item for [u64; N]
where
    [u64; N]: Ranked,
{
    const ZERO: Self = [0; N];
    const WORDS: usize = N;
}

/// The widths of items.
pub trait Shape: Send + Sync + 'static {
    /// Bits of the code, which lies between the key of position and the choice of the representative.
    const CODE: usize;
    /// Two mates.
    type Pair: Item;
    /// The presence of a paired end.
    type EndKey: Item;
    /// A single read.
    type Fragment: Item;
    /// A read whose mate has not been seen.
    type Half: Item;
}

/// The layout without a code: sets differ by library and position alone.
pub struct Plain;

/// The layout with a code of barcodes or a UMI.
pub struct Coded;

impl Shape for Plain {
    const CODE: usize = 0;
    type Pair = [u64; 6];
    type EndKey = [u64; 2];
    type Fragment = [u64; 5];
    type Half = [u64; 6];
}

impl Shape for Coded {
    const CODE: usize = 128;
    type Pair = [u64; 8];
    type EndKey = [u64; 4];
    type Fragment = [u64; 7];
    type Half = [u64; 8];
}

/// The properties of one read that decide about duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// Its 5′ end.
    pub end: End,
    /// Leftmost position, 0-based.
    pub pos: i32,
    /// Score, in Picard's 16 bits.
    pub score: i16,
    /// Location on the flow cell.
    pub location: Location,
    /// Its read group, as [`Libraries`](super::libraries::Libraries) numbers them.
    pub read_group: u16,
    /// First segment of its template.
    pub first_segment: bool,
    /// Reference sequence of its mate, -1 when there is none.
    pub next_ref_id: i32,
    /// Its number in the input.
    pub ordinal: u64,
    /// Its distance from the first record of its template, in records.
    pub lead: u32,
    /// Whether the first record of its template takes part.
    pub led: bool,
    /// Its share of the code.
    pub code: u128,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(ref_id: i32, five_prime: i64, reverse: bool) -> Read {
        Read {
            end: End { library: 7, ref_id, five_prime, reverse },
            pos: 100,
            score: -5,
            location: Location { tile: -1, x: 32767, y: -32768 },
            read_group: 3,
            first_segment: true,
            next_ref_id: 2,
            ordinal: (1 << 40) - 1,
            lead: (1 << 15) - 1,
            led: true,
            code: 0,
        }
    }

    fn plain(seen: &Read, arriving: &Read) -> <Plain as Shape>::Pair {
        pair::<Plain>(seen, arriving, 0).0
    }

    #[test]
    fn a_half_is_unpacked_as_it_was_packed() {
        for read in [read(0, -50, true), read(HALF_REFS - 1, (1 << 32) - 1, false)] {
            for order in [Order::Place, Order::Input] {
                let library = |group| if group == 3 { 7 } else { 0 };
                let expected = Read { lead: 0, led: false, ..read };
                let item = half::<Plain>(u128::MAX / 3, &read, Kind::Paired, order);
                let (kind, unpacked) = half_read::<Plain>(&item, order, library);
                assert_eq!((kind, unpacked), (Kind::Paired, expected));
                let coded = Read { code: u128::MAX / 5, ..read };
                let item = half::<Coded>(u128::MAX / 3, &coded, Kind::Alone, order);
                let expected = Read { code: u128::MAX / 5, next_ref_id: -1, ..expected };
                assert_eq!(half_read::<Coded>(&item, order, library), (Kind::Alone, expected));
            }
        }
    }

    #[test]
    fn halves_of_one_name_are_in_the_order_asked_for() {
        let early = Read { ordinal: 1, ..read(5, 0, false) };
        let left = Read { ordinal: 2, ..read(4, 0, false) };
        let order = |order| {
            let key = |read| half::<Plain>(1, &read, Kind::Paired, order);
            key(early) < key(left)
        };
        assert!(order(Order::Input) && !order(Order::Place));
    }

    #[test]
    fn ordinals_and_ends_come_back() {
        let a = read(1, 10, false);
        let near = Read { ordinal: a.ordinal - 7, lead: a.lead - 7, ..read(1, 300, true) };
        let far = Read { ordinal: 5, lead: 0, ..read(1, 300, true) };
        for (b, template) in [(near, a.ordinal - u64::from(a.lead)), (far, a.ordinal)] {
            let (item, second) = pair::<Plain>(&a, &b, 0);
            assert_eq!(pair_ordinals::<Plain>(&item), (a.ordinal, b.ordinal, template));
            assert_eq!(pair_end::<Plain>(&item), Some(end_key::<Plain>(&a.end, 0)));
            assert_eq!(second.map(|end| end_key::<Plain>(&end, 0)), Some(end_key::<Plain>(&b.end, 0)));
        }
        let single = fragment::<Plain>(&a);
        assert_eq!(fragment_end::<Plain>(&single), end_key::<Plain>(&a.end, 0));
        assert_eq!(fragment_ordinals::<Plain>(&single).0, a.ordinal);
    }

    #[test]
    fn the_set_does_not_depend_on_who_came_first_and_the_order_prefers_the_better() {
        let (a, b) = (read(1, 10, true), read(1, 10, false));
        let same = |x: &_, y: &_| same_set::<Plain>(x, y);
        assert!(same(&plain(&a, &b), &plain(&b, &a)), "RF at one position is FR");
        let (c, d) = (read(1, 10, true), read(1, 11, false));
        assert!(same(&plain(&c, &d), &plain(&d, &c)));
        assert!(!same(&plain(&c, &d), &plain(&read(1, 10, false), &d)));
        let better = plain(&Read { score: 9, ..c }, &d);
        assert!(better < plain(&c, &d) && same(&better, &plain(&c, &d)));
        let left = Read { location: Location { x: 32766, ..c.location }, ..c };
        assert!(plain(&left, &d) < plain(&c, &d));
    }

    #[test]
    fn codes_part_sets_and_keep_positions_together() {
        let (a, b) = (read(1, 10, false), read(1, 300, true));
        let of = |code| pair::<Coded>(&a, &b, code).0;
        assert!(!same_set::<Coded>(&of(1), &of(2)) && same_set::<Coded>(&of(2), &of(2)));
        assert!(pairs_stand_together::<Coded>(&of(1), &of(u128::MAX)));
        assert_eq!(pair_code::<Coded>(&of(u128::MAX - 4)), u128::MAX - 4);
        let elsewhere = pair::<Coded>(&a, &read(1, 301, true), 1).0;
        assert!(!pairs_stand_together::<Coded>(&of(1), &elsewhere));
    }
}
