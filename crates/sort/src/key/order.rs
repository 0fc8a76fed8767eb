//! The orders in which reads can be sorted, with their command-line names and `@HD` fields.

use readmill_record::tag::Tag;

/// A sort order. Each order reproduces another program's order record for record, including ties.
///
/// ```
/// use readmill_sort::Order;
///
/// let order = Order::parse("natural")?;
/// assert_eq!(order, Order::Natural); // samtools sort -n
/// let fields = order.header_fields(true).unwrap();
/// assert_eq!((fields.so, fields.ss.as_deref()), ("queryname", Some("queryname:natural")));
/// assert_eq!(Order::parse("tag:CB:natural")?.name(), "tag:CB:natural");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Input order: nothing is sorted.
    Input,
    /// By reference sequence, position and strand, as `samtools sort`.
    Coordinate,
    /// By read name, with the numbers in it compared by value, as `samtools sort -n`.
    Natural,
    /// By read name, byte by byte, as `samtools sort -N`.
    Lexicographic,
    /// By read name, byte by byte, as Picard SortSam with `SORT_ORDER=queryname`. Unlike
    /// [`Order::Lexicographic`], it orders reads with the same name as Picard does.
    Queryname,
    /// By the value of an optional field, as `samtools sort -t`.
    Tag {
        tag: Tag,
        /// The order of reads that have equal values, or that all lack the field.
        within: Within,
    },
    /// By both ends of the template, as `samtools sort --template-coordinate`.
    TemplateCoordinate,
    /// By position. Reads without a reference sequence are sorted by their smallest k-mer, as
    /// `samtools sort -M`.
    Minhash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    Coordinate,
    Natural,
    Lexicographic,
}

/// The `@HD` fields `SO`, `GO` and `SS` of an order (SAM specification, section 1.3). Fields that
/// are `None` are removed from the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderOrder {
    pub so: &'static str,
    pub go: Option<&'static str>,
    pub ss: Option<String>,
}

const NATURAL: &str = "queryname:natural";
const LEXICOGRAPHIC: &str = "queryname:lexicographical";

const NAMED_ORDERS: [(&str, Order); 7] = [
    ("none", Order::Input),
    ("coordinate", Order::Coordinate),
    ("queryname", Order::Queryname),
    ("natural", Order::Natural),
    ("lexicographic", Order::Lexicographic),
    ("template-coordinate", Order::TemplateCoordinate),
    ("minhash", Order::Minhash),
];

impl Order {
    /// Returns the `@HD` fields that samtools 1.24 writes for this order (Picard 3.4 for
    /// [`Order::Queryname`]). Returns `None` for input order, which keeps the fields of the input
    /// header. `any_placed` tells whether any read has a reference sequence; it affects only
    /// [`Order::Minhash`].
    pub fn header_fields(self, any_placed: bool) -> Option<HeaderOrder> {
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

    pub fn name(self) -> String {
        if let Order::Tag { tag: [a, b], within } = self {
            let within = match within {
                Within::Coordinate => "",
                Within::Natural => ":natural",
                Within::Lexicographic => ":lexicographic",
            };
            return format!("tag:{}{}{within}", char::from(a), char::from(b));
        }
        let named = NAMED_ORDERS.iter().find(|named| named.1 == self);
        named.map_or_else(String::new, |named| named.0.to_string())
    }

    /// Parses the name of an order, ignoring case. `name` also means [`Order::Natural`], and
    /// `tag:XX` may be followed by `:natural` or `:lexicographic`. The error message lists the
    /// names.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is = |name: &str| name.eq_ignore_ascii_case(text);
        if let Some(named) = NAMED_ORDERS.iter().find(|named| is(named.0)) {
            return Ok(named.1);
        }
        if is("name") {
            return Ok(Order::Natural);
        }
        let Some(field) = text.strip_prefix("tag:") else {
            let names: Vec<&str> = NAMED_ORDERS.iter().map(|named| named.0).collect();
            return Err(format!(
                "unknown order {text:?}; the orders are {} and tag:XX",
                names.join(", ")
            ));
        };
        let (tag, within) = field.split_once(':').unwrap_or((field, "coordinate"));
        let within = match within {
            "coordinate" => Within::Coordinate,
            "natural" => Within::Natural,
            "lexicographic" => Within::Lexicographic,
            _ => {
                let known = "coordinate, natural or lexicographic";
                return Err(format!("the order within tag:{tag} must be {known}, not {within:?}"));
            }
        };
        match *tag.as_bytes() {
            [a, b] if a.is_ascii_alphabetic() && b.is_ascii_alphanumeric() => {
                Ok(Order::Tag { tag: [a, b], within })
            }
            _ => Err(format!(
                "{tag:?} is not the name of an optional field (a letter, then a letter or digit)"
            )),
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
            let header = Order::parse(name).unwrap().header_fields(placed)?;
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
