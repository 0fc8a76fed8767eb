//! What is said of text that is not SAM.

use readmill_record::Error;

/// That `text` is not what `column` may contain.
pub(super) fn refuse(column: &str, text: &[u8], wanted: &str) -> Error {
    Error::input(format!("{column} is {}, not {wanted}", shown(text)))
}

/// The start of `text`, for a message.
pub(super) fn shown(text: &[u8]) -> String {
    let cut = if text.len() > 40 { "..." } else { "" };
    format!("{:?}{cut}", String::from_utf8_lossy(&text[..text.len().min(40)]))
}
