//! Two mates.

use super::bits::{self, Field, get, put};
use super::end::{self, End, end_locus};
use super::{EndKey, Item, ItemLayout, ReadSummary, end_key};
use crate::location::Location;

/// Two mates.
pub type Pair<S> = <S as ItemLayout>::Pair;

const LIBRARY: Field = Field(0, 16);
const REF1: Field = Field(16, 32);
const POS1: Field = Field(48, end::POS_BITS);
const STRANDS: Field = Field(82, 2);
const REF2: Field = Field(84, 32);
const POS2: Field = Field(116, end::POS_BITS);

/// Bits of the position key of a set, before the code.
const ENDS: usize = 150;

const SCORE: Field = Field(ENDS, 16);
const LOCATION: Field = Field(166, bits::LOCATION);
const POS: Field = Field(230, 32);
const FIRST: Field = Field(262, 40);
const SECOND: Field = Field(302, 41);
const GROUP: Field = Field(343, 16);
const SEQUENCED: Field = Field(359, 2);
const END1: Field = Field(361, 1);
const FIRST_RECORD_PARTICIPATES: Field = Field(362, 1);

/// Bits for the distance of two records of one template: a template of adjacent records has fewer than 2^15
/// records, since it has less than 1 MiB.
const NEAR: usize = 20;

/// Packs two mates. `seen` came first in the file; the pair has its library, location and read group. Also
/// returns the second end, where it counts as a paired one.
///
/// Read 1 is the end with the smaller (reference sequence, 5′ position), the one seen first where they
/// are equal. Orientation: forward-forward, forward-reverse, reverse-forward, reverse-reverse; at
/// one position reverse-forward is the same as forward-reverse.
pub fn pair<S: ItemLayout>(
    seen: &ReadSummary,
    arriving: &ReadSummary,
    code: u128,
) -> (Pair<S>, Option<End>) {
    let place = |read: &ReadSummary| (read.end.ref_id, read.end.five_prime);
    let (one, two) = if place(arriving) >= place(seen) { (seen, arriving) } else { (arriving, seen) };
    let swap = place(one) == place(two) && one.end.reverse && !two.end.reverse;
    let (left, right) = if swap { (two, one) } else { (one, two) };
    let mut item = Pair::<S>::ZERO;
    let words = item.as_mut();
    put(words, LIBRARY, seen.end.library.into());
    put(words, REF1, (left.end.ref_id + 1) as u64);
    put(words, POS1, end::packed(left.end.five_prime));
    put(words, STRANDS, u64::from(left.end.reverse) << 1 | u64::from(right.end.reverse));
    put(words, REF2, (right.end.ref_id + 1) as u64);
    put(words, POS2, end::packed(right.end.five_prime));
    bits::put_code::<S>(words, ENDS, code);
    let mut behind = |field: Field, value| put(words, field.behind_code::<S>(), value);
    behind(SCORE, bits::by_score(seen.score.wrapping_add(arriving.score)));
    behind(LOCATION, bits::by_location(seen.location));
    behind(POS, (one.pos + 1) as u32 as u64);
    behind(FIRST, one.ordinal);
    behind(SECOND, second(one, two));
    behind(GROUP, seen.read_group.into());
    let (r1, r2) = if arriving.first_segment { (arriving, seen) } else { (seen, arriving) };
    behind(SEQUENCED, u64::from(r1.end.reverse) << 1 | u64::from(r2.end.reverse));
    behind(END1, u64::from(left.next_ref_id >= 0));
    behind(FIRST_RECORD_PARTICIPATES, seen.first_record_participates.into());
    // Picard keeps the library of the end that was seen first for the pair, of each end for itself.
    (item, (right.next_ref_id >= 0).then_some(right.end))
}

/// Returns the second read's number: absolute, or, within a template of adjacent records, as distances from
/// the first read to the template's start and to the second read.
fn second(one: &ReadSummary, two: &ReadSummary) -> u64 {
    let apart = two.ordinal as i64 - one.ordinal as i64;
    let limit = 1 << (NEAR - 1);
    let near = u64::from(one.template_offset) < 1 << NEAR && (-limit..limit).contains(&apart);
    let together =
        one.ordinal - u64::from(one.template_offset) == two.ordinal - u64::from(two.template_offset);
    if near && together {
        u64::from(one.template_offset) << NEAR | (apart + limit) as u64
    } else {
        1 << 40 | two.ordinal
    }
}

