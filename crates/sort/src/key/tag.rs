//! Keys by the value of an optional field, as `samtools sort -t` orders reads (`bam_sort.c` of
//! samtools 1.24).
//!
//! Records without the field are first. The others are ordered by type: `A`, compared by character;
//! arrays, which are all equal; `Z` and `H`, compared by text; and numbers of every type, compared
//! by value. Records with equal values are ordered by position or by name.
//!
//! samtools does not order NaN, which is neither equal to nor less than any number. Here, all NaN
//! are equal and last.

use readmill_record::tag::{Field, Tag};
use readmill_record::{Header, RecordRef};

use super::bits::Bits;
use super::coordinate::Coordinate;
use super::name::{NameKeys, NameStyle};
use super::order::Within;

pub struct ByTag {
    tag: Tag,
    within: TieBreak,
}

enum TieBreak {
    Coordinate(Coordinate),
    Name(NameKeys),
}

impl ByTag {
    pub fn new(tag: Tag, within: Within, header: &Header) -> Self {
        let within = match within {
            Within::Coordinate => TieBreak::Coordinate(Coordinate::new(header)),
            Within::Natural => TieBreak::Name(NameKeys::new(NameStyle::Natural)),
            Within::Lexicographic => TieBreak::Name(NameKeys::new(NameStyle::Lexicographic)),
        };
        ByTag { tag, within }
    }

    pub fn names(&self) -> Option<&NameKeys> {
        match &self.within {
            TieBreak::Name(names) => Some(names),
            TieBreak::Coordinate(_) => None,
        }
    }

    pub fn put_key(&self, record: RecordRef<'_>, key: &mut impl Bits) {
        put_field(record.field(self.tag), key);
        match &self.within {
            TieBreak::Coordinate(coordinate) => coordinate.put_position(record, key),
            TieBreak::Name(names) => names.put_read(record, key),
        }
    }
}

/// Writes the type and value of a field. The first three bits are the rank of the type, or 0 if the
/// record lacks the field.
fn put_field(field: Option<Field<'_>>, key: &mut impl Bits) {
    let Some(field) = field else { return key.put_bits(0, 3) };
    match field.kind {
        b'A' => key.put_bits(1 << 8 | u64::from(field.value[0]), 3 + 8),
        b'B' => key.put_bits(2, 3),
        b'Z' | b'H' => {
            key.put_bits(3, 3);
            key.put_text(field.value);
        }
        _ => {
            key.put_bits(4, 3);
            put_number(read_number(field).unwrap_or(f64::NAN), key);
        }
    }
}

/// Writes a number as bits that compare as the numbers do. The lower 40 bits of the floating-point
/// number are written only if they are neither all 0 (integers from 0 to 8192) nor all 1 (integers
/// from -8192 to -1).
fn put_number(value: f64, key: &mut impl Bits) {
    let bits = (value + 0.0).to_bits(); // -0 is 0
    let place = match value {
        _ if value.is_nan() => u64::MAX,
        _ if value < 0.0 => !bits,
        _ => bits | 1 << 63,
    };
    const LOWER: u32 = 40;
    const ONES: u64 = (1 << LOWER) - 1;
    key.put_bits(place >> LOWER, u64::BITS - LOWER);
    match place & ONES {
        0 => key.put_bits(0, 2),
        ONES => key.put_bits(2, 2),
        lower => key.put_bits(1 << LOWER | lower, 2 + LOWER),
    }
}

