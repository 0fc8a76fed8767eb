//! Optional fields of records (SAM specification, sections 1.5 and 4.2.4).

pub type Tag = [u8; 2];

pub const RG: Tag = *b"RG";
pub const MC: Tag = *b"MC";
/// A CIGAR with more than 65,535 operators, which does not fit into the fixed part of a record.
pub const CG: Tag = *b"CG";
pub const DT: Tag = *b"DT";
pub const DI: Tag = *b"DI";
pub const DS: Tag = *b"DS";
/// First base of the adapter in a read, 1-based. Picard MarkIlluminaAdapters writes it.
pub const XT: Tag = *b"XT";

pub const OQ: Tag = *b"OQ";
/// Insertion qualities, written by GATK 1 to 3.
pub const BI: Tag = *b"BI";
/// Deletion qualities, written by GATK 1 to 3.
pub const BD: Tag = *b"BD";

/// One optional field: its tag, its BAM type letter and the bytes of its value.
///
/// ```
/// use readmill_record::tag::{self, Fields};
///
/// let bytes = b"NMC\x03RGZlane1\0";
/// assert_eq!(tag::find_field(bytes, *b"NM").and_then(|field| field.integer()), Some(3));
/// let kinds: Vec<_> = Fields::new(bytes).map(|field| (field.tag, field.kind)).collect();
/// assert_eq!(kinds, [(*b"NM", b'C'), (tag::RG, b'Z')]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    pub tag: Tag,
    /// Type letter, one of `A c C s S i I f d Z H B`.
    pub kind: u8,
    /// Bytes of the value: without the NUL for `Z` and `H`, with subtype and count for `B`.
    pub value: &'a [u8],
}

impl Field<'_> {
    /// Returns the value of an integer field of any width, or `None` for a field of another type.
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

/// An iterator over the optional fields of a record. It stops at the first field that is truncated or
/// has an unknown type; [`Fields::rest`] is then not empty.
#[derive(Clone, Debug)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Fields { rest: bytes }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

pub const fn value_bytes(kind: u8) -> Option<usize> {
    match kind {
        b'A' | b'c' | b'C' => Some(1),
        b's' | b'S' => Some(2),
        b'i' | b'I' | b'f' => Some(4),
        b'd' => Some(8),
        _ => None,
    }
}

/// Length of a field in bytes, including tag and type, indexed by type letter; 0 for types of variable
/// length and for unknown types.
const FIELD_LENGTHS: [u8; 256] = {
    let mut lengths = [0; 256];
    let mut kind = 0;
    while kind < 256 {
        if let Some(bytes) = value_bytes(kind as u8) {
            lengths[kind] = FIELD_HEAD_BYTES as u8 + bytes as u8;
        }
        kind += 1;
    }
    lengths
};

const FIELD_HEAD_BYTES: usize = 3;

/// Returns the position of the first NUL. Most strings are short, so four words are tested before
/// the general search (memchr) starts, which is faster only for long strings.
#[inline]
fn find_nul(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < 32 {
        let Some((word, _)) = bytes.get(at..)?.split_first_chunk::<8>() else {
            return find_nul_in_rest(bytes);
        };
        let found = mark_nuls(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr::memchr(0, &bytes[at..]).map(|more| at + more)
}

/// Returns the position of the first NUL if fewer than 8 bytes remain. Tests the last 8 bytes, of which
/// those before the rest are known not to be NUL.
fn find_nul_in_rest(bytes: &[u8]) -> Option<usize> {
    let Some(word) = bytes.last_chunk::<8>() else {
        return bytes.iter().position(|&byte| byte == 0);
    };
    let found = mark_nuls(u64::from_le_bytes(*word));
    (found != 0).then(|| bytes.len() - 8 + found.trailing_zeros() as usize / 8)
}

/// Returns a word in which the high bit of each byte that is 0 is set. Bytes after the first 0 may be
/// marked as well, so only the first mark is valid.
#[inline]
fn mark_nuls(word: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHS: u64 = u64::from_ne_bytes([0x80; 8]);
    word.wrapping_sub(ONES) & !word & HIGHS
}

#[cold]
fn array_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.first_chunk::<5>()?;
    let count = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    let each = value_bytes(head[0]).filter(|_| !matches!(head[0], b'A' | b'd'))?;
    5usize.checked_add(count.checked_mul(each)?)
}

/// Returns the length in bytes of the field at the start of `bytes`, including tag and type; `None`
/// if it is truncated. Numbers and short strings, which are most fields, take the fast path.
#[inline(always)]
fn field_length(bytes: &[u8]) -> Option<usize> {
    if let Some(&[_, _, kind, ref word @ ..]) = bytes.first_chunk::<{ FIELD_HEAD_BYTES + 8 }>() {
        let length = usize::from(FIELD_LENGTHS[usize::from(kind)]);
        if length != 0 {
            return Some(length); // at most 11 bytes, which were just read
        }
        let found = mark_nuls(u64::from_le_bytes(*word));
        if kind == b'Z' && found != 0 {
            return Some(FIELD_HEAD_BYTES + found.trailing_zeros() as usize / 8 + 1);
        }
    }
    any_field_length(bytes)
}

#[inline(never)]
fn any_field_length(bytes: &[u8]) -> Option<usize> {
    let (&[_, _, kind], body) = bytes.split_first_chunk::<FIELD_HEAD_BYTES>()?;
    let length = match usize::from(FIELD_LENGTHS[usize::from(kind)]) {
        0 if matches!(kind, b'Z' | b'H') => FIELD_HEAD_BYTES + find_nul(body)? + 1,
        0 if kind == b'B' => FIELD_HEAD_BYTES + array_length(body)?,
        0 => return None,
        length => length,
    };
    (length <= bytes.len()).then_some(length)
}

#[inline]
fn parse_field(whole: &[u8]) -> Option<Field<'_>> {
    let (&[a, b, kind], value) = whole.split_first_chunk::<3>()?;
    let text = usize::from(matches!(kind, b'Z' | b'H'));
    Some(Field { tag: [a, b], kind, value: value.get(..value.len() - text)? })
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        let (whole, rest) = self.rest.split_at_checked(field_length(self.rest)?)?;
        self.rest = rest;
        parse_field(whole)
    }
}

