//! Conversions of numbers to integers as Java and GATK do them.

/// Rounds to the nearest integer, and up if two are equally near, like `Math.round` of a double.
/// Values out of range become the nearest `i64`, and NaN becomes 0.
///
/// ```
/// use readmill_jmath::rounding::round;
///
/// assert_eq!([2.5, -2.5, 0.49999999999999994].map(round), [3, -2, 0]);
/// ```
pub fn round(x: f64) -> i64 {
    let floor = x.floor();
    // The difference is exact for every number that has a fraction.
    if x - floor >= 0.5 { floor as i64 + 1 } else { floor as i64 }
}

/// Cuts to an integer like the cast `(int)` of Java: towards 0, out of range to the nearest `i32`,
/// NaN to 0.
pub fn to_int(x: f64) -> i32 {
    x as i32
}

/// Rounds to the nearest integer, and away from 0 if two are equally near, like `fastRound` of
/// GATK's `MathUtils`. Numbers just below a half round up, as adding 0.5 does.
pub fn fast_round(x: f64) -> i32 {
    if x > 0.0 { to_int(x + 0.5) } else { to_int(x - 0.5) }
}
