//! Sort keys: byte strings that compare as the records do in the sort order. Records with equal
//! keys keep their input order.
//!
//! A *full key* is a bit string, padded with zeros to whole bytes. Within an order, no full key is
//! a prefix of another, so comparing the bytes compares the records. The first 15 bytes are stored
//! in the record's entry as its [`Key`]. The remaining bytes, the *tail*, are computed from the
//! record each time they are needed, because the first bytes decide most comparisons.
//!
//! | order | module |
//! |---|---|
//! | names of orders, header fields | `order` |
//! | coordinate; smallest k-mer of unplaced reads | `coordinate` |
//! | names: natural, lexicographic, Picard's queryname | `name`, with `symbols` |
//! | an optional field | `tag` |
//! | template-coordinate | `template`, with `ends` |
//!
//! All orders write their keys through the writer in `bits`.

mod bits;
mod coordinate;
mod ends;
mod name;
mod order;
mod symbols;
mod tag;
mod template;

use readmill_record::tag::Tag;
use readmill_record::{Header, RecordRef, Result};

use bits::{Bits, KeyHead, KeyTail};
use coordinate::{Coordinate, Minimisers};
use name::{NameKeys, NameStyle};
use tag::ByTag;
use template::TemplateKeys;

pub use bits::Key;
pub use coordinate::Minimise;
pub use order::{HeaderOrder, Order, Within};

/// Computes the sort keys of records in one order. It is created once per run of the program and
/// shared by all threads.
///
/// ```
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Header, RecordRef};
/// use readmill_sort::{Keyer, Order};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let (mut early, mut late) = (Vec::new(), Vec::new());
/// let mut sam = LineParser::new(&header);
/// sam.parse(b"r1\t0\tchr1\t7\t60\t4M\t*\t0\t0\tACGT\tIIII", &mut early)?;
/// sam.parse(b"r2\t0\tchr1\t9\t60\t4M\t*\t0\t0\tACGT\tIIII", &mut late)?;
///
/// let keyer = Keyer::new(Order::Coordinate, &header);
/// let (early, late) = (RecordRef::new(&early), RecordRef::new(&late));
/// assert!(keyer.key(early)? < keyer.key(late)?);
/// assert!(keyer.key(early)?.is_decided()); // 8 bytes hold a whole position
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct Keyer {
    order: Order,
    encoder: KeyEncoder,
}

/// The encoder of each order. Orders by name share [`NameKeys`] with different styles.
enum KeyEncoder {
    Input,
    Coordinate(Coordinate),
    Name(NameKeys),
    Queryname(NameKeys),
    Tag(ByTag),
    Templates(TemplateKeys),
    Minimisers(Minimisers),
}

impl Keyer {
    /// Creates a keyer for `order`. The reference sequences and read groups of `header`, the output
    /// header, decide how keys are encoded.
    pub fn new(order: Order, header: &Header) -> Self {
        let encoder = match order {
            Order::Input => KeyEncoder::Input,
            Order::Coordinate => KeyEncoder::Coordinate(Coordinate::new(header)),
            Order::Natural => KeyEncoder::Name(NameKeys::new(NameStyle::Natural)),
            Order::Lexicographic => KeyEncoder::Name(NameKeys::new(NameStyle::Lexicographic)),
            Order::Queryname => KeyEncoder::Queryname(NameKeys::new(NameStyle::Lexicographic)),
            Order::Tag { tag, within } => KeyEncoder::Tag(ByTag::new(tag, within, header)),
            Order::TemplateCoordinate => KeyEncoder::Templates(TemplateKeys::new(header)),
            Order::Minhash => KeyEncoder::Minimisers(Minimisers::new(header)),
        };
        Keyer { order, encoder }
    }

    pub fn order(&self) -> Order {
        self.order
    }

    pub fn field(&self) -> Option<Tag> {
        match self.order {
            Order::Tag { tag, .. } => Some(tag),
            _ => None,
        }
    }

    /// Sets the anchor: a read name relative to which other names are encoded, so that a name with
    /// the same prefix fits into [`Key`] (see `symbols`). The anchor does not affect the order.
    /// Callers pass the first name of the input. A second call has no effect, and neither has a
    /// call after the first key was computed.
    pub fn set_anchor(&self, qname: &[u8]) {
        let names = match &self.encoder {
            KeyEncoder::Name(names) | KeyEncoder::Queryname(names) => Some(names),
            KeyEncoder::Tag(by_tag) => by_tag.names(),
            KeyEncoder::Templates(templates) => Some(templates.names()),
            KeyEncoder::Input | KeyEncoder::Coordinate(_) | KeyEncoder::Minimisers(_) => None,
        };
        if let Some(names) = names {
            names.set_anchor(qname);
        }
    }