/// Returns whether `bytes` consists of whole fields of known types.
pub fn is_well_formed(mut bytes: &[u8]) -> bool {
    while !bytes.is_empty()
        && let Some(length) = field_length(bytes)
    {
        bytes = &bytes[length..];
    }
    bytes.is_empty()
}

pub fn find_field(bytes: &[u8], tag: Tag) -> Option<Field<'_>> {
    parse_field(&bytes[locate_field(bytes, tag)?])
}

pub fn locate_field(bytes: &[u8], tag: Tag) -> Option<std::ops::Range<usize>> {
    let mut at = 0;
    loop {
        let rest = bytes.get(at..)?;
        let name = rest.first_chunk::<2>()?;
        let length = field_length(rest)?;
        if *name == tag {
            return Some(at..at + length);
        }
        at += length;
    }
}

/// A set of tags, for finding any of them in one pass over the fields. Stored as a bitmap with one bit
/// for each possible pair of bytes (8 KiB).
///
/// ```
/// use readmill_record::tag::{self, TagSet};
///
/// let qualities = TagSet::from_tags(&[tag::OQ, tag::BI, tag::BD]);
/// assert!(qualities.contains_any(b"NMC\x03OQZII\0"));
/// assert!(!qualities.contains(tag::RG));
/// ```
#[derive(Clone)]
pub struct TagSet(Box<[u64; 1024]>);

impl TagSet {
    pub fn from_tags(tags: &[Tag]) -> Self {
        let mut set = TagSet(Box::new([0; 1024]));
        for &tag in tags {
            let (word, bit) = TagSet::tag_bit(tag);
            set.0[word] |= bit;
        }
        set
    }

    pub fn all_but(tags: &[Tag]) -> Self {
        let mut set = TagSet::from_tags(tags);
        set.0.iter_mut().for_each(|word| *word = !*word);
        set
    }

    #[inline]
    fn tag_bit(tag: Tag) -> (usize, u64) {
        let number = u16::from_le_bytes(tag);
        (usize::from(number >> 6), 1 << (number & 63))
    }

    #[inline]
    pub fn contains(&self, tag: Tag) -> bool {
        let (word, bit) = TagSet::tag_bit(tag);
        self.0[word] & bit != 0
    }

    /// Returns whether any field stored in `bytes` has a tag of the set.
    pub fn contains_any(&self, mut bytes: &[u8]) -> bool {
        while let Some(&[a, b]) = bytes.first_chunk()
            && let Some(length) = field_length(bytes)
        {
            if self.contains([a, b]) {
                return true;
            }
            bytes = &bytes[length..];
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_nul_is_found_wherever_it_is() {
        for length in 0..80 {
            let mut bytes = vec![0x80; length];
            assert_eq!(find_nul(&bytes), None);
            for at in (0..length).rev() {
                bytes[at] = 0;
                assert_eq!(find_nul(&bytes), Some(at), "{length}");
                if at + 1 < length {
                    bytes[at + 1] = 1; // a byte that the borrow could set wrongly
                }
                assert_eq!(find_nul(&bytes), Some(at), "{length}");
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
        assert!(is_well_formed(&bytes));
        assert_eq!(find_field(&bytes, RG).unwrap().value, b"g1");
        assert_eq!(&bytes[locate_field(&bytes, *b"X2").unwrap()], b"X2s\x01\x02");
        for cut in [bytes.len() - 1, 2, 5] {
            assert!(!is_well_formed(&bytes[..cut]), "cut at {cut}");
        }
        assert!(!is_well_formed(b"X1q1"), "unknown type");
    }

    #[test]
    fn a_field_is_as_long_whatever_follows_it() {
        let fields: [&[u8]; 9] = [
            b"X1Ac",
            b"X2s\x01\x02",
            b"X3f\0\0\0\0",
            b"X4d\0\0\0\0\0\0\0\0",
            b"X5Z\0",
            b"X6Zseven77\0",
            b"X7Zand eight\0",
            b"X8H1AE3\0",
            b"X9Bc\x01\0\0\0\x07",
        ];
        for field in fields {
            for more in 0..20 {
                let bytes = [field, &vec![b'A'; more]].concat();
                assert_eq!(field_length(&bytes), Some(field.len()), "{field:?} and {more}");
            }
            for cut in 0..field.len() {
                assert_eq!(field_length(&field[..cut]), None, "{field:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn sets_meet_what_has_one_of_their_tags() {
        let fields = b"X1AcX2s\x01\x02RGZg1\0";
        assert!(TagSet::from_tags(&[*b"ZZ", RG]).contains_any(fields));
        assert!(!TagSet::from_tags(&[*b"ZZ", *b"Ac", *b"g1"]).contains_any(fields));
        assert!(!TagSet::from_tags(&[]).contains_any(fields));
        assert!(TagSet::all_but(&[*b"X1", RG]).contains_any(fields));
        assert!(!TagSet::all_but(&[*b"X1", *b"X2", RG]).contains_any(fields));
        assert!(!TagSet::all_but(&[]).contains_any(b""));
        assert!(TagSet::all_but(&[]).contains([255, 255]));
    }
}
