//! `Math.exp`: the algorithm of Intel's library.
//!
//! With x = (64·n + j)·log(2)/64 + y: e^x = 2^n · T\[j\] · (1 + P(y)), where T is a table of the
//! mantissas of 2^(j/64), and P is a polynomial near e^y - 1.

use super::bits::{biased_exponent, read_table, upper_16};

static TABLE: [[f64; 2]; 64] = read_table(include_bytes!("../data/exp.bin"));

/// 64 / log(2), which turns x into the exponent of 2, in steps of 1/64.
const STEPS: f64 = f64::from_bits(0x4057_1547_652b_82fe);
/// log(2) / 64 in two parts.
const STEP: [f64; 2] = [f64::from_bits(0x3f86_2e42_fefa_0000), f64::from_bits(0x3d1c_f79a_bc9e_3b3a)];
/// 1.5 · 2^52, whose sum with a number has the rounded number in its lower bits.
const SHIFTER: f64 = f64::from_bits(0x4338 << 48);
const SQUARE: f64 = f64::from_bits(0x3fdf_ffff_ffff_fffe);
const COEFFICIENTS: [f64; 4] = [
    f64::from_bits(0x3f56_c15c_e328_9860),
    f64::from_bits(0x3fa5_5555_555b_9e25),
    f64::from_bits(0x3f81_1115_c090_cf0f),
    f64::from_bits(0x3fc5_5555_5554_8ba1),
];

pub(super) fn exp(x: f64) -> f64 {
    let size = upper_16(x) & 0x7fff;
    if size > 0x408f {
        // 1024 and more, infinity, NaN.
        return if x.is_nan() {
            f64::NAN
        } else if x < 0.0 {
            0.0
        } else {
            f64::INFINITY
        };
    }
    if size < 0x3c90 {
        return x + 1.0;
    }
    let shifted = STEPS * x + SHIFTER;
    let number = shifted.to_bits() as u32 as i32;
    let whole = shifted - SHIFTER;
    let y = (x - STEP[0] * whole) - STEP[1] * whole;
    let [row_rest, row] = TABLE[(number & 63) as usize];
    let n = number >> 6;

    let y_2 = y * y;
    let y_3 = y_2 * y;
    let c = &COEFFICIENTS;
    let high = (y_3 * y_2) * (c[2] + c[0] * y);
    let low = y_3 * (c[3] + c[1] * y);
    let p = low + ((y + row_rest) + high) + SQUARE * y_2;
    if (-894..=1022).contains(&n) {
        let t = f64::from_bits(row.to_bits() + (((n + 1023) as u64) << 52));
        return p * t + t;
    }
    scale(row, p, n)
}

/// Returns t·(1 + p)·2^n with one rounding to a subnormal number, by multiplying in two steps.
fn scale(t: f64, p: f64, n: i32) -> f64 {
    let half = n >> 1;
    let t = f64::from_bits(t.to_bits() + (((n - half + 1023) as u64) << 52));
    let power = f64::from_bits(((half + 1023) as u64) << 52);
    let p = p * t;
    // Number of bits that the result lacks.
    let lost = -1022 - n;
    if lost > 52 {
        return (p + t) * power;
    }
    let upper = if lost < 0 { 0.0 } else { f64::from_bits(t.to_bits() & u64::MAX << lost) };
    let rest = p + (t - upper);
    let result = (rest + upper) * power;
    if n >= 1023 || (lost == 0 && rest.is_sign_positive()) || biased_exponent(result) != 0 {
        return result;
    }
    // Both parts are subnormal: their bits are integers.
    let (rest, upper) = (rest * power, upper * power);
    let size = rest.abs().to_bits();
    f64::from_bits(if rest.is_sign_negative() == upper.is_sign_negative() {
        upper.to_bits().wrapping_add(size)
    } else {
        upper.to_bits().wrapping_sub(size)
    })
}
