//! Adding the start of a slice to a packed item gives the same item as packing it with ordinals of
//! the whole input.
#![allow(clippy::unwrap_used)]

use readmill_markdup::Item;
use readmill_markdup::item::{
    Barcoded, End, HALF_REFS, HalfKind, HalfOrder, ItemLayout, PositionOnly, ReadSummary, pack_fragment,
    pack_half, pack_pair, pair_ordinals, renumber_fragment, renumber_half_by_input,
    renumber_half_by_place, renumber_pair,
};
use readmill_markdup::location::Location;
use readmill_simulate::Rng;

/// Ordinals have 40 bits, so they must be below this.
const RECORDS: u64 = 1 << 40;

fn read(random: &mut Rng, ordinal: u64, template_offset: u32) -> ReadSummary {
    let wide = |random: &mut Rng| random.bits() as i16;
    ReadSummary {
        end: End {
            library: random.bits() as u16,
            ref_id: random.below(HALF_REFS as u32) as i32,
            five_prime: random.below64(1 << 31) as i64 - 1000,
            reverse: random.is_once_in(2),
        },
        pos: random.below(1 << 30) as i32,
        score: wide(random) / 3,
        location: Location { tile: wide(random).into(), x: wide(random).into(), y: wide(random).into() },
        read_group: random.bits() as u16,
        first_segment: random.is_once_in(2),
        next_ref_id: random.below(1000) as i32 - 1,
        ordinal,
        template_offset,
        first_record_participates: random.is_once_in(2),
        code: u128::from(random.bits()) << 64 | u128::from(random.bits()),
    }
}

/// Returns the ordinal of a record in its slice and the number of records before the slice: small,
/// large, and up to the maximum.
fn numbers(random: &mut Rng) -> (u64, u64) {
    let bits = 1 + random.below(39);
    let local = 70_000 + random.below64(1 << bits);
    let room = RECORDS - 1 - local - 70_000;
    let base = match random.below(4) {
        0 => 0,
        1 => room,
        _ => random.below64(room),
    };
    (local, base)
}

fn items_are_counted<S: ItemLayout>(seed: u64)
where
    S::Pair: PartialEq + std::fmt::Debug,
    S::Fragment: PartialEq + std::fmt::Debug,
    S::Half: PartialEq + std::fmt::Debug,
{
    let mut random = Rng::new(seed);
    let (mut near, mut far) = (0, 0);
    for _ in 0..20_000 {
        let (local, base) = numbers(&mut random);
        let offset = random.below(1 << 14);
        let one = read(&mut random, local, offset);
        // The mate is in the same template of adjacent records, or anywhere in the slice.
        let (ordinal, offset) = match random.below(3) {
            0 => (local - 60_000 + random.below64(120_000), random.below(4)),
            _ => {
                let start = local - u64::from(one.template_offset);
                let offset = random.below(1 << 14);
                (start + u64::from(offset), offset)
            }
        };
        let two = read(&mut random, ordinal, offset);
        let whole = |read: &ReadSummary| ReadSummary { ordinal: read.ordinal + base, ..*read };

        let mut item = pack_fragment::<S>(&one);
        renumber_fragment::<S>(&mut item, base);
        assert_eq!(item, pack_fragment::<S>(&whole(&one)), "a single read: {one:?} behind {base}");

        for kind in [HalfKind::Paired, HalfKind::Alone, HalfKind::Bystander] {
            let name = one.code ^ 77;
            let mut item = pack_half::<S>(name, &one, kind, HalfOrder::Place);
            renumber_half_by_place::<S>(&mut item, base);
            assert_eq!(
                item,
                pack_half::<S>(name, &whole(&one), kind, HalfOrder::Place),
                "{one:?} behind {base}"
            );
            let mut item = pack_half::<S>(name, &one, kind, HalfOrder::Input);
            renumber_half_by_input::<S>(&mut item, base);
            assert_eq!(
                item,
                pack_half::<S>(name, &whole(&one), kind, HalfOrder::Input),
                "{one:?} behind {base}"
            );
        }

        let (mut item, end) = pack_pair::<S>(&one, &two, one.code);
        renumber_pair::<S>(&mut item, base);
        let expected = pack_pair::<S>(&whole(&one), &whole(&two), one.code);
        assert_eq!((item, end), expected, "{one:?} and {two:?} behind {base}");
        let same_start = one.ordinal - u64::from(one.template_offset)
            == two.ordinal.wrapping_sub(two.template_offset.into());
        *if same_start { &mut near } else { &mut far } += 1;
    }
    assert!(near > 1000 && far > 1000, "{near} adjacent mates, {far} others");
}

#[test]
fn items_without_barcodes_are_counted_from_any_record() {
    items_are_counted::<PositionOnly>(3);
}

#[test]
fn items_with_barcodes_are_counted_from_any_record() {
    items_are_counted::<Barcoded>(4);
}

#[test]
fn counting_from_a_record_keeps_the_order_of_items_of_a_slice() {
    let mut random = Rng::new(5);
    let base = RECORDS / 3;
    let mut items: Vec<_> = (0..5000)
        .map(|_| {
            let ordinal = random.below64(1 << 20);
            pack_half::<PositionOnly>(
                u128::from(random.below(9)),
                &read(&mut random, ordinal, 0),
                HalfKind::Paired,
                HalfOrder::Input,
            )
        })
        .collect();
    items.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    items.iter_mut().for_each(|item| renumber_half_by_input::<PositionOnly>(item, base));
    assert!(items.is_sorted_by(|a, b| a.as_ref() <= b.as_ref()));
    let first = ReadSummary { template_offset: 0, ..read(&mut random, 5, 0) };
    let (mut item, _) =
        pack_pair::<PositionOnly>(&first, &ReadSummary { ordinal: 9, template_offset: 4, ..first }, 0);
    renumber_pair::<PositionOnly>(&mut item, base);
    assert_eq!(pair_ordinals::<PositionOnly>(&item), (base + 5, base + 9, base + 5));
    assert_eq!(<[u64; 6] as Item>::WORDS, 6);
}
