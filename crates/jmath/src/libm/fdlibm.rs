//! Logarithms that Java computes by fdlibm, which FreeBSD's msun keeps as well: the same on all
//! processors.
//!
//! The algorithms are of fdlibm: Copyright (C) 1993 by Sun Microsystems, Inc. All rights reserved.
//! Developed at SunPro, a Sun Microsystems, Inc. business. Permission to use, copy, modify, and
//! distribute this software is freely granted, provided that this notice is preserved.

use super::bits::and;

/// log(2) in two parts, and 2^54.
const LN2_UPPER: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOWER: f64 = f64::from_bits(0x3dea_39ef_3579_3c76);
const TWO_54: f64 = f64::from_bits(0x4350 << 48);

/// Coefficients of the polynomial of z = s², where s = f / (2 + f).
const LG: [f64; 7] = [
    f64::from_bits(0x3fe5_5555_5555_5593),
    f64::from_bits(0x3fd9_9999_9997_fa04),
    f64::from_bits(0x3fd2_4924_9422_9359),
    f64::from_bits(0x3fcc_71c5_1d8e_78af),
    f64::from_bits(0x3fc7_4664_96cb_03de),
    f64::from_bits(0x3fc3_9a09_d078_c69f),
    f64::from_bits(0x3fc2_f112_df3e_5244),
];

fn upper_word(x: f64) -> i32 {
    (x.to_bits() >> 32) as i32
}

fn with_upper_word(x: f64, word: i32) -> f64 {
    f64::from_bits(and(x, 0xffff_ffff).to_bits() | u64::from(word as u32) << 32)
}

/// Returns log(1 + `x`), like `Math.log1p` and `StrictMath.log1p` of Java.
pub fn log1p(x: f64) -> f64 {
    let word = upper_word(x);
    let size = word & 0x7fff_ffff;
    if x.is_nan() || x < -1.0 {
        return f64::NAN;
    }
    if x == -1.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    if size < 0x3e20_0000 {
        return if size < 0x3c90_0000 { x } else { x - x * x * 0.5 };
    }
    let (mut k, mut f, mut upper, mut c) = (0, x, 1, 0.0);
    let is_small = word < 0x3fda_827a && (word > 0 || word <= 0xbfd2_bec3_u32 as i32);
    if !is_small {
        let mut u;
        if word < 0x4340_0000 {
            u = 1.0 + x;
            upper = upper_word(u);
            k = (upper >> 20) - 1023;
            c = if k > 0 { 1.0 - (u - x) } else { x - (u - 1.0) } / u;
        } else {
            u = x;
            upper = upper_word(u);
            k = (upper >> 20) - 1023;
        }
        upper &= 0xf_ffff;
        if upper < 0x6_a09e {
            u = with_upper_word(u, upper | 0x3ff0_0000);
        } else {
            k += 1;
            u = with_upper_word(u, upper | 0x3fe0_0000);
            upper = (0x10_0000 - upper) >> 2;
        }
        f = u - 1.0;
    }
    let k = f64::from(k);
    let half = 0.5 * f * f;
    if upper == 0 {
        if f == 0.0 {
            return k * LN2_UPPER + (c + k * LN2_LOWER);
        }
        let r = half * (1.0 - (2.0 / 3.0) * f);
        return if k == 0.0 { f - r } else { k * LN2_UPPER - ((r - (k * LN2_LOWER + c)) - f) };
    }
    let s = f / (2.0 + f);
    let z = s * s;
    let r =
        z * (LG[0] + z * (LG[1] + z * (LG[2] + z * (LG[3] + z * (LG[4] + z * (LG[5] + z * LG[6]))))));
    if k == 0.0 {
        f - (half - s * (half + r))
    } else {
        k * LN2_UPPER - ((half - (s * (half + r) + (k * LN2_LOWER + c))) - f)
    }
}

/// Returns the natural logarithm, like `StrictMath.log` of Java, on which
/// `Random.nextGaussian` is built.
pub fn strict_log(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x == f64::INFINITY {
        return x;
    }
    let (mut x, mut k) = (x, -1023);
    if !x.is_normal() {
        k -= 54;
        x *= TWO_54;
    }
    let mut word = upper_word(x);
    k += word >> 20;
    word &= 0xf_ffff;
    let carry = (word + 0x9_5f64) & 0x10_0000;
    x = with_upper_word(x, word | (carry ^ 0x3ff0_0000));
    k += carry >> 20;
    let k = f64::from(k);
    let f = x - 1.0;
    if (2 + word) & 0xf_ffff < 3 {
        if f == 0.0 {
            return k * LN2_UPPER + k * LN2_LOWER;
        }
        let r = f * f * (0.5 - (1.0 / 3.0) * f);
        return if k == 0.0 { f - r } else { k * LN2_UPPER - ((r - k * LN2_LOWER) - f) };
    }
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = w * (LG[1] + w * (LG[3] + w * LG[5]));
    let odd = z * (LG[0] + w * (LG[2] + w * (LG[4] + w * LG[6])));
    let r = odd + even;
    if (word - 0x6_147a) | (0x6_b851 - word) > 0 {
        let half = 0.5 * f * f;
        if k == 0.0 {
            f - (half - s * (half + r))
        } else {
            k * LN2_UPPER - ((half - (s * (half + r) + k * LN2_LOWER)) - f)
        }
    } else if k == 0.0 {
        f - s * (f - r)
    } else {
        k * LN2_UPPER - ((s * (f - r) - k * LN2_LOWER) - f)
    }
}
