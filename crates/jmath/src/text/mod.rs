//! Texts of numbers, as Java 17 formats them.
//!
//! Java rounds half up from decimal digits that identify the number, not from its binary value. The
//! digits are those of `FloatingDecimal` of JDK 17, which are sometimes more than needed.

mod digits;
mod natural;

use digits::{Decimal, Purpose};

/// Formats a number with a fixed number of decimals, like `String.format("%.Nf")`.
///
/// ```
/// use readmill_jmath::text::format_fixed;
///
/// assert_eq!([0.125, 1.005, 2.675].map(|x| format_fixed(x, 2)), ["0.13", "1.01", "2.68"]);
/// ```
pub fn format_fixed(x: f64, decimals: usize) -> String {
    let Some((sign, mut decimal)) = split(x) else {
        return special(x);
    };
    let kept = decimal.exponent as i64 + decimals as i64;
    decimal.round_to(kept);
    let mut text = String::from(sign);
    let digit = |at: i64| usize::try_from(at).ok().and_then(|at| decimal.digits.get(at)).copied();
    let whole = i64::from(decimal.exponent);
    if whole <= 0 {
        text.push('0');
    }
    text.extend((0..whole).map(|at| char::from(digit(at).unwrap_or(b'0'))));
    if decimals > 0 {
        text.push('.');
    }
    text.extend((whole..whole + decimals as i64).map(|at| char::from(digit(at).unwrap_or(b'0'))));
    text
}

/// Formats a number with an exponent of at least two digits, like `String.format("%.Ne")`.
///
/// ```
/// assert_eq!(readmill_jmath::text::format_scientific(0.00012345, 3), "1.235e-04");
/// ```
pub fn format_scientific(x: f64, decimals: usize) -> String {
    let Some((sign, mut decimal)) = split(x) else {
        return special(x);
    };
    decimal.round_to(decimals as i64 + 1);
    let mut text = format!("{sign}{}", char::from(decimal.digits[0]));
    if decimals > 0 {
        text.push('.');
    }
    text.extend((1..=decimals).map(|at| char::from(decimal.digits.get(at).copied().unwrap_or(b'0'))));
    let exponent = if x == 0.0 { 0 } else { decimal.exponent - 1 };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{text}e{sign}{:02}", exponent.abs())
}

/// Formats a number like `Double.toString`: with an exponent from 10^7 on and below 10^-3.
pub fn format_double(x: f64) -> String {
    let sign = if x.is_sign_negative() { "-" } else { "" };
    if !x.is_finite() {
        return special(x);
    }
    if x == 0.0 {
        return format!("{sign}0.0");
    }
    let Decimal { digits, exponent } = Decimal::of(x.abs(), Purpose::ToString);
    let digits: String = digits.into_iter().map(char::from).collect();
    let or_zero = |rest: &str| if rest.is_empty() { "0".to_owned() } else { rest.to_owned() };
    match exponent {
        1..=7 => {
            let whole = exponent as usize;
            let digits = format!("{digits:0<whole$}");
            format!("{sign}{}.{}", &digits[..whole], or_zero(&digits[whole..]))
        }
        -2..=0 => format!("{sign}0.{}{digits}", "0".repeat(-exponent as usize)),
        _ => format!("{sign}{}.{}E{}", &digits[..1], or_zero(&digits[1..]), exponent - 1),
    }
}

/// Returns the sign and the digits of a finite number.
fn split(x: f64) -> Option<(&'static str, Decimal)> {
    let sign = if x.is_sign_negative() { "-" } else { "" };
    let zero = || Decimal { digits: vec![b'0'], exponent: 1 };
    x.is_finite().then(|| (sign, if x == 0.0 { zero() } else { Decimal::of(x.abs(), Purpose::Format) }))
}

/// Returns the name of a number that is not finite.
fn special(x: f64) -> String {
    if x.is_nan() {
        "NaN"
    } else if x > 0.0 {
        "Infinity"
    } else {
        "-Infinity"
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_where_sums_wrap_around_in_java() {
        // From Java 17; the last digits are not the nearest ones.
        let numbers = [0xc53c_2979_a341_21a0, 0x4538_0ec1_3d42_ffe5].map(f64::from_bits);
        assert_eq!(numbers.map(format_double), ["-3.4045783794760863E25", "2.9083897437489444E25"]);
        assert_eq!(format_fixed(numbers[0], 1), "-34045783794760863000000000.0");
    }

    #[test]
    fn special_numbers() {
        let numbers = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, -0.001];
        let texts = ["NaN", "Infinity", "-Infinity", "-0.00", "-0.00"];
        assert_eq!(numbers.map(|x| format_fixed(x, 2)), texts);
    }
}
