//! Extreme numbers for damaged inputs, and the maximum size of a damaged input.

use readmill_simulate::Rng;

pub const MAX_BYTES: usize = 4 << 20;

const NUMBERS: [i64; 22] = [
    0,
    1,
    -1,
    -2,
    2,
    127,
    128,
    255,
    256,
    32_767,
    65_535,
    65_536,
    0x0fff_ffff,
    0x1000_0000,
    536_870_911,
    536_870_912,
    i32::MAX as i64 - 1,
    i32::MAX as i64,
    1 << 31,
    u32::MAX as i64,
    1 << 32,
    i64::MAX,
];

/// Draws a number: in half of the cases a limit from [`NUMBERS`], otherwise a small number or one
/// near `from`.
pub fn draw_number(from: i64, rng: &mut Rng) -> i64 {
    match rng.index(4) {
        0 => from.wrapping_add(rng.index(9) as i64 - 4),
        1 => rng.index(20_000) as i64,
        _ => rng.pick(&NUMBERS),
    }
}
