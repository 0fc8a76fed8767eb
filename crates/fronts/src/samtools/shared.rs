//! Options that many samtools commands share.

use readmill_record::Result;

use crate::grammar::{Grammar, Opt, ParsedArguments, Takes};
use crate::line::NativeLine;
use crate::tool::{ToolCommand, Translation};

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
        "omit it: readmill detects the format from the content, and decodes all fields",
    ),
    MESSAGES[0],
];

#[rustfmt::skip] // a row is a line
pub const MESSAGES: &[Opt] = &[Opt::harmless("--verbosity", Takes::Value, "affects only messages")];

#[rustfmt::skip] // a row is a line
pub const INPUT_FORMAT: &[Opt] = &[Opt::harmless("--input-fmt", Takes::Value, "readmill detects the format from the content")];

#[rustfmt::skip] // a row is a line
pub const REFERENCE: &[Opt] = &[Opt::native("--reference", Takes::Value, "--reference")];

#[rustfmt::skip] // a row is a line
pub const THREADS: &[Opt] = &[Opt::built("-@ --threads", Takes::Value, "-@ N+1, because samtools counts additional threads")];

#[rustfmt::skip] // a row is a line
pub const OUTPUT: &[Opt] = &[
    Opt::built("-O --output-fmt", Takes::Value, "-O, in lower case, with level=, version=, no_ref and profiles"),
    Opt::built("--output-fmt-option", Takes::Values, "-l and -O, for level=, version=, no_ref and profiles"),
];

#[rustfmt::skip] // a row is a line
pub const WRITE_INDEX: &[Opt] =
    &[Opt::built("--write-index", Takes::Nothing, "--write-index=csi, or the index of FILE##idx##INDEX; without it, --no-index")];

#[rustfmt::skip] // a row is a line
pub const NO_PG: &[Opt] = &[Opt::native("--no-PG", Takes::Nothing, "--no-PG")];

/// Returns the only input of a command. Without operands, it is standard input if `or_stdin` is
/// set, otherwise an error.
pub fn one_input(given: &ParsedArguments, or_stdin: bool) -> Result<&str> {
    match &given.operands[..] {
        [] if or_stdin => Ok("-"),
        [] => Err(given.refusal_error("no input is given")),
        [input] => Ok(input),
        [_, more, ..] => Err(given.refusal_error(&format!("unexpected argument: {more}"))),
    }
}

/// Returns a single `@RG` line from the values of `-r`, with tabs written as `\t`, as readmill
/// accepts it.
pub fn read_group_line(given: &ParsedArguments, texts: &[&str]) -> Result<String> {
    let fields = texts.join("\t").replace("\\t", "\t");
    let line = if fields.starts_with("@RG") { fields } else { format!("@RG\t{fields}") };
    let id = line.split('\t').find_map(|field| field.strip_prefix("ID:"));
    if id.is_none_or(str::is_empty) {
        return Err(given.refusal_error("the read group of -r has no ID").hint("add -r ID:name"));
    }
    Ok(line.replace('\t', "\\t"))
}
