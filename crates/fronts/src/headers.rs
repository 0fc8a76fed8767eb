//! Reads the headers of inputs, for options whose translation depends on them.

use std::path::Path;

use readmill_files::{CommandMemory, head};
use readmill_record::{Error, Header, Result};

use super::grammar::ParsedArguments;

/// Reads the header of a regular file. Returns `None` for a pipe, which can be read only once, by
/// the native command.
pub fn read_header(given: &ParsedArguments, path: &str) -> Result<Option<Header>> {
    let path = Path::new(path);
    if !path.is_file() {
        return Ok(None);
    }
    let memory = CommandMemory::divide(given.memory)?;
    head::read_reads_header(path, &memory.ledger).map(Some)
}

/// Reads the header of a file. Returns an error for a pipe, because the translation of the command
/// depends on the header.
pub fn require_header(given: &ParsedArguments, path: &str) -> Result<Header> {
    read_header(given, path)?.ok_or_else(|| {
        let what = match path {
            "-" | "/dev/stdin" => "standard input cannot be read".to_string(),
            _ if Path::new(path).exists() => format!("the input {path} cannot be a pipe"),
            _ => format!("the file {path} does not exist"),
        };
        given
            .refusal_error(&format!("{what}; the header must be read first"))
            .hint("write the reads to a file, and give the file")
    })
}

pub fn read_sort_order(given: &ParsedArguments, path: &str) -> Result<Option<String>> {
    Ok(read_header(given, path)?.as_ref().and_then(stated_sort_order))
}

pub fn stated_sort_order(header: &Header) -> Option<String> {
    let order = header.lines_of_kind(b"HD").next()?.get(b"SO")?;
    Some(String::from_utf8_lossy(order).into_owned())
}

/// Returns whether all read groups of a file are of this sample.
pub fn has_only_sample(given: &ParsedArguments, path: &str, sample: &str) -> Result<bool> {
    let header = require_header(given, path)?;
    let mut groups = header.lines_of_kind(b"RG");
    Ok(groups.all(|group| group.get(b"SM").is_some_and(|own| own == sample.as_bytes())))
}

/// Returns an error for an option that selects a sample of a file with other samples.
pub fn other_sample_error(given: &ParsedArguments, path: &str, sample: &str) -> Error {
    let what =
        format!("--sample-name {sample} is not supported: {path} has read groups of another sample");
    let way =
        "write the reads of one sample to a file first: readmill split --by read-group IN -o PREFIX";
    given.refusal_error(&what).hint(way)
}
