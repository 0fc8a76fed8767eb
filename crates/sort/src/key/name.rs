//! By name, as `samtools sort -n` (natural) and `-N` (lexicographic); read in 1.24, `bam_sort.c`.
//!
//! Within a name: neither first nor last segment, first, last, both; and within each of these: primary,
//! supplementary, secondary, both.

use std::sync::OnceLock;

use readmill_record::view::FIXED;
use readmill_record::{Flags, RecordRef};

use super::anchor::Anchor;
use super::bits::Bits;

/// How names compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Numbers within names by their value.
    Natural,
    /// Byte by byte.
    Lexicographic,
}

/// Writes names into keys.
pub struct NameKeys {
    style: Style,
    anchor: OnceLock<Anchor>,
}

impl NameKeys {
    /// Creates the encoder for names that compare in `style`.
    pub fn new(style: Style) -> Self {
        NameKeys { style, anchor: OnceLock::new() }
    }

    /// Sets the anchor, unless there is one or a key was made.
    pub fn set_anchor(&self, name: &[u8]) {
        self.anchor.get_or_init(|| match self.style {
            Style::Natural => Anchor::new::<true>(name),
            Style::Lexicographic => Anchor::new::<false>(name),
        });
    }

    /// Appends the name of `record`.
    pub fn put(&self, record: RecordRef<'_>, key: &mut impl Bits) {
        let name = &record.raw()[FIXED..]; // and everything after its NUL
        let anchor = self.anchor.get_or_init(Anchor::none);
        match self.style {
            Style::Natural => anchor.put::<true>(name, key),
            Style::Lexicographic => anchor.put::<false>(name, key),
        }
    }

    /// Appends name and segment.
    pub fn put_read(&self, record: RecordRef<'_>, key: &mut impl Bits) {
        self.put(record, key);
        let Flags(flags) = record.flags();
        let segment = flags & (Flags::FIRST | Flags::LAST);
        let secondary = (flags & Flags::SECONDARY) >> 3;
        let supplementary = (flags & Flags::SUPPLEMENTARY) >> 7;
        key.put(u64::from((segment | secondary | supplementary) >> 4), 4);
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::super::testing::TestRead;
    use super::super::{Key, bits::KeyHead};
    use super::*;

    fn key(style: Style, anchor: &[u8], qname: &[u8], flags: u16) -> Key {
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
                let key = |name: &str| key(Style::Natural, anchor.as_bytes(), name.as_bytes(), 0);
                assert_eq!(key(a).cmp(&key(b)), expected, "{a:?} and {b:?} from {anchor:?}");
            }
        }
    }

    #[test]
    fn lexicographic_names_compare_by_bytes() {
        let names: [&[u8]; 9] = [b"", b"\x01", b"/", b"01", b"1", b"1:", b":", b"A", b"\xff"];
        for anchor in names {
            let keys = names.map(|name| key(Style::Lexicographic, anchor, name, 0));
            assert!(keys.is_sorted_by(|a, b| a < b), "{anchor:?}");
        }
    }

    #[test]
    fn segments_compare_as_stated() {
        let in_order: Vec<u16> = [0, 0x40, 0x80, 0xc0]
            .iter()
            .flat_map(|segment| [0, 0x800, 0x100, 0x900].map(|line| segment | line))
            .collect();
        for style in [Style::Natural, Style::Lexicographic] {
            let keys: Vec<Key> = in_order.iter().map(|&flags| key(style, b"", b"r", flags)).collect();
            assert!(keys.is_sorted_by(|a, b| a < b));
            assert_eq!(key(style, b"", b"r", 0xf63f & !0xd00), keys[0], "no other flag counts");
        }
    }

    #[test]
    fn a_nul_ends_a_name() {
        for style in [Style::Natural, Style::Lexicographic] {
            assert_eq!(key(style, b"a1", b"a1\x00b", 0), key(style, b"a1", b"a1", 0));
            assert_eq!(key(style, b"a1\x00b", b"a1\x00b", 0), key(style, b"a1\x00b", b"a1", 0));
        }
    }

    #[test]
    fn an_illumina_name_is_decided() {
        let anchor = b"A00738:15:HMFC3DMXX:1:1101:1054:1000";
        let name = b"A00738:15:HMFC3DMXX:2:2678:32325:37059";
        for style in [Style::Natural, Style::Lexicographic] {
            assert!(key(style, anchor, name, 0x93).is_decided());
            assert!(!key(style, b"", name, 0x93).is_decided());
        }
    }
}
