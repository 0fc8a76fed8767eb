//! Inputs that consist of several parts. Parts are separated by a marker, not by lengths,
//! so that a changed part may become longer or shorter and the others remain intact.

/// The separator of parts: bytes that no format needs.
pub const SEPARATOR: &[u8] = b"\xb6\x2f\xb7";

/// Returns the parts of an input. There is at least one, which may be empty.
pub fn split_parts(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let now = rest?;
        let end = now.windows(SEPARATOR.len()).position(|it| it == SEPARATOR);
        rest = end.map(|end| &now[end + SEPARATOR.len()..]);
        Some(&now[..end.unwrap_or(now.len())])
    })
}

pub fn join_parts(parts: &[&[u8]]) -> Vec<u8> {
    parts.join(SEPARATOR)
}
