//! Formats, parses and compares text as Java does, so that files are identical to GATK's.

use std::cmp::Ordering;

/// Formats a number with a fixed number of decimals, as Java's `%.4f` does.
///
/// Java rounds half up, starting from the shortest decimal text that identifies the number. So
/// 1.005 becomes 1.01, although its binary value is lower.
pub fn format_fixed(number: f64, decimals: usize) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 {
        return format!("{number:.decimals$}");
    }
    // `exponent` is the power of ten of the first digit.
    let shortest = format!("{number:e}");
    let Some((mantissa, exponent)) = shortest.split_once('e') else {
        return shortest;
    };
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let exponent = exponent.parse::<i64>().unwrap_or(0);
    let digits: Vec<u8> = mantissa.bytes().filter(u8::is_ascii_digit).collect();
    // The 0-based index of the digit for the last decimal.
    let last = exponent + decimals as i64;
    let digit =
        |at: i64| usize::try_from(at).ok().and_then(|at| digits.get(at)).copied().unwrap_or(b'0');
    let first = last.min(0).min(exponent);
    let mut kept: Vec<u8> = (first.min(0)..=last).map(digit).collect();
    // A leading 0 takes the carry.
    kept.insert(0, b'0');
    if digit(last + 1) >= b'5' {
        increment_digits(&mut kept);
    }
    while kept.len() > decimals + 1 && kept[0] == b'0' {
        kept.remove(0);
    }
    while kept.len() < decimals + 1 {
        kept.insert(0, b'0');
    }
    let text = String::from_utf8_lossy(&kept).into_owned();
    if decimals == 0 {
        return format!("{sign}{text}");
    }
    let (whole, rest) = text.split_at(text.len() - decimals);
    format!("{sign}{whole}.{rest}")
}

/// Increments a number given as decimal digits. A carry out of the first digit is lost.
fn increment_digits(digits: &mut [u8]) {
    for digit in digits.iter_mut().rev() {
        if *digit != b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
}

/// Returns whether this value allows right alignment of its column. GATK right-aligns Java number
/// literals, `null`, `NA`, `NaN` and infinities.
pub fn aligns_right(text: &[u8]) -> bool {
    let words: [&[u8]; 5] = [b"null", b"NA", b"NaN", b"Infinity", b"-Infinity"];
    words.contains(&text) || is_number(trim_blanks(text))
}

/// Returns whether `NumberUtils.isCreatable` of commons-lang3 accepts the text as a number.
///
/// That is an integer (also hexadecimal or octal) or a decimal number, with an optional type suffix
/// (`10L`, `1e5f`).
fn is_number(text: &[u8]) -> bool {
    let unsigned = match text {
        [b'-' | b'+', rest @ ..] => rest,
        _ => text,
    };
    if !text.contains(&b'.') {
        match unsigned {
            [b'0', b'x' | b'X', digits @ ..] => {
                return !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
            }
            [b'0', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => {
                return digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
            }
            _ => {}
        }
    }
    is_decimal(unsigned)
}

/// Returns whether text is a decimal number, optionally with an exponent and a type suffix. With
/// the suffix `L`, it has neither point nor exponent.
fn is_decimal(text: &[u8]) -> bool {
    let (whole, rest) = split_digits(text);
    if !whole.is_empty() && matches!(rest, [b'l' | b'L']) {
        return true;
    }
    let (decimals, rest) = match rest {
        [b'.', rest @ ..] => split_digits(rest),
        _ => (&[] as &[u8], rest),
    };
    if whole.is_empty() && decimals.is_empty() {
        return false;
    }
    let rest = match rest {
        [b'e' | b'E', b'+' | b'-', rest @ ..] | [b'e' | b'E', rest @ ..] => match split_digits(rest) {
            ([], _) => return false,
            (_, rest) => rest,
        },
        _ => rest,
    };
    matches!(rest, [] | [b'd' | b'D' | b'f' | b'F'])
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

/// Removes spaces and control characters from both ends, as `String.trim` does.
pub fn trim_blanks(text: &[u8]) -> &[u8] {
    let Some(first) = text.iter().position(|&byte| byte > b' ') else {
        return &[];
    };
    let last = text.iter().rposition(|&byte| byte > b' ').unwrap_or(first);
    &text[first..=last]
}

/// Returns the length of a string as Java counts it: in UTF-16 code units, or in bytes if the
/// string is not UTF-8.
pub fn utf16_length(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Ok(text) if !text.is_ascii() => text.encode_utf16().count(),
        _ => text.len(),
    }
}

/// Compares strings as `String.compareTo` does: by UTF-16 code units.
pub fn compare_utf16(a: &[u8], b: &[u8]) -> Ordering {
    match (std::str::from_utf8(a), std::str::from_utf8(b)) {
        (Ok(a), Ok(b)) if !a.is_ascii() || !b.is_ascii() => a.encode_utf16().cmp(b.encode_utf16()),
        _ => a.cmp(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_rounded_half_up_on_the_shortest_text() {
        // From String.format of Java 17.
        for (number, decimals, text) in [
            (30.0, 4, "30.0000"),
            (0.0, 2, "0.00"),
            (1.005, 2, "1.01"),
            (0.125, 2, "0.13"),
            (29.99995, 4, "30.0000"),
            (29.999949, 4, "29.9999"),
            (0.00005, 4, "0.0001"),
            (0.000049, 4, "0.0000"),
            (0.000001, 4, "0.0000"),
            (99999.99999, 2, "100000.00"),
            (1.0e22, 2, "10000000000000000000000.00"),
            (123456789012.345, 2, "123456789012.35"),
        ] {
            assert_eq!(format_fixed(number, decimals), text);
        }
    }

    #[test]
    fn numbers_of_java() {
        // From NumberUtils.isCreatable of commons-lang3 3.14.
        for text in
            ["1", "-1", "+1", "10L", "0x1F", "017", "00", "1e5", "1E-5d", ".5", "5.", "08.5", "1f", "0l"]
        {
            assert!(is_number(text.as_bytes()), "{text}");
        }
        for text in [
            "", "-", ".", "e5", "1e", "1e+", "0x", "09", "1.5L", "1e5L", "1..2", "--1", "1-2", "AA",
            "07L", "0x1.8", "1ed",
        ] {
            assert!(!is_number(text.as_bytes()), "{text}");
        }
        assert!(aligns_right(b"null") && aligns_right(b" 12 ") && !aligns_right(b"Null"));
    }

    #[test]
    fn strings_are_compared_in_utf16() {
        assert_eq!(compare_utf16("\u{ff5e}".as_bytes(), "\u{1f9ec}".as_bytes()), Ordering::Greater);
        assert_eq!(compare_utf16(b"-1", b"1"), Ordering::Less);
        assert_eq!(utf16_length("µ🧬".as_bytes()), 3);
    }
}
