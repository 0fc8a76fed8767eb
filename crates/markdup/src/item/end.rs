//! The 5′ end of a read, and the fragment: a read that is compared by its end alone, without a mate.
//!
//! ```text
//!  bit 0        16          48         82      83      [83 + 128]
//!      library │ reference │ 5′ pos  │ strand │ [code] │ score │ location │ position, ordinal, group
//!      ─────── key of the set ─────────────────────── │ ─ best first ─── │ payload
//! ```

use super::bits::{self, BitField, get_field, put_field};
use super::{Item, ItemLayout, ReadSummary};
use crate::location::Location;

/// The 5′ end of a read: the reference position where sequencing started, including soft and hard
/// clips.
///
/// Reads with equal ends may be duplicates. [`end_key`] packs an end so that keys sort by library,
/// reference sequence, position and strand:
///
/// ```
/// use readmill_markdup::item::{End, PositionOnly, end_key};
///
/// let forward = End { library: 0, ref_id: 2, five_prime: 100, reverse: false };
/// let reverse = End { reverse: true, ..forward };
/// let clipped = End { five_prime: -3, ..forward }; // before the start of the reference
/// let key = |end: &End| end_key::<PositionOnly>(end, 0);
/// assert!(key(&clipped) < key(&forward) && key(&forward) < key(&reverse));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    pub library: u16,
    pub ref_id: i32,
    /// Unclipped 5′ position, 0-based. It may be outside the reference sequence.
    pub five_prime: i64,
    pub reverse: bool,
}

/// A key for an end that some paired read has. Fragments with the same key are duplicates.
pub type EndKey<S> = <S as ItemLayout>::EndKey;

/// Bias of the stored positions (34 bits): clips can move a 5′ end below zero.
const BIAS: i64 = 1 << 33;

pub const POS_BITS: usize = 34;

const LIBRARY: BitField = BitField(0, 16);
const REF: BitField = BitField(16, 32);
const PLACE: BitField = BitField(48, POS_BITS);
const REVERSE: BitField = BitField(82, 1);

pub const END: usize = 83;

pub fn pack_position(pos: i64) -> u64 {
    bits::add_bias(pos, BIAS, POS_BITS)
}

pub fn unpack_position(bits: u64) -> i64 {
    bits as i64 - BIAS
}

pub fn put_end<S: ItemLayout>(item: &mut [u64], end: &End, code: u128) {
    put_field(item, LIBRARY, end.library.into());
    put_field(item, REF, (end.ref_id + 1) as u64);
    put_field(item, PLACE, pack_position(end.five_prime));
    put_field(item, REVERSE, end.reverse.into());
    bits::put_code::<S>(item, END, code);
}

pub fn end_key<S: ItemLayout>(end: &End, code: u128) -> EndKey<S> {
    let mut key = EndKey::<S>::ZERO;
    put_end::<S>(key.as_mut(), end, code);
    key
}

/// Returns the key of an item's end without the code. With UMIs, all items at one end are compared,
/// whatever their codes.
pub fn end_place(item: &[u64]) -> [u64; 2] {
    [item[0], item[1] >> (128 - END) << (128 - END)]
}

pub fn end_locus(item: &[u64]) -> (i32, i64) {
    (get_field(item, REF) as i32 - 1, unpack_position(get_field(item, PLACE)))
}

pub fn end_code<S: ItemLayout>(item: &EndKey<S>) -> u128 {
    bits::get_code::<S>(item.as_ref(), END)
}

const SCORE: BitField = BitField(END, 16);
const LOCATION: BitField = BitField(99, bits::LOCATION);
const POS: BitField = BitField(163, 32);
const ORDINAL: BitField = BitField(195, 40);
const TEMPLATE_OFFSET: BitField = BitField(235, 24);
const GROUP: BitField = BitField(259, 16);

pub fn pack_fragment<S: ItemLayout>(read: &ReadSummary) -> S::Fragment {
    let mut item = S::Fragment::ZERO;
    let words = item.as_mut();
    put_end::<S>(words, &read.end, read.code);
    let mut behind = |field: BitField, value| put_field(words, field.after_code::<S>(), value);
    behind(SCORE, bits::pack_score(read.score));
    behind(LOCATION, bits::pack_location(read.location));
    behind(POS, (read.pos + 1) as u32 as u64);
    behind(ORDINAL, read.ordinal);
    behind(TEMPLATE_OFFSET, read.template_offset.into());
    behind(GROUP, read.read_group.into());
    item
}

pub fn fragment_end<S: ItemLayout>(item: &S::Fragment) -> EndKey<S> {
    let (mut key, bits) = (EndKey::<S>::ZERO, END + S::CODE);
    let words = EndKey::<S>::WORDS;
    key.as_mut().copy_from_slice(&item.as_ref()[..words]);
    key.as_mut()[words - 1] &= u64::MAX << (64 * words - bits);
    key
}

pub fn fragment_code<S: ItemLayout>(item: &S::Fragment) -> u128 {
    bits::get_code::<S>(item.as_ref(), END)
}

/// Returns whether `a` is kept rather than `b`, by score, then location. Returns `None` if they
/// tie; the caller then compares their positions in the file.
pub fn fragment_prefers<S: ItemLayout>(a: &S::Fragment, b: &S::Fragment) -> Option<bool> {
    let key = |item: &S::Fragment| {
        [SCORE, LOCATION].map(|field| get_field(item.as_ref(), field.after_code::<S>()))
    };
    (key(a) != key(b)).then(|| key(a) < key(b))
}

pub fn fragment_ordinals<S: ItemLayout>(item: &S::Fragment) -> (u64, u64) {
    let of = |field: BitField| get_field(item.as_ref(), field.after_code::<S>());
    let ordinal = of(ORDINAL);
    (ordinal, ordinal - of(TEMPLATE_OFFSET))
}

/// Converts the ordinal of a fragment from its slice to the whole input. The slice's first record
/// is record `base` of the input.
pub fn renumber_fragment<S: ItemLayout>(item: &mut S::Fragment, base: u64) {
    bits::add_to_field(item.as_mut(), ORDINAL.after_code::<S>(), base);
}

/// Returns the flow cell location, the read group and the leftmost position (1-based) of a
/// fragment, for the optical test and for ties.
pub fn fragment_member<S: ItemLayout>(item: &S::Fragment) -> (Location, u16, u32) {
    let of = |field: BitField| get_field(item.as_ref(), field.after_code::<S>());
    (bits::unpack_location(of(LOCATION)), of(GROUP) as u16, of(POS) as u32)
}

pub fn fragment_locus<S: ItemLayout>(item: &S::Fragment) -> (i32, i64) {
    end_locus(item.as_ref())
}
