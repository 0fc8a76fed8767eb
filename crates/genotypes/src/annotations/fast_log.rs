//! `FastMath.log` of commons-math 3.5, whose last bit is neither that of Java's nor of C's logarithm.

/// Logarithms of 1 + i / 1024, by i: the high part, and what it lacks. Little-endian doubles.
const MANTISSAS: &[u8; 16384] = include_bytes!("data/fast_math_log.bin");

/// Coefficients near 1, each in two parts, from the highest power down.
const NEAR_ONE: [(f64, f64); 9] = [
    (0.11113807559013367, 9.219544613762692e-09),
    (-0.12502530217170715, -7.44321345601866e-11),
    (0.1428571343421936, 5.650007086920087e-09),
    (-0.1666666567325592, -7.800414592973399e-09),
    (0.19999998807907104, 1.1921056801463227e-08),
    (-0.25, -6.663542893624021e-14),
    (0.3333333134651184, 1.986821492305628e-08),
    (-0.25, -0.25),
    (1.0, 5.669184079525e-24),
];

/// Coefficients of log(1 + x) / x, for x below 1 / 1024, from the highest power down.
const SMALL: [f64; 6] =
    [-0.16624882440418567, 0.19999954120254515, -0.2499999997677497, 0.3333333333332802, -0.5, 1.0];

/// High and low part of log 2.
const LOG_2: (f64, f64) = (0.6931470632553101, 1.1730463525082348e-07);

/// Adding and subtracting this multiple of a number leaves its upper bits.
const SPLIT: f64 = 1_073_741_824.0;

const MANTISSA_BITS: u32 = 52;
/// Bits of the mantissa below the ten that choose a row.
const REST: u64 = (1 << 42) - 1;
const ROW: u64 = 1023 << 42;

/// Returns the natural logarithm like `FastMath.log` of commons-math 3.5: NaN of a negative number,
/// and -∞ of 0.
pub(super) fn fast_log(x: f64) -> f64 {
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return x;
    }
    if x > 0.99 && x < 1.01 {
        return log_near_one(x);
    }
    let mut bits = x.to_bits();
    let mut exponent = (bits >> MANTISSA_BITS) as i32 - 1023;
    if x < f64::MIN_POSITIVE {
        bits <<= 1;
        while bits & (1 << MANTISSA_BITS) == 0 {
            exponent -= 1;
            bits <<= 1;
        }
    }
    let (high, low) = read_row(((bits & ROW) >> 42) as usize);
    let rest = (bits & REST) as f64 / ((1_u64 << MANTISSA_BITS) as f64 + (bits & ROW) as f64);
    let small = SMALL.iter().fold(0.0, |sum, coefficient| sum * rest + coefficient) * rest;
    let exponent = f64::from(exponent);
    let (mut sum, mut error) = (LOG_2.0 * exponent, 0.0);
    for term in [high, small, LOG_2.1 * exponent, low, 0.0] {
        let next = sum + term;
        error += -(next - sum - term);
        sum = next;
    }
    sum + error
}

fn read_row(row: usize) -> (f64, f64) {
    let part = |index: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&MANTISSAS[8 * index..][..8]);
        f64::from_le_bytes(bytes)
    };
    (part(2 * row), part(2 * row + 1))
}

/// Evaluates a polynomial in numbers of two parts.
fn log_near_one(x: f64) -> f64 {
    let x = split(x - 1.0, 0.0);
    let mut y = NEAR_ONE[0];
    for coefficient in &NEAR_ONE[1..] {
        y = multiply(y, x);
        y = split(y.0 + coefficient.0, y.1 + coefficient.1);
    }
    let y = multiply(y, x);
    y.0 + y.1
}

fn multiply(a: (f64, f64), b: (f64, f64)) -> (f64, f64) {
    split(a.0 * b.0, a.0 * b.1 + a.1 * b.0 + a.1 * b.1)
}

fn split(high: f64, low: f64) -> (f64, f64) {
    let upper = high + high * SPLIT - high * SPLIT;
    (upper, high - upper + low)
}
