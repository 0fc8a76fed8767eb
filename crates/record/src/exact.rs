//! Correctly rounded powers and logarithms, so that results are the same on every machine.
//!
//! The C library's functions differ in the last bit between libraries, and in glibc between processors
//! with and without a fused multiply-add. The last bit matters for the estimated library size, which is
//! found by 40 bisections, and for recalibrated qualities if a prior is 30 or slightly below. Here
//! results are computed to about 100 bits: a value is the sum of two numbers, the second far below the
//! last bit of the first.
//!
//! Java's functions on x86-64 differ from these: e^x for 2 of 1,000 arguments (glibc 2.36: 7 of 10,000),
//! 10^x for 5 of 10,000 but for no integer quality, log10 for none of 300,000 (the C library: 4 of 100).

/// A value as the unevaluated sum of two numbers, the second below the last bit of the first.
#[derive(Clone, Copy)]
struct DoubleDouble(f64, f64);

/// ln 2 in three parts. The first ends in enough zero bits for its product with an exponent to be exact.
const LN_2: [f64; 3] = [
    f64::from_bits(0x3FE6_2E42_FEFA_3800),
    f64::from_bits(0x3D2E_F357_93C7_6730),
    1.947_045_092_380_75e-31,
];
const LN_10: DoubleDouble = DoubleDouble(std::f64::consts::LN_10, -2.1707562233822494e-16);
const LOG10_E: DoubleDouble = DoubleDouble(std::f64::consts::LOG10_E, 1.098319650216765e-17);

/// Returns 10^x, for x from -300 to 300.
///
/// ```
/// use readmill_record::exact::{exp, log10, power_of_ten};
///
/// assert_eq!(power_of_ten(-3.0), 0.001); // the error probability of quality 30
/// assert_eq!(log10(0.001), -3.0);
/// assert_eq!(exp(0.0), 1.0);
/// ```
pub fn power_of_ten(x: f64) -> f64 {
    let (power, exponent) = power_of_e(multiply_pairs(LN_10, DoubleDouble(x, 0.0)));
    let DoubleDouble(high, low) = scale_by_power_of_two(power, 2f64.powi(exponent as i32));
    high + low
}

/// Returns e^x for x ≤ 0: 0 on underflow, NaN for NaN.
pub fn exp(x: f64) -> f64 {
    if x < -745.2 {
        return 0.0;
    }
    let (DoubleDouble(high, low), exponent) = power_of_e(DoubleDouble(x, 0.0));
    // Scaled in two steps, because the power of two alone may be too small for a normal number.
    let half = (exponent / 2.0).trunc();
    (high + low) * 2f64.powi(half as i32) * 2f64.powi((exponent - half) as i32)
}

/// Returns the decimal logarithm; minus infinity for 0.
pub fn log10(x: f64) -> f64 {
    if x <= 0.0 || !x.is_finite() {
        return x.log10();
    }
    // The correction of the estimate is ln(1 + r) = r - r²/2, where r is tiny.
    let estimate = x.ln();
    let (power, exponent) = power_of_e(DoubleDouble(-estimate, 0.0));
    let DoubleDouble(high, low) =
        multiply_pairs(scale_by_power_of_two(power, 2f64.powi(exponent as i32)), DoubleDouble(x, 0.0));
    let rest = add_exactly(high - 1.0, low);
    let lack = DoubleDouble(rest.0, rest.1 - rest.0 * rest.0 / 2.0);
    let sum = add_exactly(estimate, lack.0);
    let DoubleDouble(high, low) = multiply_pairs(DoubleDouble(sum.0, sum.1 + lack.1), LOG10_E);
    high + low
}

/// Returns e^x as a number near 1 and the exponent of the power of two to multiply it by.
fn power_of_e(x: DoubleDouble) -> (DoubleDouble, f64) {
    let exponent = (x.0 / std::f64::consts::LN_2).round();
    // e^r - 1 for the small remainder r: a series for r / 256, whose result is then squared eight times.
    let rest = scale_by_power_of_two(subtract_exponent(x, exponent), 1.0 / 256.0);
    let mut power = DoubleDouble(0.0, 0.0);
    for n in (1..=12).rev() {
        power = multiply_pairs(divide_by(rest, f64::from(n)), add_number(power, 1.0));
    }
    for _ in 0..8 {
        power = add_pairs(scale_by_power_of_two(power, 2.0), multiply_pairs(power, power));
    }
    (add_number(power, 1.0), exponent)
}

