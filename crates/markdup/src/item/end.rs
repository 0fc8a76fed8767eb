//! The 5′ end of a read, and the single read (fragment), which is compared by its end, without a mate.

use super::bits::{self, Field, get, put};
use super::{Item, ItemLayout, ReadSummary};
use crate::location::Location;

/// The 5′ end of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Library.
    pub library: u16,
    /// Reference sequence.
    pub ref_id: i32,
    /// Unclipped 5′ position, 0-based; may lie outside the reference.
    pub five_prime: i64,
    /// On the reverse strand.
    pub reverse: bool,
}

/// The presence of a paired end.
pub type EndKey<S> = <S as ItemLayout>::EndKey;

/// Positions reach below zero (clips) and are kept with this bias, in 34 bits.
const BIAS: i64 = 1 << 33;

/// Bits of a position.
pub const POS_BITS: usize = 34;

const LIBRARY: Field = Field(0, 16);
const REF: Field = Field(16, 32);
const PLACE: Field = Field(48, POS_BITS);
const REVERSE: Field = Field(82, 1);

/// Bits of an end, before the code.
pub const END: usize = 83;

/// A position, packed.
pub fn packed(pos: i64) -> u64 {
    bits::biased(pos, BIAS, POS_BITS)
}

/// The position that [`packed`] packed.
pub fn unpacked(bits: u64) -> i64 {
    bits as i64 - BIAS
}

/// Writes an end and its code at the front of an item.
pub fn put_end<S: ItemLayout>(item: &mut [u64], end: &End, code: u128) {
    put(item, LIBRARY, end.library.into());
    put(item, REF, (end.ref_id + 1) as u64);
    put(item, PLACE, packed(end.five_prime));
    put(item, REVERSE, end.reverse.into());
    bits::put_code::<S>(item, END, code);
}

/// The key of an end.
pub fn end_key<S: ItemLayout>(end: &End, code: u128) -> EndKey<S> {
    let mut key = EndKey::<S>::ZERO;
    put_end::<S>(key.as_mut(), end, code);
    key
}

/// Its key without the code: where the end is.
pub fn end_place(item: &[u64]) -> [u64; 2] {
    [item[0], item[1] >> (128 - END) << (128 - END)]
}

/// Reference sequence and unclipped position of an end at the front of an item.
pub fn end_locus(item: &[u64]) -> (i32, i64) {
    (get(item, REF) as i32 - 1, unpacked(get(item, PLACE)))
}

/// The code of a paired end.
pub fn end_code<S: ItemLayout>(item: &EndKey<S>) -> u128 {
    bits::get_code::<S>(item.as_ref(), END)
}

const SCORE: Field = Field(END, 16);
const LOCATION: Field = Field(99, bits::LOCATION);
const POS: Field = Field(163, 32);
const ORDINAL: Field = Field(195, 40);
const TEMPLATE_OFFSET: Field = Field(235, 24);
const GROUP: Field = Field(259, 16);

/// Packs a single read.
pub fn fragment<S: ItemLayout>(read: &ReadSummary) -> S::Fragment {
    let mut item = S::Fragment::ZERO;
    let words = item.as_mut();
    put_end::<S>(words, &read.end, read.code);
    let mut behind = |field: Field, value| put(words, field.behind_code::<S>(), value);
    behind(SCORE, bits::by_score(read.score));
    behind(LOCATION, bits::by_location(read.location));
    behind(POS, (read.pos + 1) as u32 as u64);
    behind(ORDINAL, read.ordinal);
    behind(TEMPLATE_OFFSET, read.template_offset.into());
    behind(GROUP, read.read_group.into());
    item
}

/// The end it is compared by, with its code.
pub fn fragment_end<S: ItemLayout>(item: &S::Fragment) -> EndKey<S> {
    let (mut key, bits) = (EndKey::<S>::ZERO, END + S::CODE);
    let words = EndKey::<S>::WORDS;
    key.as_mut().copy_from_slice(&item.as_ref()[..words]);
    key.as_mut()[words - 1] &= u64::MAX << (64 * words - bits);
    key
}

/// Its code.
pub fn fragment_code<S: ItemLayout>(item: &S::Fragment) -> u128 {
    bits::get_code::<S>(item.as_ref(), END)
}

/// Whether `a` is kept rather than `b`, their positions in the file aside; `None` if they tie.
pub fn fragment_prefers<S: ItemLayout>(a: &S::Fragment, b: &S::Fragment) -> Option<bool> {
    let key =
        |item: &S::Fragment| [SCORE, LOCATION].map(|field| get(item.as_ref(), field.behind_code::<S>()));
    (key(a) != key(b)).then(|| key(a) < key(b))
}

/// Its number, and that of its template's first record.
pub fn fragment_ordinals<S: ItemLayout>(item: &S::Fragment) -> (u64, u64) {
    let of = |field: Field| get(item.as_ref(), field.behind_code::<S>());
    let ordinal = of(ORDINAL);
    (ordinal, ordinal - of(TEMPLATE_OFFSET))
}

/// Changes its numbers, which were counted from record `base` of the input, to those of the whole.
pub fn count_fragment_from<S: ItemLayout>(item: &mut S::Fragment, base: u64) {
    bits::add(item.as_mut(), ORDINAL.behind_code::<S>(), base);
}

/// Location on the flow cell, read group, leftmost position (1-based).
pub fn fragment_member<S: ItemLayout>(item: &S::Fragment) -> (Location, u16, u32) {
    let of = |field: Field| get(item.as_ref(), field.behind_code::<S>());
    (bits::location(of(LOCATION)), of(GROUP) as u16, of(POS) as u32)
}

/// Reference sequence and unclipped 5′ position, 0-based.
pub fn fragment_locus<S: ItemLayout>(item: &S::Fragment) -> (i32, i64) {
    end_locus(item.as_ref())
}
