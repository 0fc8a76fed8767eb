//! Orders of reads, their names, and their fields in the header.

use readmill_record::tag::Tag;

/// An order of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Input order.
    Input,
    /// By position, as `samtools sort`.
    Coordinate,
    /// By name, numbers in it by their value, as `samtools sort -n`.
    Natural,
    /// By name, byte by byte, as `samtools sort -N`.
    Lexicographic,
    /// By name, byte by byte, as Picard SortSam with `SORT_ORDER=queryname`: reads of one name are in another order than with
    /// [`Order::Lexicographic`].
    Queryname,
    /// By an optional field, as `samtools sort -t`.
    Tag {
        /// The field.
        tag: Tag,
        /// The order of reads in which it is equal.
        within: Within,
    },
    /// By both ends of a template, as `samtools sort --template-coordinate`.
    TemplateCoordinate,
    /// By position; reads without one by their smallest k-mer, as `samtools sort -M`.
    Minhash,
}

/// The order of reads that are equal in an optional field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// By position, as `samtools sort -t`.
    Coordinate,
    /// By name, as `samtools sort -t -n`.
    Natural,
    /// By name, as `samtools sort -t -N`.
    Lexicographic,
}

/// The fields of @HD for an order. A tag without a value is removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderOrder {
    /// Sorting order.
    pub so: &'static str,
    /// Grouping.
    pub go: Option<&'static str>,
    /// Sub-sort.
    pub ss: Option<String>,
}

const NATURAL: &str = "queryname:natural";
const LEXICOGRAPHIC: &str = "queryname:lexicographical";

/// Orders without parts, by name.
const NAMED: [(&str, Order); 7] = [
    ("none", Order::Input),
    ("coordinate", Order::Coordinate),
    ("queryname", Order::Queryname),
    ("natural", Order::Natural),
    ("lexicographic", Order::Lexicographic),
    ("template-coordinate", Order::TemplateCoordinate),
    ("minhash", Order::Minhash),
];

impl Order {
    /// Returns the fields that samtools 1.24 writes for this order, and Picard 3.4 for its queryname; `None`
    /// for input order, which keeps the header's fields. `any_placed`: whether any read has a reference
    /// sequence; only [`Order::Minhash`] uses it.
    pub fn header(self, any_placed: bool) -> Option<HeaderOrder> {
        let (so, go, ss) = match self {
            Order::Input => return None,
            Order::Coordinate => ("coordinate", None, None),
            Order::Natural => ("queryname", None, Some(NATURAL.into())),
            Order::Lexicographic => ("queryname", None, Some(LEXICOGRAPHIC.into())),
            Order::Queryname => ("queryname", None, None),
            Order::Tag { tag: [a, b], within } => {
                let within = match within {
                    Within::Coordinate => "coordinate",
                    Within::Natural => NATURAL,
                    Within::Lexicographic => LEXICOGRAPHIC,
                };
                let ss = format!("unsorted:{}{}:{within}", char::from(a), char::from(b));
                ("unsorted", None, Some(ss))
            }
            Order::TemplateCoordinate => {
                ("unsorted", Some("query"), Some("unsorted:template-coordinate".into()))
            }
            Order::Minhash if any_placed => ("coordinate", None, Some("coordinate:minhash".into())),
            Order::Minhash => ("unsorted", None, Some("unsorted:minhash".into())),
        };
        Some(HeaderOrder { so, go, ss })
    }

    /// Returns its name.
    pub fn name(self) -> String {
        if let Order::Tag { tag: [a, b], within } = self {
            let within = match within {
                Within::Coordinate => "",
                Within::Natural => ":natural",
                Within::Lexicographic => ":lexicographic",
            };
            return format!("tag:{}{}{within}", char::from(a), char::from(b));
        }
        let named = NAMED.iter().find(|named| named.1 == self);
        named.map_or_else(String::new, |named| named.0.to_string())
    }

    /// Parses an order's name, without regard to case; `name` is what samtools sorts by with -n.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        if let Some(named) = NAMED.iter().find(|named| is(named.0)) {
            return Ok(named.1);
        }
        if is("name") {
            return Ok(Order::Natural);
        }
        let Some(field) = text.strip_prefix("tag:") else {
            let names: Vec<&str> = NAMED.iter().map(|named| named.0).collect();
            return Err(format!("no such order: {text:?}; there are {}, and tag:XX", names.join(", ")));
        };
        let (tag, within) = field.split_once(':').unwrap_or((field, "coordinate"));
        let within = match within {
            "coordinate" => Within::Coordinate,
            "natural" => Within::Natural,
            "lexicographic" => Within::Lexicographic,
            _ => {
                let known = "coordinate, natural or lexicographic";
                return Err(format!("within tag:{tag} the order is {known}, not {within:?}"));
            }
        };
        match *tag.as_bytes() {
            [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric() => {
                Ok(Order::Tag { tag: [a, b], within })
            }
            _ => Err(format!("not an optional field: {tag:?}; it is a letter and a letter or digit")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_and_shown() {
        let names = "none coordinate queryname natural lexicographic template-coordinate minhash \
                     tag:CB tag:X0:natural tag:RG:lexicographic";
        for name in names.split_whitespace() {
            assert_eq!(Order::parse(name).map(Order::name), Ok(name.to_string()));
        }
        let by_tag = Order::Tag { tag: *b"CB", within: Within::Coordinate };
        assert_eq!(Order::parse("tag:CB:coordinate"), Ok(by_tag));
        assert_eq!(Order::parse("Coordinate"), Ok(Order::Coordinate));
        assert_eq!(Order::parse("name"), Ok(Order::Natural));
        for bad in ["", "tag:", "tag:C", "tag:1B", "tag:CBA", "tag:CB:", "tag:CB:queryname"] {
            assert!(Order::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_header_has_the_fields_of_samtools() {
        let said = |name: &str, placed: bool| {
            let header = Order::parse(name).unwrap().header(placed)?;
            Some([header.so, header.go.unwrap_or("-"), header.ss.as_deref().unwrap_or("-")].join(" "))
        };
        for (name, expected) in [
            ("coordinate", "coordinate - -"),
            ("queryname", "queryname - -"),
            ("natural", "queryname - queryname:natural"),
            ("lexicographic", "queryname - queryname:lexicographical"),
            ("tag:CB", "unsorted - unsorted:CB:coordinate"),
            ("tag:CB:natural", "unsorted - unsorted:CB:queryname:natural"),
            ("tag:CB:lexicographic", "unsorted - unsorted:CB:queryname:lexicographical"),
            ("template-coordinate", "unsorted query unsorted:template-coordinate"),
            ("minhash", "coordinate - coordinate:minhash"),
        ] {
            assert_eq!(said(name, true).as_deref(), Some(expected));
        }
        assert_eq!(said("minhash", false).unwrap(), "unsorted - unsorted:minhash");
        assert_eq!(said("none", true), None);
    }
}