/// Whether two pairs have the same library, ends and orientation.
pub fn pairs_stand_together<S: ItemLayout>(a: &Pair<S>, b: &Pair<S>) -> bool {
    bits::same_prefix(a.as_ref(), b.as_ref(), ENDS)
}

/// Whether two pairs belong to one set: library, ends, orientation, code.
pub fn same_set<S: ItemLayout>(a: &Pair<S>, b: &Pair<S>) -> bool {
    bits::same_prefix(a.as_ref(), b.as_ref(), ENDS + S::CODE)
}

/// Its code.
pub fn pair_code<S: ItemLayout>(item: &Pair<S>) -> u128 {
    bits::get_code::<S>(item.as_ref(), ENDS)
}

/// Its library.
pub fn pair_library<S: ItemLayout>(item: &Pair<S>) -> u16 {
    get(item.as_ref(), LIBRARY) as u16
}

/// Reference sequence and unclipped 5′ position, 0-based, of its first end.
pub fn pair_locus<S: ItemLayout>(item: &Pair<S>) -> (i32, i64) {
    end_locus(item.as_ref())
}

/// Whether `a` is kept rather than `b`, their positions in the file aside; `None` if they tie.
pub fn pair_prefers<S: ItemLayout>(a: &Pair<S>, b: &Pair<S>) -> Option<bool> {
    let key =
        |item: &Pair<S>| [SCORE, LOCATION].map(|field| get(item.as_ref(), field.behind_code::<S>()));
    (key(a) != key(b)).then(|| key(a) < key(b))
}

/// The first end of a pair without code, where it counts as a paired one.
pub fn pair_end<S: ItemLayout>(item: &Pair<S>) -> Option<EndKey<S>> {
    let words = item.as_ref();
    let paired_ends = get(words, END1.behind_code::<S>()) == 1;
    let (ref_id, five_prime) = end_locus(words);
    let (library, reverse) = (get(words, LIBRARY) as u16, get(words, Field(82, 1)) == 1);
    paired_ends.then(|| end_key::<S>(&End { library, ref_id, five_prime, reverse }, 0))
}

/// Numbers of read 1 and read 2, and of the template's first record (that of read 1 where the template's
/// records are not adjacent).
pub fn pair_ordinals<S: ItemLayout>(item: &Pair<S>) -> (u64, u64, u64) {
    let of = |field: Field| get(item.as_ref(), field.behind_code::<S>());
    let (first, second) = (of(FIRST), of(SECOND));
    if second >> 40 == 1 {
        return (first, second & ((1 << 40) - 1), first);
    }
    let apart = (second & ((1 << NEAR) - 1)) as i64 - (1 << (NEAR - 1));
    (first, (first as i64 + apart) as u64, first - (second >> NEAR))
}

/// Changes its numbers, which were counted from record `base` of the input, to those of the whole.
pub fn count_pair_from<S: ItemLayout>(item: &mut Pair<S>, base: u64) {
    let words = item.as_mut();
    bits::add(words, FIRST.behind_code::<S>(), base);
    let second = SECOND.behind_code::<S>();
    if get(words, second) >> 40 == 1 {
        bits::add(words, second, base);
    }
}

/// Whether the first record of the template takes part.
pub fn pair_first_record_participates<S: ItemLayout>(item: &Pair<S>) -> bool {
    get(item.as_ref(), FIRST_RECORD_PARTICIPATES.behind_code::<S>()) == 1
}

/// The reverse bits of the first and the last segment, by which the optical test splits sets.
pub fn pair_sequenced<S: ItemLayout>(item: &Pair<S>) -> u8 {
    get(item.as_ref(), SEQUENCED.behind_code::<S>()) as u8
}

/// Location on the flow cell, read group, leftmost position of read 1 (1-based).
pub fn pair_member<S: ItemLayout>(item: &Pair<S>) -> (Location, u16, u32) {
    let of = |field: Field| get(item.as_ref(), field.behind_code::<S>());
    (bits::location(of(LOCATION)), of(GROUP) as u16, of(POS) as u32)
}