fn read_number(field: Field<'_>) -> Option<f64> {
    match (field.kind, field.value) {
        (b'f', &[a, b, c, d]) => Some(f64::from(f32::from_le_bytes([a, b, c, d]))),
        (b'd', value) => value.first_chunk().map(|bytes| f64::from_le_bytes(*bytes)),
        _ => field.integer().map(|value| value as f64), // 32 bits: exact
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestRead, header};
    use super::super::{Key, Keyer, Order};
    use super::*;

    fn key(within: Within, read: &TestRead<'_>) -> Key {
        let keyer = Keyer::new(Order::Tag { tag: *b"XX", within }, &header(3));
        keyer.key(RecordRef::new(&read.raw())).unwrap()
    }

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
            assert_eq!(read_number(Field { tag: *b"XX", kind, value }), Some(expected), "{kind}");
        }
        assert_eq!(read_number(Field { tag: *b"XX", kind: b'Z', value: b"1" }), None);
    }

    #[test]
    fn fields_are_ordered_as_stated() {
        let in_order: [&[u8]; 25] = [
            b"XYc\x01",
            b"XXAA",
            b"XXAa",
            b"XXBc\x01\0\0\0\x05",
            b"XXZ\0",
            b"XXH1A\0",
            b"XXZ1a\0",
            b"XXZ1a \0",
            b"XXZ1ab\0",
            b"XXf\x00\x00\x80\xff",                 // -inf
            b"XXi\x00\x00\x00\x80",                 // -2^31
            b"XXi\x01\x00\x00\x80",                 // -2^31 + 1
            b"XXd\x01\x00\x00\x00\x00\x00\xf0\xbf", // next number below -1
            b"XXd\x00\x00\x00\x00\x00\x00\xf0\xbf", // -1
            b"XXf\x00\x00\x00\xbf",                 // -0.5
            b"XXC\x00",
            b"XXf\x00\x00\x80\x3e", // 0.25
            b"XXs\x01\x00",
            b"XXd\x01\x00\x00\x00\x00\x00\xf0\x3f", // next number above 1
            b"XXd\xff\xff\xff\xff\xff\x00\xf0\x3f", // lower 40 bits all 1
            b"XXs\x02\x00",
            b"XXI\xfe\xff\xff\xff",
            b"XXI\xff\xff\xff\xff",
            b"XXf\x00\x00\x80\x7f", // inf
            b"XXf\x00\x00\xc0\x7f", // NaN
        ];
        let reads = in_order.map(|fields| TestRead { fields, ..TestRead::default() });
        for within in [Within::Coordinate, Within::Natural, Within::Lexicographic] {
            let keys: Vec<Key> = reads.iter().map(|read| key(within, read)).collect();
            assert!(keys.is_sorted_by(|a, b| a < b), "{keys:x?}");
        }
    }

    #[test]
    fn equal_fields_are_ordered_by_what_is_within() {
        let equal: [&[&[u8]]; 5] = [
            &[b"", b"XYZa\0"],
            &[b"XXZ1\0", b"XXH1\0", b"XXZ1\0XXZ0\0"],
            &[b"XXc\x02", b"XXI\x02\0\0\0", b"XXf\0\0\0\x40"],
            &[b"XXc\0", b"XXf\0\0\0\x80"], // -0
            &[b"XXBc\0\0\0\0", b"XXBS\x01\0\0\0\x07\0"],
        ];
        for fields in equal {
            for (&a, &b) in fields.iter().zip(fields.iter().cycle().skip(1)) {
                let early = TestRead { fields: a, pos: 4, qname: b"x9", ..TestRead::default() };
                let late =
                    TestRead { fields: b, ref_id: -1, pos: 3, qname: b"x10", ..TestRead::default() };
                assert!(key(Within::Coordinate, &early) < key(Within::Coordinate, &late));
                assert!(key(Within::Natural, &early) < key(Within::Natural, &late));
                assert!(key(Within::Lexicographic, &early) > key(Within::Lexicographic, &late));
            }
        }
    }

    #[test]
    fn a_number_and_a_position_are_decided() {
        let keyer = Keyer::new(Order::parse("tag:XX").unwrap(), &header(200));
        let raw =
            TestRead { fields: b"XXC\x09", ref_id: 199, pos: i32::MAX, ..TestRead::default() }.raw();
        assert!(keyer.key(RecordRef::new(&raw)).unwrap().is_decided());
    }
}
