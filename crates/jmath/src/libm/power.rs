//! `Math.pow` of a positive base: the algorithm of Intel's library.
//!
//! log2(x) is computed in two parts like a logarithm in `logarithm`, but with 9 bits of B; near 1, for
//! large y, with more terms in two parts. Then 2^(y·log2(x)) is a table of 2^(j/256) and a polynomial.

use super::bits::{and, biased_exponent, read_table, upper_16};
use super::reciprocal::Reciprocals;

static LOG2_TABLE: [[f64; 2]; 513] = read_table(include_bytes!("../data/pow_log2.bin"));
static EXP2_TABLE: [[f64; 2]; 256] = read_table(include_bytes!("../data/pow_exp2.bin"));

/// The short log2(e) that scales the reciprocal.
const SCALE: f32 = f32::from_bits(0x3fb9_0000);
const SHORT: f64 = f64::from_bits(0x3ff7_2000_0000_0000);
const FIRST_ROW: usize = 228;
const NINE_BITS: u64 = 0xffff_f800_0000_0000;
/// 2^128, which makes subnormal numbers normal.
const TWO_128: f64 = f64::from_bits(0x47f0 << 48);
/// 1.5 · 2^44, whose sum with a number has its multiple of 1/256 in the lower bits.
const SHIFTER: f64 = f64::from_bits(0x42b8 << 48);
const LN_2: f64 = f64::from_bits(0x3fe6_2e42_fefa_39ef);

const LOG2: [f64; 8] = [
    f64::from_bits(0xbf83_6578_6dc9_6112),
    f64::from_bits(0xbf9b_0301_ee24_1472),
    f64::from_bits(0xbfb5_28db_9f95_985a),
    f64::from_bits(0xbfd6_19b6_b384_1d2a),
    f64::from_bits(0x3f90_04f2_5187_75e3),
    f64::from_bits(0x3fa7_6c9b_ac83_49bb),
    f64::from_bits(0x3fc4_635e_486e_cecc),
    f64::from_bits(0xbf5d_abe1_161b_b241),
];
/// Replaces the third, fourth, seventh and eighth of [`LOG2`] near 1; their upper parts are
/// [`SQUARE`] and [`LINEAR`].
const LOG2_REST: [f64; 4] = [
    f64::from_bits(0xbfb5_28db_9f95_985a),
    f64::from_bits(0x3ef2_531e_f8b5_787d),
    f64::from_bits(0x3fc4_635e_486e_cecb),
    f64::from_bits(0xbdd6_1bb2_4120_55cc),
];
const SQUARE: f64 = f64::from_bits(0xbfd6_1a00_0000_0000);
const LINEAR: f64 = f64::from_bits(0xbf5d_abe1_0000_0000);
const EXP2: [f64; 4] = [
    f64::from_bits(0x3f55_d87f_e78a_6731),
    f64::from_bits(0x3fac_6b08_d704_a0c0),
    f64::from_bits(0x3f83_b2ab_6fba_4e77),
    f64::from_bits(0x3fce_bfbd_ff82_c58f),
];

/// A base whose logarithm is begun: x = 2^k · m, and B is near log2(e) / m.
struct Reduced {
    k: i32,
    /// B · upper part of m - SHORT, and B · lower part of m.
    parts: [f64; 2],
    row: [f64; 2],
}

/// Returns |`x`|^`y` for finite `x` and `y` other than 0, with the given sign.
pub(super) fn power(reciprocals: Reciprocals, x: f64, y: f64, is_negative: bool) -> f64 {
    let result = positive_power(reciprocals, x.abs(), y, x < 0.0);
    if is_negative { -result } else { result }
}

