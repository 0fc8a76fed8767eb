//! What headers of inputs say, where a tool decides by them.

use std::path::Path;

use readmill::files::{Memory, head};
use readmill_record::{Header, Result};

use super::grammar::Given;

/// The header of a regular file, within the memory of the line; `None` for pipes, which can be read once.
pub fn header(given: &Given, path: &str) -> Result<Option<Header>> {
    let path = Path::new(path);
    if !path.is_file() {
        return Ok(None);
    }
    let memory = Memory::of(given.memory)?;
    head::header(path, &memory.ledger).map(Some)
}

/// The header of a file that must be regular, since a tool decides by its header.
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

/// The order that a file's header states: `SO` of `@HD`.
pub fn order(given: &Given, path: &str) -> Result<Option<String>> {
    Ok(header(given, path)?.as_ref().and_then(order_of))
}

/// The order that a header states.
pub fn order_of(header: &Header) -> Option<String> {
    let order = header.lines_of(b"HD").next()?.get(b"SO")?;
    Some(String::from_utf8_lossy(order).into_owned())
}