    /// Returns the first 15 bytes of the record's full key.
    ///
    /// # Errors
    ///
    /// The record cannot be sorted in template-coordinate order: its mate is mapped and it has no
    /// `MC` field, or `MC`, `CB` or `MI` is not text.
    pub fn key(&self, record: RecordRef<'_>) -> Result<Key> {
        if let KeyEncoder::Coordinate(coordinate) = &self.encoder {
            return Ok(Key([coordinate.sort_number(record), 0]));
        }
        let mut head = KeyHead::default();
        self.put_key(record, &mut head)?;
        Ok(head.key())
    }

    /// Replaces the content of `into` with the tail of the record's full key, the bytes after the
    /// first 15. The tail is empty if the full key is not longer, or if the record has no key.
    pub fn write_tail(&self, record: RecordRef<'_>, into: &mut Vec<u8>) {
        let mut rest = KeyTail::new(into);
        if self.put_key(record, &mut rest).is_err() {
            rest.clear();
        }
        rest.finish_tail();
    }

    fn put_key(&self, record: RecordRef<'_>, key: &mut impl Bits) -> Result<()> {
        match &self.encoder {
            KeyEncoder::Input => {}
            KeyEncoder::Coordinate(coordinate) => coordinate.put_position(record, key),
            KeyEncoder::Name(names) => names.put_read(record, key),
            KeyEncoder::Queryname(names) => name::put_queryname(names, record, key),
            KeyEncoder::Tag(by_tag) => by_tag.put_key(record, key),
            KeyEncoder::Templates(templates) => templates.put_key(record, key)?,
            KeyEncoder::Minimisers(minimisers) => minimisers.put_key(record, key),
        }
        Ok(())
    }
}

#[cfg(test)]
mod testing {
    use readmill_record::{Header, edit};

    /// A record from which tests build BAM bytes. By default, it is mapped to the first reference
    /// sequence.
    pub struct TestRead<'a> {
        pub qname: &'a [u8],
        pub flags: u16,
        pub ref_id: i32,
        pub pos: i32,
        pub cigar: &'a [(u32, u32)],
        pub next_ref_id: i32,
        pub next_pos: i32,
        pub fields: &'a [u8],
    }

    impl Default for TestRead<'_> {
        fn default() -> Self {
            TestRead {
                qname: b"r",
                flags: 0,
                ref_id: 0,
                pos: 0,
                cigar: &[],
                next_ref_id: -1,
                next_pos: -1,
                fields: b"",
            }
        }
    }

    impl<'a> TestRead<'a> {
        pub fn with_flags(self, flags: u16) -> Self {
            TestRead { flags, ..self }
        }

        pub fn with_qname(self, qname: &'a [u8]) -> Self {
            TestRead { qname, ..self }
        }

        /// Encodes the record as BAM, without bases.
        pub fn raw(&self) -> Vec<u8> {
            let mut raw = vec![0; 36];
            raw[4..8].copy_from_slice(&self.ref_id.to_le_bytes());
            raw[8..12].copy_from_slice(&self.pos.to_le_bytes());
            raw[12] = self.qname.len() as u8 + 1;
            raw[16..18].copy_from_slice(&(self.cigar.len() as u16).to_le_bytes());
            raw[18..20].copy_from_slice(&self.flags.to_le_bytes());
            raw[24..28].copy_from_slice(&self.next_ref_id.to_le_bytes());
            raw[28..32].copy_from_slice(&self.next_pos.to_le_bytes());
            raw.extend_from_slice(self.qname);
            raw.push(0);
            for (op, length) in self.cigar {
                raw.extend_from_slice(&(length << 4 | op).to_le_bytes());
            }
            raw.extend_from_slice(self.fields);
            edit::set_block_size(&mut raw, 0);
            raw
        }
    }

    /// Returns a header with `n_ref` reference sequences of 1,000 bases each.
    pub fn header(n_ref: usize) -> Header {
        let text: String = (0..n_ref).map(|i| format!("@SQ\tSN:c{i}\tLN:1000\n")).collect();
        Header::parse(text.as_bytes()).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{TestRead, header};
    use super::*;

    fn key(keyer: &Keyer, qname: &[u8]) -> Key {
        keyer.key(RecordRef::new(&TestRead { qname, ..TestRead::default() }.raw())).unwrap()
    }

    #[test]
    fn an_anchor_counts_once_and_before_the_first_key() {
        let new = || Keyer::new(Order::Natural, &header(1));
        let (early, late, twice) = (new(), new(), new());
        early.set_anchor(b"x:1");
        let before = key(&late, b"x:2");
        late.set_anchor(b"x:1");
        twice.set_anchor(b"x:1");
        twice.set_anchor(b"y");
        assert_eq!(key(&late, b"x:2"), before);
        assert_ne!(key(&early, b"x:2"), before);
        assert_eq!(key(&early, b"x:2"), key(&twice, b"x:2"));
    }

    #[test]
    fn no_key_comes_after_the_last() {
        for order in
            ["none", "coordinate", "natural", "lexicographic", "queryname", "template-coordinate"]
        {
            let keyer = Keyer::new(Order::parse(order).unwrap(), &header(1));
            keyer.set_anchor(b"!");
            assert!(key(&keyer, &[0xff; 254]) < Key::LAST, "{order}");
        }
    }
}
