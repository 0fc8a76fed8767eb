//! Optional fields (SAM specification, sections 1.5 and 4.2.4).

/// The two letters of a tag.
pub type Tag = [u8; 2];

/// Read group.
pub const RG: Tag = *b"RG";
/// CIGAR of the next segment.
pub const MC: Tag = *b"MC";
/// CIGAR with more than 65,535 operators.
pub const CG: Tag = *b"CG";
/// Duplicate type, written by Picard.
pub const DT: Tag = *b"DT";
/// Representative of a duplicate set, written by Picard.
pub const DI: Tag = *b"DI";
/// Size of a duplicate set, written by Picard.
pub const DS: Tag = *b"DS";

/// Original base qualities.
pub const OQ: Tag = *b"OQ";
/// Qualities of insertions, written by GATK 1 to 3.
pub const BI: Tag = *b"BI";
/// Qualities of deletions, written by GATK 1 to 3.
pub const BD: Tag = *b"BD";

/// One optional field: its tag, its BAM type letter and the bytes of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// The two letters.
    pub tag: Tag,
    /// `A c C s S i I f d Z H B`.
    pub kind: u8,
    /// The value; without the NUL for `Z` and `H`; subtype, count and elements for `B`.
    pub value: &'a [u8],
}

impl Field<'_> {
    /// The value of an integer field, of whatever type.
    pub fn integer(&self) -> Option<i64> {
        let value = self.value;
        Some(match (self.kind, value.len()) {
            (b'c', 1) => i64::from(value[0] as i8),
            (b'C', 1) => i64::from(value[0]),
            (b's', 2) => i64::from(i16::from_le_bytes([value[0], value[1]])),
            (b'S', 2) => i64::from(u16::from_le_bytes([value[0], value[1]])),
            (b'i', 4) => i64::from(i32::from_le_bytes([value[0], value[1], value[2], value[3]])),
            (b'I', 4) => i64::from(u32::from_le_bytes([value[0], value[1], value[2], value[3]])),
            _ => return None,
        })
    }
}

/// Walks the optional fields of a record.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Fields stored in `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Fields { rest: bytes }
    }

    /// What is left to walk.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

/// Bytes of one value of a fixed-size type.
pub fn width(kind: u8) -> Option<usize> {
    match kind {
        b'A' | b'c' | b'C' => Some(1),
        b's' | b'S' => Some(2),
        b'i' | b'I' | b'f' => Some(4),
        b'd' => Some(8),
        _ => None,
    }
}

/// Length of the value (with its NUL) that starts `bytes`, or nothing when it does not fit.
fn value_length(kind: u8, bytes: &[u8]) -> Option<usize> {
    let n = match kind {
        b'Z' | b'H' => memchr::memchr(0, bytes)? + 1,
        b'B' => {
            let head = bytes.first_chunk::<5>()?;
            let count = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let each = width(head[0]).filter(|_| !matches!(head[0], b'A' | b'd'))?;
            5usize.checked_add(count.checked_mul(each)?)?
        }
        _ => width(kind)?,
    };
    (n <= bytes.len()).then_some(n)
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        let &[a, b, kind] = self.rest.first_chunk::<3>()?;
        let body = &self.rest[3..];
        let n = value_length(kind, body)?;
        self.rest = &body[n..];
        let text = usize::from(matches!(kind, b'Z' | b'H'));
        Some(Field { tag: [a, b], kind, value: &body[..n - text] })
    }
}

/// Whether `bytes` is a sequence of whole, well-formed optional fields.
pub fn well_formed(bytes: &[u8]) -> bool {
    let mut fields = Fields::new(bytes);
    fields.by_ref().for_each(drop);
    fields.rest().is_empty()
}

/// The first field called `tag`.
pub fn find(bytes: &[u8], tag: Tag) -> Option<Field<'_>> {
    Fields::new(bytes).find(|field| field.tag == tag)
}

/// Where the first field called `tag` stands in `bytes`, its tag and type included.
pub fn locate(bytes: &[u8], tag: Tag) -> Option<std::ops::Range<usize>> {
    let mut fields = Fields::new(bytes);
    loop {
        let start = bytes.len() - fields.rest().len();
        let field = fields.next()?;
        if field.tag == tag {
            return Some(start..bytes.len() - fields.rest().len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_every_type_are_walked_and_a_cut_one_is_noticed() {
        let mut bytes = Vec::new();
        bytes.extend(b"X1Ac");
        bytes.extend(b"X2s\x01\x02");
        bytes.extend(b"X3f\0\0\0\0");
        bytes.extend(b"RGZg1\0");
        bytes.extend(b"X4BS\x02\0\0\0\x01\0\x02\0");
        bytes.extend(b"X5H1AE3\0");
        assert!(well_formed(&bytes));
        assert_eq!(find(&bytes, RG).unwrap().value, b"g1");
        assert_eq!(&bytes[locate(&bytes, *b"X2").unwrap()], b"X2s\x01\x02");
        for cut in [bytes.len() - 1, 2, 5] {
            assert!(!well_formed(&bytes[..cut]), "cut at {cut}");
        }
        assert!(!well_formed(b"X1q1"), "unknown type");
    }
}
