//! Tables from files, and parts of floating-point numbers.

/// Reads a table of little-endian numbers.
pub(super) const fn read_table<const BYTES: usize, const N: usize>(
    bytes: &[u8; BYTES],
) -> [[f64; 2]; N] {
    assert!(BYTES == N * 16, "a row has 16 bytes");
    let mut table = [[0.0; 2]; N];
    let mut at = 0;
    while at < 2 * N {
        let mut word = 0_u64;
        let mut byte = 8;
        while byte > 0 {
            byte -= 1;
            word = word << 8 | bytes[8 * at + byte] as u64;
        }
        table[at / 2][at % 2] = f64::from_bits(word);
        at += 1;
    }
    table
}

/// Clears the bits of a number that are 0 in the mask.
#[inline]
pub(super) fn and(x: f64, mask: u64) -> f64 {
    f64::from_bits(x.to_bits() & mask)
}

/// Returns the sign, the exponent and 4 bits of the mantissa: the upper 16 bits.
#[inline]
pub(super) fn upper_16(x: f64) -> i32 {
    (x.to_bits() >> 48) as i32
}

/// Returns the 11 bits of the exponent, without the sign: 1023 for numbers from 1 to 2.
#[inline]
pub(super) fn biased_exponent(x: f64) -> i32 {
    upper_16(x) >> 4 & 0x7ff
}
