//! Translates samtools addreplacerg and split.

use readmill_record::{Error, Header, Result};

use super::super::grammar::{Given, Opt, Takes};
use super::super::headers;
use super::super::line::{
    Line, OutputStyle, SAMTOOLS_LEVEL, in_pattern, standard_stream, text_unless_named, threads_in_all,
};
use super::super::tool::Command;
use super::shared::{
    INPUT, INPUT_FORMAT, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, command, one_input, read_group,
};

pub const ADDREPLACERG: Command = command(
    "addreplacerg",
    &[OPTIONS, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, INPUT, INPUT_FORMAT],
    addreplacerg,
);

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-m", Takes::Value, "overwrite_all is the default; orphan_only: --orphans-to-read-group"),
    Opt::built("-o", Takes::Value, "-o"),
    Opt::built("-r", Takes::Values, "--read-group; several make one line"),
    Opt::built("-R", Takes::Value, "--to-read-group; without it and -r the first of the header"),
    Opt::built("-u", Takes::Nothing, "-l 0"),
    Opt::built("-w", Takes::Nothing, "without it a read group that the header has already is an error; refused with orphan_only, where it would change"),
];

fn addreplacerg(given: &Given) -> Result<Line> {
    let input = one_input(given, false)?;
    let header = headers::header(given, standard_stream(input))?;
    let are_orphans = match given.value("-m") {
        None | Some("overwrite_all") => false,
        Some("orphan_only") => true,
        Some(mode) => {
            return Err(given.refuse(&format!("-m {mode} is neither overwrite_all nor orphan_only")));
        }
    };
    let texts: Vec<&str> = given.all("-r").collect();
    let (flag, group) = match (&texts[..], given.value("-R")) {
        ([_, ..], Some(_)) => return Err(given.refuse("-r and -R exclude each other")),
        ([], Some(id)) => (existing_flag(are_orphans), known(given, header.as_ref(), id)?),
        ([], None) => (existing_flag(are_orphans), first(given, header.as_ref())?),
        (texts, None) => (new_flag(are_orphans), new(given, header.as_ref(), texts, are_orphans)?),
    };
    let mut line = Line::new("filter");
    line.flag(flag, Some(&group)).add(given.native_words());
    line.flag("-@", Some(&threads_in_all(given)?));
    let level = given.has("-u").then_some("0");
    text_unless_named(&mut line, given, given.value("-o").unwrap_or("-"), level)?;
    line.operands([input]);
    Ok(line)
}

fn existing_flag(are_orphans: bool) -> &'static str {
    if are_orphans { "--orphans-to-read-group" } else { "--to-read-group" }
}

fn new_flag(are_orphans: bool) -> &'static str {
    if are_orphans { "--orphans-to-read-group" } else { "--read-group" }
}

fn ids(header: &Header) -> impl Iterator<Item = String> {
    let ids = header.lines_of(b"RG").filter_map(|line| line.get(b"ID"));
    ids.map(|id| String::from_utf8_lossy(id).into_owned())
}

/// Checks that the header has a read group with this ID. The header of a pipe is `None`
/// and is not checked.
fn known(given: &Given, header: Option<&Header>, id: &str) -> Result<String> {
    match header {
        Some(header) if !ids(header).any(|own| own == id) => Err(given
            .refuse(&format!("the header has no read group {id}"))
            .hint("give a whole @RG line by -r")),
        _ => Ok(id.to_string()),
    }
}

fn first(given: &Given, header: Option<&Header>) -> Result<String> {
    let Some(header) = header else {
        return Err(given
            .refuse("which read group?")
            .hint("give -r or -R: the header of a pipe is not looked at before"));
    };
    ids(header).next().ok_or_else(|| {
        given.refuse("the header has no read group, and none is given").hint("give an @RG line by -r")
    })
}

/// Returns the new `@RG` line from the values of `-r`. Without `-w`, the header must
/// not have this read group yet.
fn new(given: &Given, header: Option<&Header>, texts: &[&str], are_orphans: bool) -> Result<String> {
    let line = read_group(given, texts)?;
    let id = line.split("\\t").find_map(|field| field.strip_prefix("ID:")).unwrap_or_default();
    let is_there = header.is_some_and(|header| ids(header).any(|own| own == id));
    if is_there && !given.has("-w") {
        return Err(given
            .refuse(&format!("the header has a read group {id} already"))
            .hint("replace it by -w, or put reads into it by -R"));
    }
    if is_there && are_orphans {
        let error = Error::usage(format!("{} -w is not supported with -m orphan_only", given.command));
        return Err(error.hint(format!("-R {id} puts reads into the read group as it is")));
    }
    Ok(line)
}

