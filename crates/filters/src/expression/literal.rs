//! Parses the literals of an expression: numbers and quoted strings.

/// Parses the number at the start of `text`. Returns it with its length in bytes.
///
/// Accepts the same numbers as C's `strtod` in the C locale: decimal or `0x` hexadecimal, with or
/// without fraction and exponent, `inf` and `nan`. A sign is an operator, not part of the number.
pub(super) fn parse_number(text: &[u8]) -> Option<(f64, usize)> {
    let starts = |word: &[u8]| text.get(..word.len()).is_some_and(|it| it.eq_ignore_ascii_case(word));
    if starts(b"0x")
        && let Some(found) = parse_hexadecimal(&text[2..])
    {
        return Some((found.0, found.1 + 2));
    }
    for (word, value) in [(&b"infinity"[..], f64::INFINITY), (b"inf", f64::INFINITY), (b"nan", f64::NAN)]
    {
        if starts(word) {
            return Some((value, word.len()));
        }
    }
    let whole = digit_count(text);
    let fraction = match text.get(whole) {
        Some(b'.') => 1 + digit_count(&text[whole + 1..]),
        _ => 0,
    };
    if whole + fraction.saturating_sub(1) == 0 {
        return None;
    }
    let end = whole + fraction + exponent_length(&text[whole + fraction..], b'e');
    let value = std::str::from_utf8(&text[..end]).ok()?.parse().ok()?;
    Some((value, end))
}

fn digit_count(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn exponent_length(text: &[u8], letter: u8) -> usize {
    if !text.first().is_some_and(|first| first.eq_ignore_ascii_case(&letter)) {
        return 0;
    }
    let sign = usize::from(matches!(text.get(1), Some(b'+' | b'-')));
    match digit_count(&text[1 + sign..]) {
        0 => 0,
        digits => 1 + sign + digits,
    }
}

fn parse_hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let (mut value, mut scale, mut at, mut seen, mut point) = (0.0f64, 0i32, 0, false, false);
    while let Some(&byte) = text.get(at) {
        match char::from(byte).to_digit(16) {
            Some(digit) => {
                value = value * 16.0 + f64::from(digit);
                scale -= 4 * i32::from(point);
                seen = true;
            }
            None if byte == b'.' && !point => point = true,
            None => break,
        }
        at += 1;
    }
    let length = exponent_length(&text[at..], b'p');
    if length > 0 {
        let power = std::str::from_utf8(&text[at + 1..at + length]).ok()?;
        scale = scale.saturating_add(power.parse().unwrap_or(i32::MAX));
    }
    seen.then(|| (value * 2f64.powi(scale), at + length))
}

/// Parses the quoted text at the start of `text`. Returns its contents, and its length in bytes
/// including both quotes.
///
/// A backslash before `"`, `\`, `t`, `n` or `r` is an escape. Before other characters it is kept,
/// because patterns need it. Returns `None` if the closing quote is missing.
pub(super) fn parse_quoted(text: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (mut out, mut at) = (Vec::new(), 1);
    loop {
        match *text.get(at)? {
            b'"' => return Some((out, at + 1)),
            b'\\' => {
                let escaped = *text.get(at + 1)?;
                match escaped {
                    b'"' | b'\\' => out.push(escaped),
                    b't' => out.push(b'\t'),
                    b'n' => out.push(b'\n'),
                    b'r' => out.push(b'\r'),
                    other => out.extend([b'\\', other]),
                }
                at += 2;
            }
            byte => {
                out.push(byte);
                at += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_strtod() {
        for (text, value, length) in [
            ("12", 12.0, 2),
            ("012", 12.0, 3), // not octal
            ("1.5)", 1.5, 3),
            ("1.", 1.0, 2),
            (".5", 0.5, 2),
            ("1.5.2", 1.5, 3),
            ("1e3", 1000.0, 3),
            ("1.5E-1x", 0.15, 6),
            ("5endpos", 5.0, 1),
            ("0x10", 16.0, 4),
            ("0XfF", 255.0, 4),
            ("0x1.8p1", 3.0, 7),
            ("0x1p-2", 0.25, 6),
            ("0xg", 0.0, 1),
            ("inf", f64::INFINITY, 3),
            ("Infinity", f64::INFINITY, 8),
            ("123456789012345678", 123_456_789_012_345_678.0, 18),
        ] {
            assert_eq!(parse_number(text.as_bytes()), Some((value, length)), "{text}");
        }
        assert!(parse_number(b"NaN").is_some_and(|(value, length)| value.is_nan() && length == 3));
        for text in [".", "", "x", "e5", "-1", "\"1\""] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn quotes_end_texts_and_backslashes_escape() {
        let read = |text: &str| {
            parse_quoted(text.as_bytes()).map(|(text, n)| (String::from_utf8(text).unwrap(), n))
        };
        assert_eq!(read(r#""ab" x"#), Some(("ab".to_string(), 4)));
        assert_eq!(read(r#""""#), Some((String::new(), 2)));
        assert_eq!(read(r#""ab\"c\\d""#), Some((r#"ab"c\d"#.to_string(), 10)));
        assert_eq!(read(r#""\t\n\r\.\w""#), Some(("\t\n\r\\.\\w".to_string(), 12)));
        for open in [r#"""#, r#""a"#, r#""a\"#, r#""a\""#] {
            assert_eq!(read(open), None, "{open}");
        }
    }
}
