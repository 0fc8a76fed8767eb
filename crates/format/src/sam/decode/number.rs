//! Numbers in SAM's text form.

/// The largest absolute value of integers that are parsed: more than any field can hold, and far from overflow.
const LARGEST: i64 = 1 << 40;

/// A decimal integer with an optional sign.
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let (digits, sign) = match text {
        [b'-', digits @ ..] => (digits, -1),
        [b'+', digits @ ..] => (digits, 1),
        digits => (digits, 1),
    };
    Some(sign * digits_of(digits, 10)?)
}

fn digits_of(text: &[u8], base: u32) -> Option<i64> {
    let mut value = 0i64;
    for &b in text {
        value = value * i64::from(base) + i64::from(char::from(b).to_digit(base)?);
        if value > LARGEST {
            return None;
        }
    }
    (!text.is_empty()).then_some(value)
}

/// FLAG: decimal, hexadecimal after `0x` or octal after `0`, as htslib reads it.
pub(super) fn flag(text: &[u8]) -> Option<u16> {
    let value = match text {
        [b'0', b'x' | b'X', digits @ ..] => digits_of(digits, 16),
        [b'0', _, ..] => digits_of(text, 8),
        _ => digits_of(text, 10),
    };
    value.and_then(|n| u16::try_from(n).ok())
}

/// A floating-point number, blanks before it allowed; NaN and the infinities too.
pub(super) fn double(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text.trim_ascii_start()).ok()?.parse().ok()
}

/// The same in single precision, rounded twice as htslib does.
pub(super) fn float(text: &[u8]) -> Option<f32> {
    let value = double(text)?;
    if value.is_nan() {
        let sign = u32::from(value.is_sign_negative()) << 31;
        return Some(f32::from_bits(sign | f32::NAN.to_bits()));
    }
    Some(value as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_whole_or_not_at_all() {
        for (text, value) in [("0", 0), ("-12", -12), ("+7", 7), ("007", 7), ("4294967295", 4294967295)]
        {
            assert_eq!(integer(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", "-", "+-1", "1x", " 1", "1.0", "99999999999999999999999"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
        for (text, value) in [("0", 0), ("0x10", 16), ("010", 8), ("65535", 65535), ("0XfF", 255)] {
            assert_eq!(flag(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", "0x", "08", "65536", "0x10000", "+1", "-0", "pP"] {
            assert_eq!(flag(text.as_bytes()), None, "{text}");
        }
        for (text, bits) in
            [(" 1.5", 0x3fc00000), ("-nan", 0xffc00000), ("NaN", 0x7fc00000), ("1e99", 0x7f800000)]
        {
            assert_eq!(float(text.as_bytes()).map(f32::to_bits), Some(bits), "{text}");
        }
        assert_eq!(float(b"1e"), None);
        assert_eq!(float(b"\xff"), None);
    }
}
