//! Fields of packed items.

use super::ItemLayout;
use crate::location::Location;

/// A field: where it starts, counted from the most significant bit of the first number, and its width.
#[derive(Clone, Copy)]
pub struct Field(pub usize, pub usize);

impl Field {
    /// Returns the field's place in a layout, if it comes after the code.
    pub fn behind_code<S: ItemLayout>(self) -> Self {
        Field(self.0 + S::CODE, self.1)
    }
}

/// Reads a field.
pub fn get(item: &[u64], Field(at, width): Field) -> u64 {
    let (word, bit) = (at / 64, at % 64);
    let high = u128::from(item[word]) << 64;
    let both = high | u128::from(item.get(word + 1).copied().unwrap_or(0));
    (both << bit >> (128 - width)) as u64
}

/// Writes a field that is still zero.
pub fn put(item: &mut [u64], Field(at, width): Field, value: u64) {
    debug_assert!(width == 64 || value >> width == 0, "{value} in {width} bits");
    let (word, bit) = (at / 64, at % 64);
    let both = u128::from(value) << (128 - width) >> bit;
    item[word] |= (both >> 64) as u64;
    if let Some(next) = item.get_mut(word + 1) {
        *next |= both as u64;
    }
}

/// Adds to a field, which must have room for the sum.
pub fn add(item: &mut [u64], field: Field, value: u64) {
    let Field(at, width) = field;
    let sum = get(item, field) + value;
    let (word, bit) = (at / 64, at % 64);
    let mask = u128::MAX << (128 - width) >> bit;
    item[word] &= !((mask >> 64) as u64);
    if let Some(next) = item.get_mut(word + 1) {
        *next &= !(mask as u64);
    }
    put(item, field, sum);
}

/// Reads the code that starts at bit `at`, if the shape has one.
pub fn get_code<S: ItemLayout>(item: &[u64], at: usize) -> u128 {
    if S::CODE == 0 {
        return 0;
    }
    u128::from(get(item, Field(at, 64))) << 64 | u128::from(get(item, Field(at + 64, 64)))
}

/// Writes the code at bit `at`, if the shape has one.
pub fn put_code<S: ItemLayout>(item: &mut [u64], at: usize, code: u128) {
    if S::CODE > 0 {
        put(item, Field(at, 64), (code >> 64) as u64);
        put(item, Field(at + 64, 64), code as u64);
    }
}

/// Whether the first `bits` bits are equal.
pub fn same_prefix(a: &[u64], b: &[u64], bits: usize) -> bool {
    let (words, rest) = (bits / 64, bits % 64);
    a[..words] == b[..words] && (rest == 0 || a[words] >> (64 - rest) == b[words] >> (64 - rest))
}

/// Returns `value` in `width` bits, with a bias that keeps its order; out-of-range values are clamped.
pub fn biased(value: i64, bias: i64, width: usize) -> u64 {
    (value + bias).clamp(0, (1 << width) - 1) as u64
}

/// Higher scores first, in 16 bits.
pub fn by_score(score: i16) -> u64 {
    (i32::from(i16::MAX) - i32::from(score)) as u64
}

/// Tile, x and y start at this value below zero; their bits give the upper limit.
const LOCATION_BIAS: i64 = 1 << 15;
const TILE: usize = 20;
const PIXEL: usize = 22;

/// Bits that a location takes.
pub const LOCATION: usize = TILE + 2 * PIXEL;

/// Tile, x, y: in this order.
pub fn by_location(location: Location) -> u64 {
    let bits = |n: i32, width| biased(n.into(), LOCATION_BIAS, width);
    bits(location.tile, TILE) << (2 * PIXEL) | bits(location.x, PIXEL) << PIXEL | bits(location.y, PIXEL)
}

/// The location that [`by_location`] packed.
pub fn location(bits: u64) -> Location {
    let part = |shift: usize, width: usize| {
        ((bits >> shift & ((1 << width) - 1)) as i64 - LOCATION_BIAS) as i32
    };
    Location { tile: part(2 * PIXEL, TILE), x: part(PIXEL, PIXEL), y: part(0, PIXEL) }
}
