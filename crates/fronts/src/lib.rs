//! Translates the command lines of samtools, Picard, GATK, elPrep and bwa to native ones. The crate
//! converts argv to argv, and does not use plans.
//!
//! ```text
//! argv of the tool ─► Grammar ─► ParsedArguments ─► function of the ToolCommand ─► NativeLine ─► argv of readmill
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`grammar`] | option tables, and the three syntaxes in which options are written |
//! | [`tool`] | a tool and its subcommands, their translation and their help |
//! | `line` | the native line, and flags that several commands write |
//! | `headers` | reads headers of inputs, for options that depend on them |
//! | `samtools`, `picard`, `gatk`, `elprep`, `bwa` | the tables of each tool |
//! | [`elsewhere`] | commands without a front, and their alternatives |
//! | `page` | generates docs/fronts.md from the tables |
//!
//! Each tool is a [`Tool`], and each subcommand a [`ToolCommand`](tool::ToolCommand): a table of
//! the options in the tool's own help, and a function that writes the native line. An option that
//! could affect a result is translated or refused, but never ignored.
//!
//! [`translate_arguments`] is the only function that the program calls for a run. Some lines depend
//! on the header of an input, which the crate reads through `readmill-files`. Tests of this crate
//! compare lines; a test of the root crate (src/cli/front_lines.rs) checks that the native parser
//! accepts them.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod bwa;
mod elprep;
pub mod elsewhere;
mod gatk;
pub mod grammar;
mod headers;
mod line;
#[cfg(test)]
mod page;
mod picard;
mod samtools;
#[cfg(test)]
mod tests;
pub mod tool;

use std::ffi::{OsStr, OsString};
use std::path::Path;

use readmill_record::{Error, Result};

pub use line::quote_for_shell;
use tool::Tool;
pub use tool::{FrontFiles, TranslatedLine};

/// The tools whose command lines are translated.
pub const TOOLS: &[&Tool] =
    &[&samtools::TOOL, &picard::TOOL, &gatk::TOOL, &elprep::TOOL, &bwa::TOOL, &bwa::TOOL2];

/// Translates the arguments of this process if they are those of another tool: the first word is
/// the tool's name, or this program is called by that name through a link. Returns `None` for a
/// native command line.
///
/// # Errors
/// Returns a usage error for an option that is refused, and for an argument that is not UTF-8.
pub fn translate_arguments(arguments: &[OsString]) -> Result<Option<TranslatedLine>> {
    let word_at = |at: usize| arguments.get(at).filter(|word| !word.is_empty());
    if let (Some(_), Some(tool)) =
        (word_at(1).filter(|word| *word == "help"), word_at(2).and_then(|it| find_tool(it)))
    {
        let names = arguments[3..].iter().map(|word| word.to_string_lossy().into_owned());
        return tool.translate(std::iter::once("help".to_string()).chain(names).collect()).map(Some);
    }
    let called = arguments.first().map(|name| Path::new(name).file_name().unwrap_or(name));
    let (tool, skipped) =
        match (called.and_then(find_tool), arguments.get(1).and_then(|name| find_tool(name))) {
            (Some(tool), _) => (tool, 1),
            (None, Some(tool)) => (tool, 2),
            (None, None) => return Ok(None),
        };
    let word = |word: &OsString| {
        word.to_str().map(str::to_string).ok_or_else(|| {
            Error::usage(format!("{}: an argument is not UTF-8: {}", tool.name, word.display()))
                .hint("use the native commands of readmill, which accept any file name")
        })
    };
    let words = arguments[skipped..].iter().map(word).collect::<Result<Vec<String>>>()?;
    tool.translate(words).map(Some)
}

/// Returns a hint for another tool's command that was typed as a readmill command. `None` if no
/// tool has it.
pub fn native_hint(word: &str) -> Option<String> {
    let with_front = TOOLS.iter().find_map(|tool| {
        let own = tool.commands.iter().find(|own| own.name.eq_ignore_ascii_case(word))?;
        Some(format!("use readmill {} {}, which accepts the same command line", tool.name, own.name))
    });
    with_front.or_else(|| elsewhere::find_alternative_by_word(word).map(elsewhere::Alternative::hint))
}

/// Finds a tool by its name or alias.
fn find_tool(name: &OsStr) -> Option<&'static Tool> {
    let name = name.to_str()?;
    TOOLS.iter().copied().find(|tool| tool.name == name || tool.aliases.contains(&name))
}
