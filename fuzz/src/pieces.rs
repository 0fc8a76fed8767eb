//! Inputs of several parts. What stands between two parts is no length, so that a part may become longer or shorter
//! without the others falling apart.

/// The bytes between two parts, which no format needs.
pub const BETWEEN: &[u8] = b"\xb6\x2f\xb7";

/// The parts of an input; it has at least one.
pub fn split(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(bytes);
    std::iter::from_fn(move || {
        let now = rest?;
        let end = now.windows(BETWEEN.len()).position(|it| it == BETWEEN);
        rest = end.map(|end| &now[end + BETWEEN.len()..]);
        Some(&now[..end.unwrap_or(now.len())])
    })
}

/// An input of these parts.
pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.join(BETWEEN)
}
