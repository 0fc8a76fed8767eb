//! Parses the numbers of SAM text, and the optional fields (`TAG:TYPE:VALUE`, SAM specification,
//! section 1.5).

use memchr::memchr;
use readmill_record::{Error, Result};

/// Largest absolute value of a parsed integer: larger than any field can hold, and far from
/// overflow.
const MAX_INTEGER: i64 = 1 << 40;

pub(super) fn parse_integer(text: &[u8]) -> Option<i64> {
    let (digits, sign) = match text {
        [b'-', digits @ ..] => (digits, -1),
        [b'+', digits @ ..] => (digits, 1),
        digits => (digits, 1),
    };
    // Numbers with at most 12 digits are never too large.
    let value =
        if digits.len() <= 12 { parse_short_integer(digits)? } else { parse_digits(digits, 10)? };
    Some(sign * value)
}

#[inline]
fn parse_short_integer(text: &[u8]) -> Option<i64> {
    let mut value = 0;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    (!text.is_empty()).then_some(value)
}

fn parse_digits(text: &[u8], base: u32) -> Option<i64> {
    let mut value = 0i64;
    for &b in text {
        value = value * i64::from(base) + i64::from(char::from(b).to_digit(base)?);
        if value > MAX_INTEGER {
            return None;
        }
    }
    (!text.is_empty()).then_some(value)
}

/// Parses FLAG as htslib does: decimal, hexadecimal after `0x`, or octal after `0`.
pub fn parse_flag(text: &[u8]) -> Option<u16> {
    let value = match text {
        [b'0', b'x' | b'X', digits @ ..] => parse_digits(digits, 16),
        [b'0', _, ..] => parse_digits(text, 8),
        _ => parse_digits(text, 10),
    };
    value.and_then(|n| u16::try_from(n).ok())
}

/// Parses a floating-point number, NaN or infinity. Leading blanks are allowed.
pub(super) fn parse_double(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text.trim_ascii_start()).ok()?.parse().ok()
}

/// Parses a number in single precision. As in htslib, it is first rounded to double precision.
pub(super) fn parse_float(text: &[u8]) -> Option<f32> {
    let value = parse_double(text)?;
    if value.is_nan() {
        let sign = u32::from(value.is_sign_negative()) << 31;
        return Some(f32::from_bits(sign | f32::NAN.to_bits()));
    }
    Some(value as f32)
}

pub fn column_error(column: &str, text: &[u8], wanted: &str) -> Error {
    Error::input(format!("{column} is {}, not {wanted}", quoted_start(text)))
}

pub fn quoted_start(text: &[u8]) -> String {
    let cut = if text.len() > 40 { "..." } else { "" };
    format!("{:?}{cut}", String::from_utf8_lossy(&text[..text.len().min(40)]))
}

pub(super) fn append_fields(mut text: &[u8], out: &mut Vec<u8>) -> Result<()> {
    while !text.is_empty() {
        let end = memchr(b'\t', text).unwrap_or(text.len());
        let field = &text[..end];
        append_field(field, out).map_err(|what| {
            Error::input(format!("the optional field {}: {what}", quoted_start(field)))
        })?;
        text = text.get(end + 1..).unwrap_or_default();
    }
    Ok(())
}

fn append_field(field: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let &[a @ b'!'..=0x7f, b @ b'!'..=0x7f, b':', kind, b':', ref value @ ..] = field else {
        return Err("does not have the form TAG:TYPE:VALUE");
    };
    out.extend_from_slice(&[a, b]);
    match kind {
        b'Z' => append_text(kind, value, out),
        b'H' if value.len() % 2 != 0 => return Err("H needs an even number of digits"),
        b'H' => append_text(kind, value, out),
        b'i' | b'I' => append_integer(value, out)?,
        b'A' | b'a' | b'c' | b'C' => match value {
            &[letter @ 0x0a..=0x7f] => out.extend_from_slice(&[b'A', letter]),
            _ => return Err("A must be one character"),
        },
        b'f' => {
            let value = parse_float(value).ok_or("f needs a number")?;
            out.push(kind);
            out.extend_from_slice(&value.to_le_bytes());
        }
        b'd' => {
            let value = parse_double(value).ok_or("d needs a number")?;
            out.push(kind);
            out.extend_from_slice(&value.to_le_bytes());
        }
        b'B' => append_array(value, out)?,
        _ => return Err("the type is none of A, i, f, Z, H and B"),
    }
    Ok(())
}

fn append_text(kind: u8, value: &[u8], out: &mut Vec<u8>) {
    out.push(kind);
    out.extend_from_slice(value);
    out.push(0);
}

