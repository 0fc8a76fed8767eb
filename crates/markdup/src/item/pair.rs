//! Two mates, packed as one item. Pairs sort by library, both ends and orientation.
//!
//! ```text
//!  bit 0        16       48      82        84       116     150     [150 + 128]
//!      library │ ref 1  │ pos 1 │ strands │ ref 2  │ pos 2 │ [code] │ score │ location │ payload
//!      ──────────────── key of the set ───────────────────────────── │ ─ best first ── │
//! ```
//!
//! Payload: leftmost position and ordinals of both reads, read group, strands as sequenced, and two
//! flags.

use super::bits::{self, BitField, get_field, put_field};
use super::end::{self, End, end_locus};
use super::{EndKey, Item, ItemLayout, ReadSummary, end_key};
use crate::location::Location;

pub type Pair<S> = <S as ItemLayout>::Pair;

const LIBRARY: BitField = BitField(0, 16);
const REF1: BitField = BitField(16, 32);
const POS1: BitField = BitField(48, end::POS_BITS);
const STRANDS: BitField = BitField(82, 2);
const REF2: BitField = BitField(84, 32);
const POS2: BitField = BitField(116, end::POS_BITS);

const ENDS: usize = 150;

const SCORE: BitField = BitField(ENDS, 16);
const LOCATION: BitField = BitField(166, bits::LOCATION);
const POS: BitField = BitField(230, 32);
const FIRST: BitField = BitField(262, 40);
const SECOND: BitField = BitField(302, 41);
const GROUP: BitField = BitField(343, 16);
const SEQUENCED: BitField = BitField(359, 2);
const END1: BitField = BitField(361, 1);
const FIRST_RECORD_PARTICIPATES: BitField = BitField(362, 1);

/// Number of bits for the distance between two records of one template. A template of adjacent
/// records has less than 1 MiB, and therefore fewer than 2^15 records.
const DISTANCE_BITS: usize = 20;

/// Packs two mates. `seen` is earlier in the file and gives the pair its library, location and read
/// group. Also returns the second end if its read has a mate reference: fragments with this end are
/// duplicates.
///
/// The first end has the smaller (reference sequence, 5′ position), or belongs to `seen` if they
/// are equal. The orientation is forward-forward, forward-reverse, reverse-forward or
/// reverse-reverse; if both ends have one position, reverse-forward is stored as forward-reverse.
pub fn pack_pair<S: ItemLayout>(
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
    put_field(words, LIBRARY, seen.end.library.into());
    put_field(words, REF1, (left.end.ref_id + 1) as u64);
    put_field(words, POS1, end::pack_position(left.end.five_prime));
    put_field(words, STRANDS, u64::from(left.end.reverse) << 1 | u64::from(right.end.reverse));
    put_field(words, REF2, (right.end.ref_id + 1) as u64);
    put_field(words, POS2, end::pack_position(right.end.five_prime));
    bits::put_code::<S>(words, ENDS, code);
    let mut behind = |field: BitField, value| put_field(words, field.after_code::<S>(), value);
    behind(SCORE, bits::pack_score(seen.score.wrapping_add(arriving.score)));
    behind(LOCATION, bits::pack_location(seen.location));
    behind(POS, (one.pos + 1) as u32 as u64);
    behind(FIRST, one.ordinal);
    behind(SECOND, encode_second_ordinal(one, two));
    behind(GROUP, seen.read_group.into());
    let (r1, r2) = if arriving.first_segment { (arriving, seen) } else { (seen, arriving) };
    behind(SEQUENCED, u64::from(r1.end.reverse) << 1 | u64::from(r2.end.reverse));
    behind(END1, u64::from(left.next_ref_id >= 0));
    behind(FIRST_RECORD_PARTICIPATES, seen.first_record_participates.into());
    // As in Picard, the pair has the library of the read seen first, but each end has its own.
    (item, (right.next_ref_id >= 0).then_some(right.end))
}

/// Encodes the ordinal of the second read. If both reads are in one template of adjacent records,
/// stores two distances: from the start of the template to the first read, and from the first read
/// to the second. Otherwise stores the absolute ordinal, marked by bit 40.
fn encode_second_ordinal(one: &ReadSummary, two: &ReadSummary) -> u64 {
    let apart = two.ordinal as i64 - one.ordinal as i64;
    let limit = 1 << (DISTANCE_BITS - 1);
    let near = u64::from(one.template_offset) < 1 << DISTANCE_BITS && (-limit..limit).contains(&apart);
    let together =
        one.ordinal - u64::from(one.template_offset) == two.ordinal - u64::from(two.template_offset);
    if near && together {
        u64::from(one.template_offset) << DISTANCE_BITS | (apart + limit) as u64
    } else {
        1 << 40 | two.ordinal
    }
}

