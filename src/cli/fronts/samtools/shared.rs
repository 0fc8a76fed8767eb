//! Options that many samtools commands share.

use readmill_record::Result;

use super::super::grammar::{Grammar, Opt, ParsedArguments, Takes};
use super::super::line::NativeLine;
use super::super::tool::{ToolCommand, Translation};

pub const fn getopt_command(
    name: &'static str,
    options: &'static [&'static [Opt]],
    make: fn(&ParsedArguments) -> Result<NativeLine>,
) -> ToolCommand {
    ToolCommand { name, grammar: Grammar::Getopt, options, make: Translation::Line(make) }
}

#[rustfmt::skip] // a row is a line
pub const INPUT: &[Opt] = &[
    Opt::refused(
        "--input-fmt-option",
        Takes::Values,
        "changes how the input is decoded",
        "leave it out: the format is detected from the content, and everything is decoded",
    ),
    MESSAGES[0],
];

#[rustfmt::skip] // a row is a line
pub const MESSAGES: &[Opt] = &[Opt::harmless("--verbosity", Takes::Value, "messages alone")];

#[rustfmt::skip] // a row is a line
pub const INPUT_FORMAT: &[Opt] = &[Opt::harmless("--input-fmt", Takes::Value, "the format is detected from the content")];

#[rustfmt::skip] // a row is a line
pub const REFERENCE: &[Opt] = &[Opt::native("--reference", Takes::Value, "--reference")];

#[rustfmt::skip] // a row is a line
pub const THREADS: &[Opt] = &[Opt::built("-@ --threads", Takes::Value, "-@ N+1: additional threads, and one")];

#[rustfmt::skip] // a row is a line
pub const OUTPUT: &[Opt] = &[
    Opt::built("-O --output-fmt", Takes::Value, "-O, in lower case; level=, version=, no_ref and profiles of its options"),
    Opt::built("--output-fmt-option", Takes::Values, "level=, version=, no_ref and profiles: -l and -O"),
];

#[rustfmt::skip] // a row is a line
pub const WRITE_INDEX: &[Opt] =
    &[Opt::built("--write-index", Takes::Nothing, "--write-index=csi, or as FILE##idx##INDEX says; without it --no-index")];

#[rustfmt::skip] // a row is a line
pub const NO_PG: &[Opt] = &[Opt::native("--no-PG", Takes::Nothing, "--no-PG")];

/// Returns the only input of a command. Without operands, it is standard input if
/// `or_stdin`, and otherwise an error.
pub fn one_input(given: &ParsedArguments, or_stdin: bool) -> Result<&str> {
    match &given.operands[..] {
        [] if or_stdin => Ok("-"),
        [] => Err(given.refusal_error("there is no input")),
        [input] => Ok(input),
        [_, more, ..] => Err(given.refusal_error(&format!("unexpected argument {more}"))),
    }
}

/// Returns one `@RG` line from the values of `-r`, with its tabs written as `\t`, as
/// readmill takes it.
pub fn read_group_line(given: &ParsedArguments, texts: &[&str]) -> Result<String> {
    let fields = texts.join("\t").replace("\\t", "\t");
    let line = if fields.starts_with("@RG") { fields } else { format!("@RG\t{fields}") };
    let id = line.split('\t').find_map(|field| field.strip_prefix("ID:"));
    if id.is_none_or(str::is_empty) {
        return Err(given.refusal_error("the read group of -r has no ID").hint("add -r ID:name"));
    }
    Ok(line.replace('\t', "\\t"))
}
