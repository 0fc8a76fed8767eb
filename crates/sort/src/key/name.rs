//! Keys by read name.
//!
//! [`NameKeys`] orders records as `samtools sort -n` (natural) and `-N` (lexicographic) do
//! (`bam_sort.c` of samtools 1.24). Records with the same name are ordered by segment: neither
//! first nor last, first, last, both. Within a segment, the order is primary, supplementary,
//! secondary, both.
//!
//! [`put_queryname`] orders records as Picard SortSam with `SORT_ORDER=queryname` does
//! (`SAMRecordQueryNameComparator` of htsjdk). Names compare byte by byte. Records with the same
//! name are ordered by these rules:
//!
//! 1. paired before unpaired,
//! 2. for paired reads, read 1 before read 2,
//! 3. forward strand before reverse strand,
//! 4. not secondary before secondary,
//! 5. not supplementary before supplementary,
//! 6. without an `HI` field before with one, then by the value of `HI`.
//!
//! So a forward supplementary record precedes the reverse primary record of the same read.
//!
//! htsjdk does not order three cases consistently. Here, paired records that are neither read 1 nor
//! read 2 precede read 1, records that are both are between read 1 and read 2, and an `HI` that is
//! not an integer counts as missing.

use std::sync::OnceLock;

use readmill_record::view::FIXED_BYTES;
use readmill_record::{Flags, RecordRef};

use super::bits::Bits;
use super::symbols::Anchor;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameStyle {
    Natural,
    Lexicographic,
}

pub struct NameKeys {
    style: NameStyle,
    anchor: OnceLock<Anchor>,
}

impl NameKeys {
    pub fn new(style: NameStyle) -> Self {
        NameKeys { style, anchor: OnceLock::new() }
    }

    pub fn set_anchor(&self, name: &[u8]) {
        self.anchor.get_or_init(|| match self.style {
            NameStyle::Natural => Anchor::new::<true>(name),
            NameStyle::Lexicographic => Anchor::new::<false>(name),
        });
    }

    pub fn put_name(&self, record: RecordRef<'_>, key: &mut impl Bits) {
        let name = &record.raw()[FIXED_BYTES..]; // the name, its NUL and everything after it
        let anchor = self.anchor.get_or_init(Anchor::empty);
        match self.style {
            NameStyle::Natural => anchor.put_name::<true>(name, key),
            NameStyle::Lexicographic => anchor.put_name::<false>(name, key),
        }
    }

    /// Writes the name of `record` to `key`, then four bits that order records with the same name
    /// as samtools does.
    pub fn put_read(&self, record: RecordRef<'_>, key: &mut impl Bits) {
        self.put_name(record, key);
        let Flags(flags) = record.flags();
        let segment = flags & (Flags::FIRST | Flags::LAST);
        let secondary = (flags & Flags::SECONDARY) >> 3;
        let supplementary = (flags & Flags::SUPPLEMENTARY) >> 7;
        key.put_bits(u64::from((segment | secondary | supplementary) >> 4), 4);
    }
}