/// Returns whether two pairs have the same library, ends and orientation, whatever their codes. With
/// UMIs, these pairs are clustered into molecules.
pub fn pairs_share_position<S: ItemLayout>(a: &Pair<S>, b: &Pair<S>) -> bool {
    bits::same_prefix(a.as_ref(), b.as_ref(), ENDS)
}

/// Returns whether two pairs belong to one duplicate set: same library, ends, orientation and code.
pub fn same_set<S: ItemLayout>(a: &Pair<S>, b: &Pair<S>) -> bool {
    bits::same_prefix(a.as_ref(), b.as_ref(), ENDS + S::CODE)
}

pub fn pair_code<S: ItemLayout>(item: &Pair<S>) -> u128 {
    bits::get_code::<S>(item.as_ref(), ENDS)
}

pub fn pair_library<S: ItemLayout>(item: &Pair<S>) -> u16 {
    get_field(item.as_ref(), LIBRARY) as u16
}

/// Returns the reference sequence and the unclipped 5′ position (0-based) of the first end. Used to
/// report the largest set.
pub fn pair_locus<S: ItemLayout>(item: &Pair<S>) -> (i32, i64) {
    end_locus(item.as_ref())
}

/// Returns whether `a` is kept rather than `b`, by score, then location. Returns `None` if they
/// tie; the caller then compares their positions in the file.
pub fn pair_prefers<S: ItemLayout>(a: &Pair<S>, b: &Pair<S>) -> Option<bool> {
    let key = |item: &Pair<S>| {
        [SCORE, LOCATION].map(|field| get_field(item.as_ref(), field.after_code::<S>()))
    };
    (key(a) != key(b)).then(|| key(a) < key(b))
}

/// Returns the key of the first end without the code, or `None` if the read has no mate reference.
/// The scan derives this key from the pair, so only the second end needs an item.
pub fn pair_end<S: ItemLayout>(item: &Pair<S>) -> Option<EndKey<S>> {
    let words = item.as_ref();
    let paired_ends = get_field(words, END1.after_code::<S>()) == 1;
    let (ref_id, five_prime) = end_locus(words);
    let (library, reverse) = (get_field(words, LIBRARY) as u16, get_field(words, BitField(82, 1)) == 1);
    paired_ends.then(|| end_key::<S>(&End { library, ref_id, five_prime, reverse }, 0))
}

/// Returns the ordinals of the first read, the second read and the first record of the template. If
/// the records of the template are not adjacent, the first read counts as the first record.
pub fn pair_ordinals<S: ItemLayout>(item: &Pair<S>) -> (u64, u64, u64) {
    let of = |field: BitField| get_field(item.as_ref(), field.after_code::<S>());
    let (first, second) = (of(FIRST), of(SECOND));
    if second >> 40 == 1 {
        return (first, second & ((1 << 40) - 1), first);
    }
    let apart = (second & ((1 << DISTANCE_BITS) - 1)) as i64 - (1 << (DISTANCE_BITS - 1));
    (first, (first as i64 + apart) as u64, first - (second >> DISTANCE_BITS))
}

/// Converts the ordinals of a pair from its slice to the whole input. The slice's first record is
/// record `base` of the input. Distances within a template do not change.
pub fn renumber_pair<S: ItemLayout>(item: &mut Pair<S>, base: u64) {
    let words = item.as_mut();
    bits::add_to_field(words, FIRST.after_code::<S>(), base);
    let second = SECOND.after_code::<S>();
    if get_field(words, second) >> 40 == 1 {
        bits::add_to_field(words, second, base);
    }
}

pub fn pair_first_record_participates<S: ItemLayout>(item: &Pair<S>) -> bool {
    get_field(item.as_ref(), FIRST_RECORD_PARTICIPATES.after_code::<S>()) == 1
}

/// Returns whether read 1 (bit 1) and read 2 (bit 0) are reverse. Like Picard, the optical test
/// splits a set by these bits.
pub fn pair_sequenced_strands<S: ItemLayout>(item: &Pair<S>) -> u8 {
    get_field(item.as_ref(), SEQUENCED.after_code::<S>()) as u8
}

/// Returns the flow cell location, the read group and the leftmost position (1-based) of a pair's
/// first read, for the optical test and for ties.
pub fn pair_member<S: ItemLayout>(item: &Pair<S>) -> (Location, u16, u32) {
    let of = |field: BitField| get_field(item.as_ref(), field.after_code::<S>());
    (bits::unpack_location(of(LOCATION)), of(GROUP) as u16, of(POS) as u32)
}