/// Appends an integer in the smallest type that holds it: a signed type if it has a minus sign,
/// otherwise an unsigned one.
fn append_integer(text: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let value = parse_integer(text).ok_or("i needs a whole number of 32 bits")?;
    let (kind, width) = match (value, text.starts_with(b"-")) {
        (-0x80.., true) => (b'c', 1),
        (-0x8000.., true) => (b's', 2),
        (-0x8000_0000.., true) => (b'i', 4),
        (..=0xff, false) => (b'C', 1),
        (..=0xffff, false) => (b'S', 2),
        (..=0xffff_ffff, false) => (b'I', 4),
        _ => return Err("i needs a whole number of 32 bits"),
    };
    out.push(kind);
    out.extend_from_slice(&value.to_le_bytes()[..width]);
    Ok(())
}

fn append_array(value: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let (&kind, list) = value.split_first().ok_or("B needs an element type")?;
    let elements = match list.split_first() {
        None => None,
        Some((b',', rest)) => Some(rest),
        Some(_) => return Err("B needs a comma after the element type"),
    };
    let elements = elements.into_iter().flat_map(|rest| rest.split(|&b| b == b','));
    let start = out.len();
    out.extend_from_slice(&[b'B', kind, 0, 0, 0, 0]);
    let mut count = 0u32;
    if kind == b'f' {
        for element in elements {
            let value = parse_float(element).ok_or("B:f needs numbers")?;
            out.extend_from_slice(&value.to_le_bytes());
            count += 1;
        }
    } else {
        let (mut min_value, mut max_value) = (0i64, 0i64);
        let (low, high, width) =
            element_range(kind).ok_or("the element type of B is none of c, C, s, S, i, I and f")?;
        for element in elements.clone() {
            let value = parse_integer(element).ok_or("B needs whole numbers of 32 bits")?;
            out.extend_from_slice(&value.to_le_bytes()[..width]);
            (min_value, max_value) = (min_value.min(value), max_value.max(value));
            count += 1;
        }
        if min_value < low || max_value > high {
            let kind = fitting_type(min_value, max_value).ok_or("B needs whole numbers of 32 bits")?;
            out.truncate(start);
            out.extend_from_slice(&[b'B', kind, 0, 0, 0, 0]);
            let width = element_range(kind).map_or(4, |(_, _, width)| width);
            for value in elements.filter_map(parse_integer) {
                out.extend_from_slice(&value.to_le_bytes()[..width]);
            }
        }
    }
    out[start + 2..start + 6].copy_from_slice(&count.to_le_bytes());
    Ok(())
}

fn element_range(kind: u8) -> Option<(i64, i64, usize)> {
    Some(match kind {
        b'c' => (-0x80, 0x7f, 1),
        b'C' => (0, 0xff, 1),
        b's' => (-0x8000, 0x7fff, 2),
        b'S' => (0, 0xffff, 2),
        b'i' => (-0x8000_0000, 0x7fff_ffff, 4),
        b'I' => (0, 0xffff_ffff, 4),
        _ => return None,
    })
}

/// Returns the element type that htslib uses if the declared type does not hold all values. (htslib
/// stores 255 in two bytes.)
fn fitting_type(min_value: i64, max_value: i64) -> Option<u8> {
    let fits = |kind: u8| {
        let (low, high, _) = element_range(kind)?;
        let high = if kind == b'C' { high - 1 } else { high };
        (min_value >= low && max_value <= high).then_some(kind)
    };
    let kinds = if min_value < 0 { b"csi" } else { b"CSI" };
    kinds.iter().find_map(|&kind| fits(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_whole_or_not_at_all() {
        for (text, value) in [("0", 0), ("-12", -12), ("+7", 7), ("007", 7), ("4294967295", 4294967295)]
        {
            assert_eq!(parse_integer(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", "-", "+-1", "1x", " 1", "1.0", "99999999999999999999999"] {
            assert_eq!(parse_integer(text.as_bytes()), None, "{text}");
        }
        for (text, value) in [("0", 0), ("0x10", 16), ("010", 8), ("65535", 65535), ("0XfF", 255)] {
            assert_eq!(parse_flag(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["", "0x", "08", "65536", "0x10000", "+1", "-0", "pP"] {
            assert_eq!(parse_flag(text.as_bytes()), None, "{text}");
        }
        for (text, bits) in
            [(" 1.5", 0x3fc00000), ("-nan", 0xffc00000), ("NaN", 0x7fc00000), ("1e99", 0x7f800000)]
        {
            assert_eq!(parse_float(text.as_bytes()).map(f32::to_bits), Some(bits), "{text}");
        }
        assert_eq!(parse_float(b"1e"), None);
        assert_eq!(parse_float(b"\xff"), None);
    }
}
