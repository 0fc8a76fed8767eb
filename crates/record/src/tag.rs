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
pub const fn width(kind: u8) -> Option<usize> {
    match kind {
        b'A' | b'c' | b'C' => Some(1),
        b's' | b'S' => Some(2),
        b'i' | b'I' | b'f' => Some(4),
        b'd' => Some(8),
        _ => None,
    }
}

/// Bytes of a value by the letter of its type; 0 where they are not always as many.
const WIDTHS: [u8; 256] = {
    let mut widths = [0; 256];
    let mut kind = 0;
    while kind < 256 {
        if let Some(bytes) = width(kind as u8) {
            widths[kind] = bytes as u8;
        }
        kind += 1;
    }
    widths
};

/// Where the first NUL is. Most texts are short: a few words are looked at before a search is begun that pays on long ones.
#[inline]
fn nul(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < 32 {
        let Some((word, _)) = bytes.get(at..)?.split_first_chunk::<8>() else {
            return bytes[at..].iter().position(|&byte| byte == 0).map(|more| at + more);
        };
        let found = nuls(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr::memchr(0, &bytes[at..]).map(|more| at + more)
}

/// The high bit of each byte that is 0, and maybe of some behind the first of them.
#[inline]
fn nuls(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    word.wrapping_sub(ONES) & !word & HIGHS
}

/// Bytes of the array (type `B`) that starts `bytes`, its subtype and count included.
#[cold]
fn array_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.first_chunk::<5>()?;
    let count = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let each = width(head[0]).filter(|_| !matches!(head[0], b'A' | b'd'))?;
    5usize.checked_add(count.checked_mul(each)?)
}

/// Bytes of the field that starts `bytes`, its tag and type included, or nothing when it is not whole.
#[inline(always)]
fn field_length(bytes: &[u8]) -> Option<usize> {
    let (&[_, _, kind], body) = bytes.split_first_chunk::<3>()?;
    let value = match WIDTHS[usize::from(kind)] {
        0 if matches!(kind, b'Z' | b'H') => nul(body)? + 1,
        0 if kind == b'B' => array_length(body)?,
        0 => return None,
        bytes => usize::from(bytes),
    };
    (value <= body.len()).then_some(3 + value)
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        let (whole, rest) = self.rest.split_at_checked(field_length(self.rest)?)?;
        let (&[a, b, kind], value) = whole.split_first_chunk::<3>()?;
        self.rest = rest;
        let text = usize::from(matches!(kind, b'Z' | b'H'));
        Some(Field { tag: [a, b], kind, value: &value[..value.len() - text] })
    }
}

/// Whether `bytes` is a sequence of whole, well-formed optional fields.
pub fn well_formed(mut bytes: &[u8]) -> bool {
    while let Some(length) = field_length(bytes) {
        bytes = &bytes[length..];
    }
    bytes.is_empty()
}

/// The first field called `tag`.
pub fn find(bytes: &[u8], tag: Tag) -> Option<Field<'_>> {
    Fields::new(&bytes[locate(bytes, tag)?]).next()
}

/// Where the first field called `tag` stands in `bytes`, its tag and type included.
pub fn locate(bytes: &[u8], tag: Tag) -> Option<std::ops::Range<usize>> {
    let mut at = 0;
    loop {
        let rest = bytes.get(at..)?;
        let length = field_length(rest)?;
        if rest.starts_with(&tag) {
            return Some(at..at + length);
        }
        at += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_nul_is_found_wherever_it_is() {
        for length in 0..80 {
            let mut bytes = vec![0x80; length];
            assert_eq!(nul(&bytes), None);
            for at in (0..length).rev() {
                bytes[at] = 0;
                assert_eq!(nul(&bytes), Some(at), "{length}");
                if at + 1 < length {
                    bytes[at + 1] = 1; // what a borrow could be taken for
                }
                assert_eq!(nul(&bytes), Some(at), "{length}");
            }
        }
    }

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
