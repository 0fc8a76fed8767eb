//! The places of features, and their parts of lines.

/// The place of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeaturePlace<'a> {
    /// Name of its contig.
    pub contig: &'a [u8],
    /// Its first base, 0-based.
    pub start: u32,
    /// The base after its last one. Equal to `start` for a feature without length: BED and interval lists may have
    /// them, and in VCF there are records at position 0, before the first base, and records that end before they start.
    pub end: u32,
}

/// The place of the feature in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// Length of the contig's name at the start of the line.
    pub name: usize,
    pub start: u32,
    pub end: u32,
}

/// Parses a number as Java's `int`: a plus sign is allowed, a minus sign is not.
pub(crate) fn number(text: &[u8]) -> Option<u32> {
    let digit = |sum: u32, byte: &u8| match byte {
        b'0'..=b'9' => sum.checked_mul(10)?.checked_add(u32::from(byte - b'0')),
        _ => None,
    };
    let text = text.strip_prefix(b"+").unwrap_or(text);
    if text.is_empty() { None } else { text.iter().try_fold(0, digit).filter(|&n| n <= i32::MAX as u32) }
}

/// The start of a text, for a message.
pub(super) fn shown(text: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(&text[..text.len().min(60)]))
}