#[inline]
fn positive_power(reciprocals: Reciprocals, x: f64, y: f64, was_negative: bool) -> f64 {
    let (scaled, bias) = if x.is_normal() { (x, 1023) } else { (x * TWO_128, 1023 + 128) };
    let mantissa = f64::from_bits(x_mantissa(scaled));
    let b_bits = (reciprocals.of_mantissa(scaled) * SCALE).to_bits() + 0x2000;
    let b = f64::from_bits(u64::from(b_bits) << 29 & NINE_BITS);
    let row = LOG2_TABLE[(b_bits >> 14 & 0x3ff) as usize - FIRST_ROW];
    let k = biased_exponent(scaled) - bias;

    let is_near_1 = bias == 1023 && matches!(upper_16(x), 0x3fef | 0x3ff0);
    let upper = if bias != 1023 {
        and(mantissa, 0xffff_fc00 << 32)
    } else {
        // Fewer bits of m the larger k is, so that the sum with k has room. For a negative base, Intel's
        // library takes k - 1.
        let cleared = ((if was_negative { k - 1 } else { k }).abs() + 1).ilog2();
        let rounded = mantissa.to_bits() + if is_near_1 { 0x8000_0000 } else { 0 };
        f64::from_bits(rounded & u64::from(u32::MAX << cleared) << 32)
    };
    let parts = [upper * b - SHORT, (mantissa - upper) * b];
    let reduced = Reduced { k, parts, row };
    if is_near_1 && upper_16(y) & 0x7ff0 >= 0x40b0 {
        return power_near_1(&reduced, y);
    }
    usual_power(&reduced, x, y)
}

/// Returns the mantissa with an exponent of 896.
fn x_mantissa(x: f64) -> u64 {
    x.to_bits() & 0xf_ffff_ffff_ffff | 0x77f << 52
}

fn usual_power(reduced: &Reduced, x: f64, y: f64) -> f64 {
    let Reduced { k, parts: [upper, lower], row } = *reduced;
    let r = lower + upper;
    let log_upper = (upper + row[0]) + f64::from(k);
    let log_lower = lower + row[1];
    let r_2 = r * r;
    let r_3 = r * r_2;
    let r_4 = r_2 * r_2;
    let c = &LOG2;
    let first = r_4 * ((c[4] + c[0] * r) * r_3);
    let second = r_4 * ((c[5] + c[1] * r) * r);
    let low = (c[6] + c[2] * r) * r_3 + log_lower;
    let rest = (second + (c[7] + c[3] * r) * r) + (first + low);

    // The exponent of y·log2(x), roughly, times 16.
    let size = 16 * (k.abs() + 1).ilog2() as i32 - 0x3e00 + (upper_16(y) & 0x7ff0);
    if (0..624).contains(&size) {
        let y_upper = and(y, 0xffff_fff8_0000_0000);
        let product = y_upper * log_upper;
        let shifted = SHIFTER + product;
        let z = y * rest + ((product - (shifted - SHIFTER)) + (y - y_upper) * log_upper);
        let number = shifted.to_bits() as u32 as i32;
        let [t, t_rest] = exp2_row(number, number >> 8);
        let z_2 = z * z;
        let e = &EXP2;
        let low = (z_2 * z_2) * (e[2] + e[0] * z);
        let high = z_2 * (e[3] + e[1] * z);
        return (low * t + ((LN_2 * z) * t + t_rest)) + high * t + t;
    }
    if size < 0 {
        if size + 384 < 0 {
            return 1.0;
        }
        return 1.0 + (log_upper * y + y * rest) * LN_2;
    }
    // Intel's first version has 736 here, which is too small for x below 1. Java's has this limit.
    if size >= 752 {
        return overflow((x < 1.0) != (y < 0.0));
    }
    let sum = log_upper + rest;
    let upper = and(sum, 0xffff_ffff_f800_0000);
    let lower = (rest + (log_upper - sum)) + (sum - upper);
    let y_upper = and(y, 0xffff_ffff_f800_0000);
    let product = y_upper * upper;
    let shifted = SHIFTER + product;
    let whole = shifted - SHIFTER;
    let z = (y * lower + (y - y_upper) * upper) + (product - whole);
    exp2_in_two_steps(shifted, whole, z).unwrap_or_else(|| overflow((x < 1.0) != (y < 0.0)))
}

/// Returns what lies beyond the numbers: zero or infinity.
fn overflow(is_small: bool) -> f64 {
    if is_small { 0.0 } else { f64::INFINITY }
}