fn subtract_exponent(x: DoubleDouble, exponent: f64) -> DoubleDouble {
    let product = exponent * LN_2[1];
    let error = exponent.mul_add(LN_2[1], -product);
    let DoubleDouble(high, low) = add_exactly(x.0 - exponent * LN_2[0], -product);
    add_exactly(high, low - error - exponent * LN_2[2] + x.1)
}

/// Returns the exact sum of two numbers: the rounded sum and the rounding error (Knuth's TwoSum).
fn add_exactly(a: f64, b: f64) -> DoubleDouble {
    let sum = a + b;
    let part = sum - a;
    DoubleDouble(sum, (a - (sum - part)) + (b - part))
}

fn add_number(a: DoubleDouble, b: f64) -> DoubleDouble {
    let DoubleDouble(high, low) = add_exactly(a.0, b);
    add_exactly(high, low + a.1)
}

fn add_pairs(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble {
    let DoubleDouble(high, low) = add_exactly(a.0, b.0);
    add_exactly(high, low + (a.1 + b.1))
}

fn multiply_pairs(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble {
    let product = a.0 * b.0;
    let error = a.0.mul_add(b.0, -product);
    add_exactly(product, error + (a.0 * b.1 + a.1 * b.0))
}

fn divide_by(a: DoubleDouble, b: f64) -> DoubleDouble {
    let quotient = a.0 / b;
    let error = (-quotient).mul_add(b, a.0);
    add_exactly(quotient, (error + a.1) / b)
}

/// Multiplies by a power of two, which is exact.
fn scale_by_power_of_two(a: DoubleDouble, by: f64) -> DoubleDouble {
    DoubleDouble(a.0 * by, a.1 * by)
}

#[cfg(test)]
mod tests {
    use super::{exp, log10, power_of_ten};

    const POWERS: [(f64, f64); 8] = [
        (0.0, 1.0),
        (-1.0, 0.1),
        (-3.0, 0.001),
        (-2.9999999999999996, 0.001000000000000001),
        (-9.3, 5.011872336272714e-10),
        (-25.4, 3.9810717055349856e-26),
        (-0.1, 0.7943282347242815),
        (-2.3000000000000007, 0.005011872336272714),
    ];
    const LOGARITHMS: [(f64, f64); 10] = [
        (1.0, 0.0),
        (0.001, -3.0),
        (0.0009999999999999998, -3.0),
        (0.0010000000000000002, -3.0),
        (1e-300, -300.0),
        (0.75, -0.12493873660829995),
        (0.9999999999999999, -4.821637332766436e-17),
        (0.005011872336272715, -2.3000000000000007),
        (1e-93, -93.0),
        (0.7943282347242815, -0.1),
    ];

    #[test]
    fn the_nearest_numbers() {
        // Computed with 40 digits. Java 17 on x86-64 gives the same values, except for the last power,
        // where its result is the adjacent number.
        for (x, expected) in POWERS {
            assert_eq!(power_of_ten(x), expected, "10^{x}");
        }
        for (x, expected) in LOGARITHMS {
            assert_eq!(log10(x), expected, "log10({x})");
        }
        assert_eq!(log10(0.0), f64::NEG_INFINITY);
    }

    #[test]
    fn the_nearest_number() {
        // Computed with 60 digits. glibc differs in the seventh and eighth case, Java in the last two.
        for (x, expected) in [
            (-0.0, 1.0),
            (-1.0, 0.36787944117144233),
            (-1e-09, 0.999999999),
            (-0.5, 0.6065306597126334),
            (-20.0, 2.061153622438558e-09),
            (-700.0, 9.85967654375977e-305),
            (-0.16059506758474817, 0.8516368566643023),
            (-0.03992053213868014, 0.9608657940680722),
            (-0.3933495264303738, 0.6747928484264869),
            (-8.580642476442657, 0.00018770434303954647),
        ] {
            assert_eq!(exp(x), expected, "{x:?}");
        }
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert!(exp(f64::NAN).is_nan());
    }
}
