//! Sort keys: bytes of which the smaller sort first. Equal keys keep input order.
//!
//! A *full key* is a string of bits, padded with zeros to whole bytes. No full key of an order is a prefix of
//! another, so comparing bytes is comparing keys. Each record's entry has a [`Key`], the first 15 bytes; the
//! tail is computed again from the record where it is needed (`bits`).
//!
//! | order | file |
//! |---|---|
//! | their names and header fields | `order` |
//! | coordinate | `coordinate` |
//! | natural, lexicographic | `name`, of `symbols`, shortened by `anchor` |
//! | Picard's queryname | `queryname` |
//! | an optional field | `tag` |
//! | smallest k-mer | `minimiser` |
//! | template-coordinate | `template`, of `ends` |

mod anchor;
mod bits;
mod coordinate;
mod ends;
mod minimiser;
mod name;
mod order;
mod queryname;
mod symbols;
mod tag;
mod template;
#[cfg(test)]
mod testing;
mod value;

use readmill_record::tag::Tag;
use readmill_record::{Header, RecordRef, Result};

use bits::{Bits, KeyHead, KeyTail};
use coordinate::Coordinate;
use minimiser::Minimisers;
use name::{NameKeys, Style};
use tag::ByTag;
use template::Templates;

pub use bits::Key;
pub use minimiser::minimise;
pub use order::{HeaderOrder, Order, Within};

/// Makes keys; all threads share it.
pub struct Keyer {
    order: Order,
    encoder: KeyEncoder,
}

/// The encoder of an order's keys.
enum KeyEncoder {
    Input,
    Coordinate(Coordinate),
    Name(NameKeys),
    Queryname(NameKeys),
    Tag(ByTag),
    Templates(Templates),
    Minimisers(Minimisers),
}

impl Keyer {
    /// Creates a keyer for `order`. The header is the one that will be written.
    pub fn new(order: Order, header: &Header) -> Self {
        let encoder = match order {
            Order::Input => KeyEncoder::Input,
            Order::Coordinate => KeyEncoder::Coordinate(Coordinate::new(header)),
            Order::Natural => KeyEncoder::Name(NameKeys::new(Style::Natural)),
            Order::Lexicographic => KeyEncoder::Name(NameKeys::new(Style::Lexicographic)),
            Order::Queryname => KeyEncoder::Queryname(NameKeys::new(Style::Lexicographic)),
            Order::Tag { tag, within } => KeyEncoder::Tag(ByTag::new(tag, within, header)),
            Order::TemplateCoordinate => KeyEncoder::Templates(Templates::new(header)),
            Order::Minhash => KeyEncoder::Minimisers(Minimisers::new(header)),
        };
        Keyer { order, encoder }
    }

    /// The order.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Returns the optional field that is sorted by.
    pub fn field(&self) -> Option<Tag> {
        match self.order {
            Order::Tag { tag, .. } => Some(tag),
            _ => None,
        }
    }

    /// Sets the anchor, a name that shortens the keys of names with the same prefix. The order does not
    /// depend on it. Only the first call counts, and only before the first key.
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

    /// Returns the key of a record.
    ///
    /// # Errors
    ///
    /// If the record lacks something that the order needs.
    pub fn key(&self, record: RecordRef<'_>) -> Result<Key> {
        if let KeyEncoder::Coordinate(coordinate) = &self.encoder {
            return Ok(Key([coordinate.number(record), 0]));
        }
        let mut head = KeyHead::default();
        self.put(record, &mut head)?;
        Ok(head.key())
    }

    /// Replaces `into` by the tail of the key: the full key without its first 15 bytes. It is empty for a
    /// record without a key.
    pub fn tail(&self, record: RecordRef<'_>, into: &mut Vec<u8>) {
        let mut rest = KeyTail::new(into);
        if self.put(record, &mut rest).is_err() {
            rest.clear();
        }
        rest.end();
    }

    fn put(&self, record: RecordRef<'_>, key: &mut impl Bits) -> Result<()> {
        match &self.encoder {
            KeyEncoder::Input => {}
            KeyEncoder::Coordinate(coordinate) => coordinate.put(record, key),
            KeyEncoder::Name(names) => names.put_read(record, key),
            KeyEncoder::Queryname(names) => queryname::put(names, record, key),
            KeyEncoder::Tag(by_tag) => by_tag.put(record, key),
            KeyEncoder::Templates(templates) => templates.put(record, key)?,
            KeyEncoder::Minimisers(minimisers) => minimisers.put(record, key),
        }
        Ok(())
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
