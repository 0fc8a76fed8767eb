//! Values of optional fields.

use readmill_record::tag::Field;

/// The value of an integer of any width.
pub fn integer(field: Field<'_>) -> Option<i64> {
    Some(match (field.kind, field.value) {
        (b'c', &[a]) => i64::from(a.cast_signed()),
        (b'C', &[a]) => i64::from(a),
        (b's', &[a, b]) => i64::from(i16::from_le_bytes([a, b])),
        (b'S', &[a, b]) => i64::from(u16::from_le_bytes([a, b])),
        (b'i', &[a, b, c, d]) => i64::from(i32::from_le_bytes([a, b, c, d])),
        (b'I', &[a, b, c, d]) => i64::from(u32::from_le_bytes([a, b, c, d])),
        _ => return None,
    })
}

/// The value of a number of any type.
pub fn number(field: Field<'_>) -> Option<f64> {
    match (field.kind, field.value) {
        (b'f', &[a, b, c, d]) => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
        (b'd', value) => value.first_chunk().map(|bytes| f64::from_le_bytes(*bytes)),
        _ => integer(field).map(|value| value as f64), // 32 bits: exact
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_type_are_read() {
        let cases: [(u8, &[u8], f64); 8] = [
            (b'c', b"\xff", -1.0),
            (b'C', b"\xff", 255.0),
            (b's', b"\x00\x80", -32768.0),
            (b'S', b"\x00\x80", 32768.0),
            (b'i', b"\xff\xff\xff\xff", -1.0),
            (b'I', b"\xff\xff\xff\xff", 4294967295.0),
            (b'f', b"\x00\x00\x80\x3e", 0.25),
            (b'd', b"\x00\x00\x00\x00\x00\x00\xd0\xbf", -0.25),
        ];
        for (kind, value, expected) in cases {
            assert_eq!(number(Field { tag: *b"XX", kind, value }), Some(expected), "{kind}");
        }
        assert_eq!(number(Field { tag: *b"XX", kind: b'Z', value: b"1" }), None);
    }
}
