//! A single read, which is compared without a mate.

use super::bits::{self, Field, get, put};
use super::end::{END, end_locus, put_end};
use super::{EndKey, Item, ItemLayout, ReadSummary};
use crate::location::Location;

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

/// Location on the flow cell, read group, leftmost position (1-based).
pub fn fragment_member<S: ItemLayout>(item: &S::Fragment) -> (Location, u16, u32) {
    let of = |field: Field| get(item.as_ref(), field.behind_code::<S>());
    (bits::location(of(LOCATION)), of(GROUP) as u16, of(POS) as u32)
}

/// Reference sequence and unclipped 5′ position, 0-based.
pub fn fragment_locus<S: ItemLayout>(item: &S::Fragment) -> (i32, i64) {
    end_locus(item.as_ref())
}
