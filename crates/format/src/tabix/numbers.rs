//! Parses numbers in text columns.

/// The largest position that an index can hold: positions have 31 bits.
pub(super) const MAX_POSITION: i64 = i32::MAX as i64;

/// Parses the number at the start of a field. Returns `None` if it is beyond [`MAX_POSITION`].
pub(super) fn parse_number(text: &[u8]) -> Option<i64> {
    parse_saturated(text).filter(|number| number.abs() <= MAX_POSITION)
}

/// Parses the number at the start of a string. A number beyond [`MAX_POSITION`] becomes
/// `MAX_POSITION + 1`.
pub(super) fn parse_saturated(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii_start();
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    digits.first().filter(|byte| byte.is_ascii_digit())?;
    let digits = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let value =
        digits.fold(0, |value: i64, digit| (10 * value + i64::from(digit - b'0')).min(MAX_POSITION + 1));
    Some(if text.starts_with(b"-") { -value } else { value })
}
