//! A fast natural logarithm that is the same on every machine.

use std::f64::consts::SQRT_2;

/// ln 2 in two parts; the first ends in zero bits, so that its product with an exponent is exact.
const LN_2: [f64; 2] = [f64::from_bits(0x3FE6_2E42_FEE0_0000), f64::from_bits(0x3DEA_39EF_3579_3C76)];

/// 1/3, 1/5 and so on: the series of the inverse hyperbolic tangent.
const INVERSES: [f64; 11] = [
    1.0 / 3.0,
    1.0 / 5.0,
    1.0 / 7.0,
    1.0 / 9.0,
    1.0 / 11.0,
    1.0 / 13.0,
    1.0 / 15.0,
    1.0 / 17.0,
    1.0 / 19.0,
    1.0 / 21.0,
    1.0 / 23.0,
];

/// Returns the natural logarithm, exact to the last bit or its neighbour: minus infinity for 0, NaN for
/// negative numbers and NaN.
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x < f64::MIN_POSITIVE {
        return if x == 0.0 {
            f64::NEG_INFINITY
        } else {
            ln(x * 2f64.powi(54)) - 54.0 * std::f64::consts::LN_2
        };
    }
    if x == f64::INFINITY {
        return x;
    }
    let (exponent, mantissa) = parts(x);
    // ln(1 + f) = 2 atanh(s) = f - f²/2 + s (f²/2 + 2 s² (1/3 + s²/5 + ...)), where s = f / (2 + f).
    let f = mantissa - 1.0;
    let s = f / (2.0 + f);
    let square = s * s;
    let series = INVERSES.iter().rev().fold(0.0, |sum, inverse| sum * square + inverse);
    let half = 0.5 * f * f;
    let rest = s * (half + 2.0 * square * series);
    exponent * LN_2[0] - ((half - (rest + exponent * LN_2[1])) - f)
}

/// Splits a number into its exponent of two and a factor from √½ to √2.
fn parts(x: f64) -> (f64, f64) {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > SQRT_2 {
        (f64::from(exponent + 1), mantissa / 2.0)
    } else {
        (f64::from(exponent), mantissa)
    }
}

#[cfg(test)]
mod tests {
    use super::ln;

    #[test]
    fn near_the_system_s() {
        let mut x = 1e-310;
        while x < 1e300 {
            let (ours, system) = (ln(x), x.ln());
            assert!((ours - system).abs() <= system.abs() * 3e-16, "{x:e}: {ours:e} {system:e}");
            x *= 1.0078123;
        }
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert!(ln(-1.0).is_nan());
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
    }
}
