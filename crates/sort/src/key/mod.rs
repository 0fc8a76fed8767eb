//! A record's place in an order as bytes: the smaller sorts first, equal keys keep input order.
//!
//! A *full key* is a string of bits, padded with zeros to whole bytes. No full key of an order begins
//! another, so comparing bytes is comparing keys, whatever follows. Beside each record lies a [`Key`],
//! the first 15 bytes; the rest is made again from the record for the few that need it (`bits`).
//!
//! | order | file |
//! |---|---|
//! | their names, and what the header says of them | `order` |
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

use bits::{Bits, Head, Rest};
use coordinate::Coordinate;
use minimiser::Minimisers;
use name::{Names, Style};
use tag::ByTag;
use template::Templates;

pub use bits::Key;
pub use minimiser::minimise;
pub use order::{HeaderOrder, Order, Within};

/// Makes keys; one for all threads.
pub struct Keyer {
    order: Order,
    parts: Parts,
}

/// What the keys of an order are made with.
enum Parts {
    Input,
    Coordinate(Coordinate),
    Name(Names),
    Queryname(Names),
    Tag(ByTag),
    Templates(Templates),
    Minimisers(Minimisers),
}

impl Keyer {
    /// Makes keys of `order`. The header is the one that will be written.
    pub fn new(order: Order, header: &Header) -> Self {
        let parts = match order {
            Order::Input => Parts::Input,
            Order::Coordinate => Parts::Coordinate(Coordinate::new(header)),
            Order::Natural => Parts::Name(Names::new(Style::Natural)),
            Order::Lexicographic => Parts::Name(Names::new(Style::Lexicographic)),
            Order::Queryname => Parts::Queryname(Names::new(Style::Lexicographic)),
            Order::Tag { tag, within } => Parts::Tag(ByTag::new(tag, within, header)),
            Order::TemplateCoordinate => Parts::Templates(Templates::new(header)),
            Order::Minhash => Parts::Minimisers(Minimisers::new(header)),
        };
        Keyer { order, parts }
    }

    /// The order.
    pub fn order(&self) -> Order {
        self.order
    }

    /// The optional field whose value decides.
    pub fn field(&self) -> Option<Tag> {
        match self.order {
            Order::Tag { tag, .. } => Some(tag),
            _ => None,
        }
    }

    /// Gives the name that others are compared with, which shortens the keys of names that begin like
    /// it. The order is the same with any. It counts only once, and only before the first key.
    pub fn set_anchor(&self, qname: &[u8]) {
        let names = match &self.parts {
            Parts::Name(names) | Parts::Queryname(names) => Some(names),
            Parts::Tag(by_tag) => by_tag.names(),
            Parts::Templates(templates) => Some(templates.names()),
            Parts::Input | Parts::Coordinate(_) | Parts::Minimisers(_) => None,
        };
        if let Some(names) = names {
            names.set_anchor(qname);
        }
    }

    /// The key of a record. An error names what the order needs and the record lacks.
    pub fn key(&self, record: RecordRef<'_>) -> Result<Key> {
        if let Parts::Coordinate(coordinate) = &self.parts {
            return Ok(Key([coordinate.number(record), 0]));
        }
        let mut head = Head::default();
        self.put(record, &mut head)?;
        Ok(head.key())
    }

    /// The full key of `record` without its first 15 bytes, in place of what `into` held. Nothing for a
    /// record that has no key.
    pub fn tail(&self, record: RecordRef<'_>, into: &mut Vec<u8>) {
        let mut rest = Rest::new(into);
        if self.put(record, &mut rest).is_err() {
            rest.clear();
        }
        rest.end();
    }

    fn put(&self, record: RecordRef<'_>, key: &mut impl Bits) -> Result<()> {
        match &self.parts {
            Parts::Input => {}
            Parts::Coordinate(coordinate) => coordinate.put(record, key),
            Parts::Name(names) => names.put_read(record, key),
            Parts::Queryname(names) => queryname::put(names, record, key),
            Parts::Tag(by_tag) => by_tag.put(record, key),
            Parts::Templates(templates) => templates.put(record, key)?,
            Parts::Minimisers(minimisers) => minimisers.put(record, key),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Read, header};
    use super::*;

    fn key(keyer: &Keyer, qname: &[u8]) -> Key {
        keyer.key(RecordRef::new(&Read { qname, ..Read::default() }.raw())).unwrap()
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
