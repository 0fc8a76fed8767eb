//! Fronts: the command lines of samtools, Picard, GATK, elPrep and bwa, turned into native ones.
//!
//! Each tool is a [`Tool`], each of its subcommands a [`Command`]: a table of the options in the tool's own help, and a
//! function that writes the native line. [docs/fronts.md](../../../docs/fronts.md) is made from these tables.

mod bwa;
#[cfg(test)]
mod doc;
mod elprep;
mod gatk;
mod grammar;
mod headers;
mod line;
#[cfg(test)]
mod parsed;
mod picard;
mod samtools;
#[cfg(test)]
mod tests;
mod tool;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use readmill_record::{Error, Result};

use tool::Tool;
pub use tool::{Front, FrontFiles};

const TOOLS: &[&Tool] =
    &[&samtools::TOOL, &picard::TOOL, &gatk::TOOL, &elprep::TOOL, &bwa::TOOL, &bwa::TOOL2];

/// Reads the arguments of this process as those of another tool, if they begin with its name, or if this program is
/// called by it.
pub fn front(arguments: &[OsString]) -> Result<Option<Front>> {
    let called = arguments.first().map(|name| Path::new(name).file_name().unwrap_or(name));
    let (tool, skipped) = match (called.and_then(find), arguments.get(1).and_then(|name| find(name))) {
        (Some(tool), _) => (tool, 1),
        (None, Some(tool)) => (tool, 2),
        (None, None) => return Ok(None),
    };
    let word = |word: &OsString| {
        word.to_str().map(str::to_string).ok_or_else(|| {
            Error::usage(format!("{}: an argument is not UTF-8: {}", tool.name, word.display()))
                .hint("use the native commands, which take any file name")
        })
    };
    let words = arguments[skipped..].iter().map(word).collect::<Result<Vec<String>>>()?;
    tool.front(words).map(Some)
}

fn find(name: &OsStr) -> Option<&'static Tool> {
    let name = name.to_str()?;
    TOOLS.iter().copied().find(|tool| tool.name == name || tool.aliases.contains(&name))
}