/// Returns the power of a base in [1 - 1/32, 1 + 1/16) for a `y` of at least 4096.
fn power_near_1(reduced: &Reduced, y: f64) -> f64 {
    let Reduced { k, parts: [a, b], row } = *reduced;
    let r = b + a;
    let linear_a = a + LINEAR * a;
    let square_a = SQUARE * a * a;
    let linear_b = LINEAR * b;
    let s_0 = f64::from(k) + row[0];
    let s_1 = s_0 + linear_a;
    let s_2 = s_1 + square_a;
    let s_3 = s_2 + b;
    let s_4 = s_3 + linear_b;
    let s_5 = s_4 + row[1];
    let e_1 = linear_a + (s_0 - s_1);
    let e_2 = square_a + (s_1 - s_2);
    let e_3 = (s_2 - s_3) + b;
    let e_4 = (s_3 - s_4) + linear_b;
    let e_5 = (s_4 - s_5) + row[1];
    let mut rest = SQUARE * b * (a + r) + (e_2 + e_1);
    rest += e_3;
    rest += e_4;
    rest += e_5;

    let r_2 = r * r;
    let r_3 = r * r_2;
    let r_4 = r_2 * r_2;
    let (c, d) = (&LOG2, &LOG2_REST);
    let first = ((d[2] + d[0] * r) * r_3 + rest) + ((c[0] * r + c[4]) * r_3) * r_4;
    let second = (d[3] + d[1] * r) * r + ((c[1] * r + c[5]) * r) * r_4;

    let upper = and(s_5, 0xffff_ffff_f800_0000);
    let size = (upper_16(s_5) & 0x7ff0) - 0x3ff0 + (upper_16(y) & 0x7ff0);
    let is_small = (y < 0.0) != upper.is_sign_negative();
    if size >= 0x40c0 {
        return overflow(is_small);
    }
    let lower = (s_5 - upper) + (first + second);
    let y_upper = and(y, 0xffff_ffff_0000_0000);
    let product = y_upper * upper;
    let shifted = SHIFTER + product;
    let whole = shifted - SHIFTER;
    let z = (product - whole) + ((y - y_upper) * upper + y * lower);
    exp2_in_two_steps(shifted, whole, z).unwrap_or_else(|| overflow(is_small))
}

/// Returns the row of 2^(number/256), with its exponent raised by `n`.
#[inline]
fn exp2_row(number: i32, n: i32) -> [f64; 2] {
    let more = (n as u64) << 52;
    EXP2_TABLE[(number & 255) as usize].map(|t| f64::from_bits(t.to_bits().wrapping_add(more)))
}

/// Returns 2^(whole + z) by multiplying in two steps, or `None` if the result is far out of range.
/// `whole` is a multiple of 1/256 whose bits are the lower ones of `shifted`.
fn exp2_in_two_steps(shifted: f64, whole: f64, z: f64) -> Option<f64> {
    let number = shifted.to_bits() as u32 as i32;
    if upper_16(whole) & 0x7fff > 0x4091 {
        return None;
    }
    let n = number >> 8;
    let half = n >> 1;
    let [t, t_rest] = exp2_row(number, half);
    let power = f64::from_bits(((n - half + 1023) as u64) << 52);
    let z_2 = z * z;
    let e = &EXP2;
    let low = (z_2 * z_2) * (e[2] + e[0] * z);
    let high = z_2 * (e[3] + e[1] * z);
    let rest = (low * t + ((LN_2 * z) * t + t_rest)) + high * t;
    let result = (rest + t) * power;
    if biased_exponent(result) != 0 {
        return Some(result);
    }
    // The result is subnormal: it is rounded once, in the sum of two products.
    let exponent = biased_exponent(t) - 1023 + biased_exponent(power);
    let lost = -31 - exponent;
    if lost > 20 {
        return Some(result);
    }
    let upper = and(t, u64::from(u32::MAX << lost.max(0)) << 32);
    Some(upper * power + ((t - upper) + rest) * power)
}
