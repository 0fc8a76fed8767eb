//! Numbers as `printf` writes them with `%d` and `%g`.

use std::io::Write;

/// Appends `value` in decimal.
pub(super) fn push_integer(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    let mut rest = value.unsigned_abs();
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return out.extend_from_slice(&digits[at..]);
        }
    }
}

/// Appends a float with these bytes as `%g` does; `round` decides values exactly between two texts.
pub(super) fn push_float(bytes: [u8; 4], round: fn(f64) -> f64, out: &mut Vec<u8>) {
    let value = f64::from(f32::from_le_bytes(bytes));
    let size = value.abs();
    if !(1e-4..999_999.5).contains(&size) {
        return push_double(value, out);
    }
    let mut exponent = -4;
    let mut scale = 1e9;
    while size * scale >= 999_999.5 {
        scale /= 10.0;
        exponent += 1;
    }
    // Exact: 24 bits of the value times 10^9 = 2^9 * 5^9, whose odd part has 21.
    let scaled = round(size * scale) as u32;
    let mut digits = [0; 6];
    let mut rest = scaled;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if value < 0.0 {
        out.push(b'-');
    }
    push_general(&digits, exponent, out);
}

/// Appends `value` as `%g` does.
pub(super) fn push_double(value: f64, out: &mut Vec<u8>) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    let value = value.abs();
    if value.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if value == 0.0 || value.is_infinite() {
        return out.extend_from_slice(if value == 0.0 { b"0" } else { b"inf" });
    }
    let mut text = [0u8; 16];
    let mut cursor = std::io::Cursor::new(&mut text[..]);
    let written = write!(cursor, "{value:.5e}");
    debug_assert!(written.is_ok());
    let length = cursor.position() as usize;
    let exponent = std::str::from_utf8(&text[8..length]).ok().and_then(|e| e.parse().ok());
    let digits = [text[0], text[2], text[3], text[4], text[5], text[6]];
    push_general(&digits, exponent.unwrap_or(0), out);
}

/// Appends `digits[0].digits[1..]` times ten to the `exponent`, in the style `%g` chooses.
fn push_general(digits: &[u8; 6], exponent: i32, out: &mut Vec<u8>) {
    let significant = digits.iter().rposition(|&d| d != b'0').map_or(1, |last| last + 1);
    let whole = match exponent {
        0..=5 => exponent as usize + 1,
        -4..=-1 => 0,
        _ => 1,
    };
    if whole == 0 {
        out.extend_from_slice(&b"0.000"[..1 + exponent.unsigned_abs() as usize]);
        return out.extend_from_slice(&digits[..significant]);
    }
    out.extend_from_slice(&digits[..whole]);
    if significant > whole {
        out.push(b'.');
        out.extend_from_slice(&digits[whole..significant]);
    }
    if !(0..=5).contains(&exponent) {
        out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
        if exponent.abs() < 10 {
            out.push(b'0');
        }
        push_integer(i64::from(exponent.abs()), out);
    }
}
