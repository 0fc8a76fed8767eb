//! `Math.log10` and `Math.log`: the algorithm of Intel's library.
//!
//! With x = 2^k · m and m in [1, 2): B is about LH / m, rounded to 7 bits of mantissa, where LH is a
//! short log10(e) or, for the natural logarithm, 1. Then the logarithm is k·log(2) - log(B) + p(r),
//! where r = B·m - LH is exact in two parts, -log(B) is from a table, and p is a polynomial.

use super::bits::{and, biased_exponent, read_table};
use super::reciprocal::Reciprocals;

/// The constants of one of the logarithms. A pair is a rounded number and the remainder that rounding
/// left.
struct Base {
    /// LH, which scales the reciprocal, as a factor of the approximation.
    scale: Option<f32>,
    /// LH and its difference to the exact scale, which is a coefficient of r.
    short: f64,
    rest: f64,
    /// The logarithm of 2, divided by 16.
    log_2: [f64; 2],
    /// Bits of the mantissa that are in the upper part of m.
    upper: u64,
    coefficients: [f64; 6],
    table: &'static [[f64; 2]; 129],
    /// The upper bits of the smallest B.
    first_row: usize,
}

/// Upper 7 bits of the mantissa, with sign and exponent.
const SEVEN_BITS: u64 = 0xffff_e000_0000_0000;

/// 2^128, which makes subnormal numbers normal.
const TWO_128: f64 = f64::from_bits(0x47f0 << 48);

static LOG10_TABLE: [[f64; 2]; 129] = read_table(include_bytes!("../data/log10.bin"));
static LOG_TABLE: [[f64; 2]; 129] = read_table(include_bytes!("../data/log.bin"));

static LOG10: Base = Base {
    scale: Some(f32::from_bits(0x3ede_0000)),
    short: f64::from_bits(0x3fdb_c000_0000_0000),
    rest: f64::from_bits(0x3f5a_7a6c_bf2e_4108),
    log_2: [f64::from_bits(0x3f93_4413_509f_7800), f64::from_bits(0x3cdf_ef31_1f12_b358)],
    upper: 0xffff_ffff_f800_0000,
    coefficients: [
        f64::from_bits(0x4035_8874_c1a5_f12e),
        f64::from_bits(0xc008_9309_64d4_ef0d),
        f64::from_bits(0xc025_c917_3855_93b1),
        f64::from_bits(0x3ffc_6a02_dc96_3467),
        f64::from_bits(0x4016_ab9f_7f9d_3aa1),
        f64::from_bits(0xbff2_7af2_dc77_b115),
    ],
    table: &LOG10_TABLE,
    first_row: 94,
};

static LOG: Base = Base {
    scale: None,
    short: 1.0,
    rest: 0.0,
    log_2: [f64::from_bits(0x3fa6_2e42_fefa_3800), f64::from_bits(0x3cee_f357_93c7_6730)],
    upper: SEVEN_BITS,
    coefficients: [
        f64::from_bits(0x3fc2_4924_9249_2492),
        f64::from_bits(0xbfd0_0000_0000_0000),
        f64::from_bits(0xbfc5_555e_3d6f_b175),
        f64::from_bits(0x3fd5_5555_5555_5555),
        f64::from_bits(0x3fc9_9999_9999_999a),
        f64::from_bits(0xbfe0_0000_0000_0000),
    ],
    table: &LOG_TABLE,
    first_row: 0,
};

pub(super) fn log10(reciprocals: Reciprocals, x: f64) -> f64 {
    logarithm(reciprocals, &LOG10, x)
}

pub(super) fn log(reciprocals: Reciprocals, x: f64) -> f64 {
    logarithm(reciprocals, &LOG, x)
}

#[inline(always)]
fn logarithm(reciprocals: Reciprocals, base: &'static Base, x: f64) -> f64 {
    if x.is_normal() && x > 0.0 {
        return logarithm_of_normal(reciprocals, base, x, 1023);
    }
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_nan() || x < 0.0 {
        f64::NAN
    } else if x == f64::INFINITY {
        x
    } else {
        logarithm_of_normal(reciprocals, base, x * TWO_128, 1023 + 128)
    }
}

/// Returns the logarithm of a positive normal number, whose exponent has the given bias.
#[inline(always)]
fn logarithm_of_normal(reciprocals: Reciprocals, base: &'static Base, x: f64, bias: i32) -> f64 {
    let mut near = reciprocals.of_mantissa(x);
    if let Some(scale) = base.scale {
        near *= scale;
    }
    let rounded = near.to_bits() + 0x8000;
    // m · 2^896, and B · 2^-896.
    let m = f64::from_bits(x.to_bits() & 0xf_ffff_ffff_ffff | 0x77f << 52);
    let b = f64::from_bits(u64::from(rounded) << 29 & SEVEN_BITS);
    let m_upper = and(m, base.upper);
    let r_lower = (m - m_upper) * b;
    let r_upper = m_upper * b - base.short;
    let r = r_lower + r_upper;

    let row = base.table[(rounded >> 16 & 0xff) as usize - base.first_row];
    let k = f64::from((biased_exponent(x) - bias) * 16);
    let upper = row[0] + base.log_2[0] * k;
    let sum = upper + r;
    let mut rest = r + (upper - sum);
    if base.scale.is_some() {
        rest += base.rest * r;
    }
    rest += base.log_2[1] * k + row[1];

    let c = &base.coefficients;
    let r_2 = r * r;
    let odd = (c[2] * r + c[4]) * r + (c[0] * r) * r_2;
    let even = (c[3] * r + c[5]) + c[1] * r_2;
    rest += odd * (r_2 * r_2);
    rest += even * r_2;
    sum + rest
}
