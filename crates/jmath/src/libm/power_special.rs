//! `Math.pow` for zeros, infinities, NaN and negative bases.

use super::power;
use super::reciprocal::Reciprocals;

/// Whether a number is an integer, and an odd one.
#[derive(PartialEq, Eq)]
enum Parity {
    Fraction,
    Even,
    Odd,
}

pub(super) fn pow(reciprocals: Reciprocals, x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return 1.0;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if y.is_infinite() {
        let size = x.abs();
        return if size == 1.0 {
            f64::NAN
        } else if (size > 1.0) == (y > 0.0) {
            f64::INFINITY
        } else {
            0.0
        };
    }
    let is_negative = x.is_sign_negative() && parity(y) == Parity::Odd;
    if x == 0.0 || x.is_infinite() {
        let size = if (x == 0.0) == (y > 0.0) { 0.0 } else { f64::INFINITY };
        return if is_negative { -size } else { size };
    }
    if x < 0.0 && parity(y) == Parity::Fraction {
        return f64::NAN;
    }
    // HotSpot multiplies instead.
    if y == 2.0 {
        return x * x;
    }
    power::power(reciprocals, x, y, is_negative)
}

fn parity(y: f64) -> Parity {
    if y.trunc() != y {
        Parity::Fraction
    } else if (y / 2.0).trunc() == y / 2.0 {
        Parity::Even
    } else {
        Parity::Odd
    }
}
