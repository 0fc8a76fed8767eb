//! What headers of inputs say, where a tool decides by them.

use std::fs::File;
use std::path::Path;

use readmill_input::{OpenOptions, Source};
use readmill_record::{Error, Header, Ledger, Limit, Result};

/// Bytes that a header may take.
const MOST: Limit = Limit::of(1 << 30);

/// The header of a regular file; `None` for pipes, which can be read once.
pub fn header(path: &str) -> Result<Option<Header>> {
    let path = Path::new(path);
    if !path.is_file() {
        return Ok(None);
    }
    let file = File::open(path)
        .map_err(|error| Error::io(format!("{} cannot be read", path.display()), &error))?;
    let rules = OpenOptions {
        allow_missing_eof: true,
        most: MOST,
        ledger: Ledger::unlimited(),
        ..OpenOptions::default()
    };
    let source = Source::open(Box::new(file), &rules).map_err(|error| error.file(path))?;
    Ok(Some(source.header().clone()))
}

/// The order that a file's header states: `SO` of `@HD`.
pub fn order(path: &str) -> Result<Option<String>> {
    let header = header(path)?;
    let order = header.as_ref().and_then(|header| header.lines_of(b"HD").next()?.get(b"SO"));
    Ok(order.map(|order| String::from_utf8_lossy(order).into_owned()))
}
