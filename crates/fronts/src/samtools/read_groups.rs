//! Translates samtools addreplacerg and split.

use readmill_record::{Error, Header, Result};

use super::shared::{
    INPUT, INPUT_FORMAT, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, getopt_command, one_input,
    read_group_line,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::headers;
use crate::line::{
    DEFAULT_SAMTOOLS_LEVEL, NativeLine, OutputStyle, add_samtools_text_output, escape_for_pattern,
    standard_stream, total_threads,
};
use crate::tool::ToolCommand;

pub const ADDREPLACERG: ToolCommand = getopt_command(
    "addreplacerg",
    &[OPTIONS, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, INPUT, INPUT_FORMAT],
    translate_addreplacerg,
);

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-m", Takes::Value, "overwrite_all: default; orphan_only: --orphans-to-read-group"),
    Opt::built("-o", Takes::Value, "-o"),
    Opt::built("-r", Takes::Values, "--read-group; several are joined into one line"),
    Opt::built("-R", Takes::Value, "--to-read-group; without -R and -r, the first read group of the header"),
    Opt::built("-u", Takes::Nothing, "-l 0"),
    Opt::built("-w", Takes::Nothing, "replaces a read group of the header, which is an error without -w; refused with orphan_only"),
];

fn translate_addreplacerg(given: &ParsedArguments) -> Result<NativeLine> {
    let input = one_input(given, false)?;
    let header = headers::read_header(given, standard_stream(input))?;
    let are_orphans = match given.last_value("-m") {
        None | Some("overwrite_all") => false,
        Some("orphan_only") => true,
        Some(mode) => {
            return Err(given.refusal_error(&format!("-m {mode} is not overwrite_all or orphan_only")));
        }
    };
    let texts: Vec<&str> = given.values("-r").collect();
    let (flag, group) = match (&texts[..], given.last_value("-R")) {
        ([_, ..], Some(_)) => return Err(given.refusal_error("-r and -R exclude each other")),
        ([], Some(id)) => {
            (flag_for_existing_group(are_orphans), require_known_group(given, header.as_ref(), id)?)
        }
        ([], None) => (flag_for_existing_group(are_orphans), first_group(given, header.as_ref())?),
        (texts, None) => (
            flag_for_new_group(are_orphans),
            new_group_line(given, header.as_ref(), texts, are_orphans)?,
        ),
    };
    let mut line = NativeLine::new("filter");
    line.add_flag(flag, Some(&group)).add(given.native_words());
    line.add_flag("-@", Some(&total_threads(given)?));
    let level = given.is_set("-u").then_some("0");
    add_samtools_text_output(&mut line, given, given.last_value("-o").unwrap_or("-"), level)?;
    line.add_operands([input]);
    Ok(line)
}

fn flag_for_existing_group(are_orphans: bool) -> &'static str {
    if are_orphans { "--orphans-to-read-group" } else { "--to-read-group" }
}

fn flag_for_new_group(are_orphans: bool) -> &'static str {
    if are_orphans { "--orphans-to-read-group" } else { "--read-group" }
}

fn read_group_ids(header: &Header) -> impl Iterator<Item = String> {
    let ids = header.lines_of_kind(b"RG").filter_map(|line| line.get(b"ID"));
    ids.map(|id| String::from_utf8_lossy(id).into_owned())
}

/// Checks that the header has a read group with this ID. Does not check a pipe, whose header is
/// `None`.
fn require_known_group(given: &ParsedArguments, header: Option<&Header>, id: &str) -> Result<String> {
    match header {
        Some(header) if !read_group_ids(header).any(|own| own == id) => Err(given
            .refusal_error(&format!("the header has no read group {id}"))
            .hint("give a complete @RG line with -r")),
        _ => Ok(id.to_string()),
    }
}

fn first_group(given: &ParsedArguments, header: Option<&Header>) -> Result<String> {
    let Some(header) = header else {
        return Err(given
            .refusal_error("no read group is given, but the input is a pipe")
            .hint("give -r or -R, because the header of a pipe cannot be read first"));
    };
    read_group_ids(header).next().ok_or_else(|| {
        given
            .refusal_error("no read group is given, and the header has none")
            .hint("give an @RG line with -r")
    })
}

/// Returns the new `@RG` line from the values of `-r`. Without `-w`, the header must not contain
/// this read group.
fn new_group_line(
    given: &ParsedArguments,
    header: Option<&Header>,
    texts: &[&str],
    are_orphans: bool,
) -> Result<String> {
    let line = read_group_line(given, texts)?;
    let id = line.split("\\t").find_map(|field| field.strip_prefix("ID:")).unwrap_or_default();
    let is_there = header.is_some_and(|header| read_group_ids(header).any(|own| own == id));
    if is_there && !given.is_set("-w") {
        return Err(given
            .refusal_error(&format!("the header already has a read group {id}"))
            .hint("to replace it, add -w; to put reads into it, use -R"));
    }
    if is_there && are_orphans {
        let error = Error::usage(format!("{} -w is not supported with -m orphan_only", given.command));
        return Err(error.hint(format!("to put reads into the existing read group, use -R {id}")));
    }
    Ok(line)
}

