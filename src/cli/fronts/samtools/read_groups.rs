//! samtools addreplacerg.

use readmill_record::{Error, Header, Result};

use super::super::grammar::{Given, Opt, Takes};
use super::super::headers;
use super::super::line::{Line, format_of_name, samtools_output, standard_stream, threads_in_all};
use super::super::tool::Command;
use super::shared::{
    INPUT, INPUT_FORMAT, NO_PG, OUTPUT, REFERENCE, THREADS, WRITE_INDEX, command, one_input,
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
    let header = headers::header(standard_stream(input))?;
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
    let output = given.value("-o").unwrap_or("-");
    // (It writes text where neither the name nor --output-fmt says another format.)
    let is_named = format_of_name(output.split("##idx##").next().unwrap_or_default()).is_some();
    let format = given.value("-O").or((!is_named).then_some("sam"));
    samtools_output(&mut line, given, output, format, level)?;
    line.operands([input]);
    Ok(line)
}

fn existing_flag(are_orphans: bool) -> &'static str {
    if are_orphans { "--orphans-to-read-group" } else { "--to-read-group" }
}

fn new_flag(are_orphans: bool) -> &'static str {
    if are_orphans { "--orphans-to-read-group" } else { "--read-group" }
}

/// The IDs of the read groups of a header.
fn ids(header: &Header) -> impl Iterator<Item = String> {
    let ids = header.lines_of(b"RG").filter_map(|line| line.get(b"ID"));
    ids.map(|id| String::from_utf8_lossy(id).into_owned())
}

/// The ID of a read group that the header must have, as far as it can be read here.
fn known(given: &Given, header: Option<&Header>, id: &str) -> Result<String> {
    match header {
        Some(header) if !ids(header).any(|own| own == id) => Err(given
            .refuse(&format!("the header has no read group {id}"))
            .hint("give a whole @RG line by -r")),
        _ => Ok(id.to_string()),
    }
}

/// The first read group of the header.
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

/// A new `@RG` line of the values of -r.
fn new(given: &Given, header: Option<&Header>, texts: &[&str], are_orphans: bool) -> Result<String> {
    let fields = texts.join("\t").replace("\\t", "\t");
    let line = if fields.starts_with("@RG") { fields } else { format!("@RG\t{fields}") };
    let id = line.split('\t').find_map(|field| field.strip_prefix("ID:")).filter(|id| !id.is_empty());
    let Some(id) = id else {
        return Err(given.refuse("the read group of -r has no ID").hint("add -r ID:name"));
    };
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
    Ok(line.replace('\t', "\\t"))
}
