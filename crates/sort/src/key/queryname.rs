//! By name, as Picard SortSam with `SORT_ORDER=queryname`; read in htsjdk, `SAMRecordQueryNameComparator`.
//!
//! Names byte by byte; then paired before unpaired; first before last segment; forward before reverse;
//! not secondary before secondary; not supplementary before supplementary; without `HI` before with it,
//! and then its value. So a forward supplementary comes before the reverse primary of the same segment.
//!
//! htsjdk leaves three cases without a consistent order; here: paired records that are neither first nor last
//! come before first, those that are both between first and last, and an `HI` that is not an integer counts
//! as missing.

use readmill_record::{Flags, RecordRef};

use super::bits::Bits;
use super::name::NameKeys;
use super::value;

/// Appends the key of `record`.
pub fn put(names: &NameKeys, record: RecordRef<'_>, key: &mut impl Bits) {
    names.put(record, key);
    let flags = record.flags();
    let segment = match (flags.is_paired(), flags.0 & (Flags::FIRST | Flags::LAST)) {
        (false, _) => 4,
        (true, Flags::FIRST) => 1,
        (true, Flags::LAST) => 3,
        (true, 0) => 0,
        (true, _) => 2,
    };
    key.put(segment, 3);
    key.put(u64::from(flags.is_reverse()), 1);
    key.put(u64::from(flags.is_secondary()), 1);
    key.put(u64::from(flags.is_supplementary()), 1);
    // Where a record has a field twice, htsjdk keeps the last.
    let hit = record.fields().filter(|field| field.tag == *b"HI").last();
    match hit.and_then(value::integer) {
        None => key.put(0, 1),
        Some(hit) => {
            key.put(1, 1);
            key.put((hit + (1 << 31)).cast_unsigned(), 33);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::KeyHead;
    use super::super::name::Style;
    use super::super::testing::TestRead;
    use super::super::{Key, Keyer, Order};
    use super::*;

    fn key(qname: &[u8], flags: u16, fields: &[u8]) -> Key {
        let (names, mut head) = (NameKeys::new(Style::Lexicographic), KeyHead::default());
        put(
            &names,
            RecordRef::new(&TestRead { qname, flags, fields, ..TestRead::default() }.raw()),
            &mut head,
        );
        head.key()
    }

    #[test]
    fn reads_of_one_name_are_ordered_as_stated() {
        let none = &b""[..];
        let in_order: &[(u16, &[u8])] = &[
            (0x1, none),
            (0x41, none),
            (0x841, none),
            (0x141, none),
            (0x51, none), // the reverse primary comes after the forward supplementary
            (0x51, b"HIc\xff"),
            (0x51, b"HIC\x00"),
            (0x51, b"HII\xff\xff\xff\xff"),
            (0xc1, none),
            (0x81, none),
            (0x0, none),
            (0x40, b"HIC\x05"), // unpaired: first and last mean nothing
            (0x80, b"HIC\x05HIC\x06"),
        ];
        let keys: Vec<Key> = in_order.iter().map(|&(flags, fields)| key(b"q", flags, fields)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:x?}");
        assert_eq!(key(b"q", 0x1, b"HIZ7\0"), keys[0]);
        assert!(key(b"q0", 0x1, none) > keys[12]);
    }

    #[test]
    fn names_compare_by_bytes() {
        let keyer = Keyer::new(Order::Queryname, &readmill_record::Header::default());
        let key = |qname| keyer.key(RecordRef::new(&TestRead { qname, ..TestRead::default() }.raw()));
        assert!(key(b"x10").unwrap() < key(b"x9").unwrap());
    }
}