pub const SPLIT: ToolCommand = getopt_command(
    "split",
    &[SPLIT_OPTIONS, NO_PG, SPLIT_OUTPUT, REFERENCE, THREADS, SPLIT_INDEX, INPUT, INPUT_FORMAT],
    translate_split,
);

#[rustfmt::skip] // a row is a line
const SPLIT_OPTIONS: &[Opt] = &[
    Opt::built("-f", Takes::Value, "--split-names: %* becomes the name of the input, %# {n}, %! {ID:raw}, and %. the format"),
    Opt::built("-u", Takes::Value, "--split-rest; without it, --split-no-rest"),
    Opt::refused("-h", Takes::Value, "sets another header for the file of -u", "use readmill reheader HEADER FILE"),
    Opt::refused("-d", Takes::Value, "splits by a field other than RG", "readmill filter --move-to 'FILE=[TAG]==\"VALUE\"' for each value"),
    Opt::built("-p --zero-pad", Takes::Value, "{n:DIGITS} in --split-names"),
    Opt::harmless("-M --max-split", Takes::Value, "used only with -d"),
    Opt::harmless("-v", Takes::Nothing, "affects only messages"),
];

#[rustfmt::skip] // a row is a line
const SPLIT_OUTPUT: &[Opt] = &[
    Opt::built("--output-fmt", Takes::Value, "the ending in --split-names, and -O with version=, no_ref and profiles"),
    Opt::built("--output-fmt-option", Takes::Values, "-l and -O, for level=, version=, no_ref and profiles"),
];

#[rustfmt::skip] // a row is a line
const SPLIT_INDEX: &[Opt] = &[Opt::built("--write-index", Takes::Nothing, "--write-index=csi, or crai for CRAM; without it, --no-index")];

fn translate_split(given: &ParsedArguments) -> Result<NativeLine> {
    let input = one_input(given, false)?;
    let style = OutputStyle::from_options(given, given.last_value("--output-fmt"))?;
    let format = style.format.as_deref().unwrap_or("bam");
    let header = headers::read_header(given, standard_stream(input))?;
    if header.is_some_and(|header| read_group_ids(&header).next().is_none())
        && given.last_value("-u").is_none()
    {
        return Err(given
            .refusal_error(&format!("{input} has no read groups"))
            .hint("to put all reads into one file, use -u FILE"));
    }
    let mut line = NativeLine::new("split --by read-group");
    let pattern = translate_name_format(given, input, format)?;
    line.add_flag("--split-names", Some(&pattern));
    match given.last_value("-u") {
        Some(rest) => line.add(["--split-rest", rest]),
        None => line.add(["--split-no-rest"]),
    };
    line.add(given.native_words());
    line.add_flag("-@", Some(&total_threads(given)?));
    if !style.words.is_empty() {
        line.add_flag("-O", Some(&format!("{format},{}", style.words.join(","))));
    } else if let Some(format) = &style.format {
        line.add_flag("-O", Some(format));
    }
    line.add_flag(
        "-l",
        style.level.as_deref().or(pattern.ends_with(".bam").then_some(DEFAULT_SAMTOOLS_LEVEL)),
    );
    line.add([match (given.is_set("--write-index"), format) {
        (false, _) => "--no-index",
        (true, "cram") => "--write-index",
        (true, _) => "--write-index=csi",
    }]);
    line.add_operands([input]);
    Ok(line)
}

fn translate_name_format(given: &ParsedArguments, input: &str, format: &str) -> Result<String> {
    let file = input.rsplit('/').next().unwrap_or(input);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let (mut pattern, mut letters) =
        (String::new(), given.last_value("-f").unwrap_or("%*_%#.%.").chars());
    while let Some(letter) = letters.next() {
        if letter != '%' {
            pattern += &escape_for_pattern(&letter.to_string());
            continue;
        }
        match letters.next() {
            Some('%') => pattern.push('%'),
            Some('*') => pattern += &escape_for_pattern(stem),
            Some('#') => match given.last_value("-p").filter(|digits| *digits != "0") {
                Some(digits) => pattern += &format!("{{n:{digits}}}"),
                None => pattern += "{n}",
            },
            Some('!') => pattern += "{ID:raw}",
            Some('.') => pattern += format,
            other => {
                let other = other.map_or(String::new(), String::from);
                return Err(given.refusal_error(&format!(
                    "-f has %{other}, which is not one of %%, %*, %#, %! and %."
                )));
            }
        }
    }
    Ok(pattern)
}
