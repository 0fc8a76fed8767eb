//! Numbers as Java writes them into a metrics file.

/// Formats a number with at most six decimals, without trailing zeros; exact ties are rounded towards 0. NaN
/// and infinity are `?`, minus infinity `-?`.
///
/// htsjdk's FormatUtil uses java.text.DecimalFormat, which takes the fewest digits that identify a number and
/// rounds them by its exact binary value. Java 17 makes one exception: 5e-7, whose binary value is below the
/// middle, becomes 0.000001.
pub fn decimal(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    if !value.is_finite() {
        return if value.is_nan() { "?".into() } else { format!("{sign}?") };
    }
    let shortest = value.to_string();
    if shortest.split_once('.').is_none_or(|(_, decimals)| decimals.len() <= 6) {
        return shortest;
    }
    let millionths = if value.abs() == 5e-7 { 1 } else { millionths(value.abs()) };
    let text = format!("{sign}{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a number that is not an integer, and not negative, in millionths: the nearest, ties down.
fn millionths(number: f64) -> u128 {
    let bits = number.to_bits();
    let exponent = (bits >> 52) as i32;
    let mantissa = bits & ((1 << 52) - 1) | u64::from(exponent > 0) << 52;
    // The number is mantissa / 2^halvings.
    let halvings = 1075 - exponent.max(1);
    if halvings > 100 {
        return 0;
    }
    let product = u128::from(mantissa) * 1_000_000;
    let whole = product >> halvings;
    let rest = product - (whole << halvings);
    whole + u128::from(2 * rest > 1 << halvings)
}

/// Formats an integer as Java's Double.toString writes it: `12.0`, and `1.25E7` from ten million on.
pub fn double(value: u64) -> String {
    if value < 10_000_000 {
        return format!("{value}.0");
    }
    let digits = value.to_string();
    let (first, rest) = digits.split_at(1);
    let rest = rest.trim_end_matches('0');
    format!("{first}.{}E{}", if rest.is_empty() { "0" } else { rest }, digits.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::metrics::stated::DECIMALS;

    #[test]
    fn decimals_are_those_of_java() {
        for &(bits, text) in DECIMALS {
            assert_eq!(decimal(f64::from_bits(bits)), text, "{:e}", f64::from_bits(bits));
        }
    }

    #[test]
    fn keys_are_those_of_java() {
        for (value, text) in [
            (1, "1.0"),
            (100, "100.0"),
            (9_999_999, "9999999.0"),
            (10_000_000, "1.0E7"),
            (10_000_001, "1.0000001E7"),
            (12_345_678, "1.2345678E7"),
            (1_234_567_890, "1.23456789E9"),
        ] {
            assert_eq!(double(value), text);
        }
    }
}