pub fn put_queryname(names: &NameKeys, record: RecordRef<'_>, key: &mut impl Bits) {
    names.put_name(record, key);
    let flags = record.flags();
    let segment = match (flags.is_paired(), flags.0 & (Flags::FIRST | Flags::LAST)) {
        (false, _) => 4,
        (true, Flags::FIRST) => 1,
        (true, Flags::LAST) => 3,
        (true, 0) => 0,
        (true, _) => 2,
    };
    key.put_bits(segment, 3);
    key.put_bits(u64::from(flags.is_reverse()), 1);
    key.put_bits(u64::from(flags.is_secondary()), 1);
    key.put_bits(u64::from(flags.is_supplementary()), 1);
    // If a tag occurs twice, htsjdk keeps the last field.
    let hit = record.fields().filter(|field| field.tag == *b"HI").last();
    match hit.and_then(|field| field.integer()) {
        None => key.put_bits(0, 1),
        Some(hit) => {
            key.put_bits(1, 1);
            key.put_bits((hit + (1 << 31)).cast_unsigned(), 33);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::super::bits::KeyHead;
    use super::super::testing::TestRead;
    use super::super::{Key, Keyer, Order};
    use super::*;

    fn key(style: NameStyle, anchor: &[u8], qname: &[u8], flags: u16) -> Key {
        let (names, mut head) = (NameKeys::new(style), KeyHead::default());
        names.set_anchor(anchor);
        names.put_read(
            RecordRef::new(&TestRead { qname, flags, ..TestRead::default() }.raw()),
            &mut head,
        );
        head.key()
    }

    #[test]
    fn natural_names_compare_as_stated() {
        use Ordering::{Equal, Greater, Less};
        for (a, b, expected) in [
            ("", "a", Less),
            ("a", "", Greater),
            ("x1", "x01", Equal),
            ("x0", "x000", Equal),
            ("x0", "x", Greater),
            ("x0", "x!", Greater),
            ("x0", "x:", Less),
            ("x9", "x10", Less),
            ("x09", "x10", Less),
            ("x010", "x9", Greater),
            ("x1a", "x01b", Less),
            ("x1", "x1a", Less),
            ("x9999999999", "x10000000000", Less), // ten digits, eleven
            ("x12345678901", "x12345678902", Less),
            ("x00012345678901", "x12345678901", Equal),
            ("x1.2", "x1:2", Less),
            ("x:9", "xA", Less),
            ("x\u{7f}", "x\u{80}", Less),
            ("1a2", "1a02", Equal),
            ("007", "7", Equal),
            ("0", "00x", Less),
        ] {
            for anchor in ["", "x1", "x1:2:3", "x00012345678901"] {
                let key = |name: &str| key(NameStyle::Natural, anchor.as_bytes(), name.as_bytes(), 0);
                assert_eq!(key(a).cmp(&key(b)), expected, "{a:?} and {b:?} from {anchor:?}");
            }
        }
    }

    #[test]
    fn lexicographic_names_compare_by_bytes() {
        let names: [&[u8]; 9] = [b"", b"\x01", b"/", b"01", b"1", b"1:", b":", b"A", b"\xff"];
        for anchor in names {
            let keys = names.map(|name| key(NameStyle::Lexicographic, anchor, name, 0));
            assert!(keys.is_sorted_by(|a, b| a < b), "{anchor:?}");
        }
    }

    #[test]
    fn segments_compare_as_stated() {
        let in_order: Vec<u16> = [0, 0x40, 0x80, 0xc0]
            .iter()
            .flat_map(|segment| [0, 0x800, 0x100, 0x900].map(|line| segment | line))
            .collect();
        for style in [NameStyle::Natural, NameStyle::Lexicographic] {
            let keys: Vec<Key> = in_order.iter().map(|&flags| key(style, b"", b"r", flags)).collect();
            assert!(keys.is_sorted_by(|a, b| a < b));
            assert_eq!(key(style, b"", b"r", 0xf63f & !0xd00), keys[0], "no other flag counts");
        }
    }

    #[test]
    fn a_nul_ends_a_name() {
        for style in [NameStyle::Natural, NameStyle::Lexicographic] {
            assert_eq!(key(style, b"a1", b"a1\x00b", 0), key(style, b"a1", b"a1", 0));
            assert_eq!(key(style, b"a1\x00b", b"a1\x00b", 0), key(style, b"a1\x00b", b"a1", 0));
        }
    }

    #[test]
    fn an_illumina_name_is_decided() {
        let anchor = b"A00738:15:HMFC3DMXX:1:1101:1054:1000";
        let name = b"A00738:15:HMFC3DMXX:2:2678:32325:37059";
        for style in [NameStyle::Natural, NameStyle::Lexicographic] {
            assert!(key(style, anchor, name, 0x93).is_decided());
            assert!(!key(style, b"", name, 0x93).is_decided());
        }
    }

    fn queryname_key(qname: &[u8], flags: u16, fields: &[u8]) -> Key {
        let (names, mut head) = (NameKeys::new(NameStyle::Lexicographic), KeyHead::default());
        put_queryname(
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
        let keys: Vec<Key> =
            in_order.iter().map(|&(flags, fields)| queryname_key(b"q", flags, fields)).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:x?}");
        assert_eq!(queryname_key(b"q", 0x1, b"HIZ7\0"), keys[0]);
        assert!(queryname_key(b"q0", 0x1, none) > keys[12]);
    }

    #[test]
    fn names_compare_by_bytes() {
        let keyer = Keyer::new(Order::Queryname, &readmill_record::Header::default());
        let key = |qname| keyer.key(RecordRef::new(&TestRead { qname, ..TestRead::default() }.raw()));
        assert!(key(b"x10").unwrap() < key(b"x9").unwrap());
    }
}
