//! The 5′ end of a read: what fragments are compared by.

use super::bits::{self, Field, get, put};
use super::{Item, ItemLayout};

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
pub const POS: usize = 34;

const LIBRARY: Field = Field(0, 16);
const REF: Field = Field(16, 32);
const PLACE: Field = Field(48, POS);
const REVERSE: Field = Field(82, 1);

/// Bits of an end, before the code.
pub const END: usize = 83;

/// A position, packed.
pub fn packed(pos: i64) -> u64 {
    bits::biased(pos, BIAS, POS)
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