pub const SPLIT: Command = command(
    "split",
    &[SPLIT_OPTIONS, NO_PG, SPLIT_OUTPUT, REFERENCE, THREADS, SPLIT_INDEX, INPUT, INPUT_FORMAT],
    split,
);

#[rustfmt::skip] // a row is a line
const SPLIT_OPTIONS: &[Opt] = &[
    Opt::built("-f", Takes::Value, "--split-names: %* is the name of the input, %# {n}, %! {ID:raw}, %. the format"),
    Opt::built("-u", Takes::Value, "--split-rest; --split-no-rest without it"),
    Opt::refused("-h", Takes::Value, "gives the file of -u another header", "readmill reheader HEADER FILE"),
    Opt::refused("-d", Takes::Value, "splits by another field than RG", "readmill filter --move-to 'FILE=[TAG]==\"VALUE\"' for each value"),
    Opt::built("-p --zero-pad", Takes::Value, "{n:DIGITS} in --split-names"),
    Opt::harmless("-M --max-split", Takes::Value, "it belongs to -d"),
    Opt::harmless("-v", Takes::Nothing, "messages alone"),
];

#[rustfmt::skip] // a row is a line
const SPLIT_OUTPUT: &[Opt] = &[
    Opt::built("--output-fmt", Takes::Value, "the ending in --split-names, and -O: version=, no_ref and profiles of its options"),
    Opt::built("--output-fmt-option", Takes::Values, "level=, version=, no_ref and profiles: -l and -O"),
];

#[rustfmt::skip] // a row is a line
const SPLIT_INDEX: &[Opt] = &[Opt::built("--write-index", Takes::Nothing, "--write-index=csi, or that of CRAM; without it --no-index")];

fn split(given: &Given) -> Result<Line> {
    let input = one_input(given, false)?;
    let style = OutputStyle::of(given, given.value("--output-fmt"))?;
    let format = style.format.as_deref().unwrap_or("bam");
    let header = headers::header(given, standard_stream(input))?;
    if header.is_some_and(|header| ids(&header).next().is_none()) && given.value("-u").is_none() {
        return Err(given
            .refuse(&format!("{input} has no read groups"))
            .hint("put all reads into one file by -u FILE"));
    }
    let mut line = Line::new("split --by read-group");
    let pattern = names(given, input, format)?;
    line.flag("--split-names", Some(&pattern));
    match given.value("-u") {
        Some(rest) => line.add(["--split-rest", rest]),
        None => line.add(["--split-no-rest"]),
    };
    line.add(given.native_words());
    line.flag("-@", Some(&threads_in_all(given)?));
    if !style.words.is_empty() {
        line.flag("-O", Some(&format!("{format},{}", style.words.join(","))));
    } else if let Some(format) = &style.format {
        line.flag("-O", Some(format));
    }
    line.flag("-l", style.level.as_deref().or(pattern.ends_with(".bam").then_some(SAMTOOLS_LEVEL)));
    line.add([match (given.has("--write-index"), format) {
        (false, _) => "--no-index",
        (true, "cram") => "--write-index",
        (true, _) => "--write-index=csi",
    }]);
    line.operands([input]);
    Ok(line)
}

fn names(given: &Given, input: &str, format: &str) -> Result<String> {
    let file = input.rsplit('/').next().unwrap_or(input);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let (mut pattern, mut letters) = (String::new(), given.value("-f").unwrap_or("%*_%#.%.").chars());
    while let Some(letter) = letters.next() {
        if letter != '%' {
            pattern += &in_pattern(&letter.to_string());
            continue;
        }
        match letters.next() {
            Some('%') => pattern.push('%'),
            Some('*') => pattern += &in_pattern(stem),
            Some('#') => match given.value("-p").filter(|digits| *digits != "0") {
                Some(digits) => pattern += &format!("{{n:{digits}}}"),
                None => pattern += "{n}",
            },
            Some('!') => pattern += "{ID:raw}",
            Some('.') => pattern += format,
            other => {
                let other = other.map_or(String::new(), String::from);
                return Err(
                    given.refuse(&format!("-f has %{other}, which is none of %%, %*, %#, %! and %."))
                );
            }
        }
    }
    Ok(pattern)
}
