//! Splits lines that have blanks where tabs belong.

use std::borrow::Cow;

/// Splits text into fields: each word that starts with one of the `keys` begins a field, and all other
/// words belong to the preceding field, as in `ID:x CL:bwa mem ref.fa`.
pub(super) fn split_at_blanks<'a>(text: &'a [u8], keys: &[&[u8; 2]]) -> Vec<Cow<'a, [u8]>> {
    let mut list: Vec<Cow<'a, [u8]>> = Vec::new();
    for word in text.split(|byte| b"\t ".contains(byte)).filter(|word| !word.is_empty()) {
        let begins = matches!(word, [a, b, b':', ..] if keys.contains(&&[*a, *b]));
        match (begins, parse_glued_version(word), list.last_mut()) {
            (false, Some(version), _) if keys.first() == Some(&b"VN") => list.push(Cow::Owned(version)),
            (false, _, Some(before)) => {
                before.to_mut().push(b' ');
                before.to_mut().extend_from_slice(word);
            }
            _ => list.push(Cow::Borrowed(word)),
        }
    }
    list
}

/// Returns `VN:1.0` for a word such as `VN1.0`, which nucmer writes.
pub(super) fn parse_glued_version(word: &[u8]) -> Option<Vec<u8>> {
    let version = word.strip_prefix(b"VN")?;
    let is_number = version.first().is_some_and(u8::is_ascii_digit);
    is_number.then(|| [b"VN:", version].concat())
}
