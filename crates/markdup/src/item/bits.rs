//! Reads and writes the bit fields of packed items.
//!
//! An item is an array of 64-bit words that sorts as one large number. So bits are counted from the
//! most significant bit of the first word, and fields may cross word boundaries.

use super::ItemLayout;
use crate::location::Location;

/// A bit field: its first bit, counted from the most significant bit of the first word, and its width
/// (at most 64).
#[derive(Clone, Copy)]
pub struct BitField(pub usize, pub usize);

impl BitField {
    /// Returns the position in layout `S` of a field after the barcode code. Constants of such
    /// fields hold the position in [`PositionOnly`](super::PositionOnly).
    pub fn after_code<S: ItemLayout>(self) -> Self {
        BitField(self.0 + S::CODE, self.1)
    }
}

pub fn get_field(item: &[u64], BitField(at, width): BitField) -> u64 {
    let (word, bit) = (at / 64, at % 64);
    let high = u128::from(item[word]) << 64;
    let both = high | u128::from(item.get(word + 1).copied().unwrap_or(0));
    (both << bit >> (128 - width)) as u64
}

pub fn put_field(item: &mut [u64], BitField(at, width): BitField, value: u64) {
    debug_assert!(width == 64 || value >> width == 0, "{value} in {width} bits");
    let (word, bit) = (at / 64, at % 64);
    let both = u128::from(value) << (128 - width) >> bit;
    item[word] |= (both >> 64) as u64;
    if let Some(next) = item.get_mut(word + 1) {
        *next |= both as u64;
    }
}

/// Adds `value` to a field, which must have room for the sum. Used to renumber records when the
/// items of several slices are combined.
pub fn add_to_field(item: &mut [u64], field: BitField, value: u64) {
    let BitField(at, width) = field;
    let sum = get_field(item, field) + value;
    let (word, bit) = (at / 64, at % 64);
    let mask = u128::MAX << (128 - width) >> bit;
    item[word] &= !((mask >> 64) as u64);
    if let Some(next) = item.get_mut(word + 1) {
        *next &= !(mask as u64);
    }
    put_field(item, field, sum);
}

pub fn get_code<S: ItemLayout>(item: &[u64], at: usize) -> u128 {
    if S::CODE == 0 {
        return 0;
    }
    u128::from(get_field(item, BitField(at, 64))) << 64
        | u128::from(get_field(item, BitField(at + 64, 64)))
}

pub fn put_code<S: ItemLayout>(item: &mut [u64], at: usize, code: u128) {
    if S::CODE > 0 {
        put_field(item, BitField(at, 64), (code >> 64) as u64);
        put_field(item, BitField(at + 64, 64), code as u64);
    }
}

pub fn same_prefix(a: &[u64], b: &[u64], bits: usize) -> bool {
    let (words, rest) = (bits / 64, bits % 64);
    a[..words] == b[..words] && (rest == 0 || a[words] >> (64 - rest) == b[words] >> (64 - rest))
}

/// Returns `value` plus `bias` in `width` bits, so that negative values sort first. Out-of-range
/// values are clamped, which merges positions that no real file has.
pub fn add_bias(value: i64, bias: i64, width: usize) -> u64 {
    value.saturating_add(bias).clamp(0, (1 << width) - 1) as u64
}

pub fn pack_score(score: i16) -> u64 {
    (i32::from(i16::MAX) - i32::from(score)) as u64
}

/// Tile, x and y may be as low as -32768: Picard truncates them to signed 16 bits.
const LOCATION_BIAS: i64 = 1 << 15;
const TILE: usize = 20;
const PIXEL: usize = 22;

pub const LOCATION: usize = TILE + 2 * PIXEL;

/// Packs a location so that locations sort by tile, then x, then y, the order in which Picard
/// breaks ties between equal scores.
pub fn pack_location(location: Location) -> u64 {
    let bits = |n: i32, width| add_bias(n.into(), LOCATION_BIAS, width);
    bits(location.tile, TILE) << (2 * PIXEL) | bits(location.x, PIXEL) << PIXEL | bits(location.y, PIXEL)
}

pub fn unpack_location(bits: u64) -> Location {
    let part = |shift: usize, width: usize| {
        ((bits >> shift & ((1 << width) - 1)) as i64 - LOCATION_BIAS) as i32
    };
    Location { tile: part(2 * PIXEL, TILE), x: part(PIXEL, PIXEL), y: part(0, PIXEL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_the_width_are_clamped_in_order() {
        let packed = [i64::MIN, -9, -8, 0, 7, 8, i64::MAX].map(|value| add_bias(value, 8, 4));
        assert_eq!(packed, [0, 0, 0, 8, 15, 15, 15]);
    }
}
