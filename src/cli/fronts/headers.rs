//! Reads the headers of inputs, for options whose translation depends on them.

use std::path::Path;

use readmill::files::{Memory, head};
use readmill_record::{Header, Result};

use super::grammar::Given;

/// Reads the header of a regular file. Returns `None` for a pipe, which can only be
/// read once, by the native command.
pub fn header(given: &Given, path: &str) -> Result<Option<Header>> {
    let path = Path::new(path);
    if !path.is_file() {
        return Ok(None);
    }
    let memory = Memory::of(given.memory)?;
    head::header(path, &memory.ledger).map(Some)
}

/// Reads the header of a file. It is an error if the file is a pipe, because the header
/// decides how the command is translated.
pub fn needed_header(given: &Given, path: &str) -> Result<Header> {
    header(given, path)?.ok_or_else(|| {
        let what = match path {
            "-" | "/dev/stdin" => "standard input cannot be read".to_string(),
            _ if Path::new(path).exists() => format!("{path} cannot be a pipe"),
            _ => format!("there is no file {path}"),
        };
        given
            .refuse(&format!("{what}: the header decides what is done, and is read first"))
            .hint("write the reads to a file, and give its name")
    })
}

pub fn order(given: &Given, path: &str) -> Result<Option<String>> {
    Ok(header(given, path)?.as_ref().and_then(order_of))
}

pub fn order_of(header: &Header) -> Option<String> {
    let order = header.lines_of(b"HD").next()?.get(b"SO")?;
    Some(String::from_utf8_lossy(order).into_owned())
}
