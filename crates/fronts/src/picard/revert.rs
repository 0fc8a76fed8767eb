//! Translates Picard RevertSam.

use std::path::Path;

use readmill_record::Result;

use super::shared::{
    COMMON, DEFAULT_LEVEL, MD5, REFERENCE, STRINGENCY, add_common_flags, add_temp_dirs, barclay_command,
    translate_sort_order,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::headers;
use crate::line::{NativeLine, escape_for_pattern, standard_stream};
use crate::tool::ToolCommand;

pub const REVERT_SAM: ToolCommand =
    barclay_command("RevertSam", &[OPTIONS, REFERENCE, MD5, STRINGENCY, COMMON], translate_revert_sam);

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o; with OUTPUT_BY_READGROUP, --split-names OUTPUT/{ID:raw}.bam"),
    Opt::built("-OM --OUTPUT_MAP", Takes::Value, "--split-table; ignored without OUTPUT_BY_READGROUP"),
    Opt::built("-OBR --OUTPUT_BY_READGROUP", Takes::Truth, "--split-by read-group"),
    Opt::built("-OBRFF --OUTPUT_BY_READGROUP_FILE_FORMAT", Takes::Value, "the ending in --split-names: sam, bam, cram, or dynamic (the ending of INPUT)"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "prep --sort; default queryname"),
    Opt::native_if_false("-OQ --RESTORE_ORIGINAL_QUALITIES", "--revert-keep qualities"),
    Opt::native_if_false("--REMOVE_DUPLICATE_INFORMATION", "--revert-keep duplicates"),
    Opt::native_if_false("--REMOVE_ALIGNMENT_INFORMATION", "--revert-keep alignments"),
    Opt::native_if_false("-RHC --RESTORE_HARDCLIPS", "--revert-keep hard-clips"),
    Opt::built("--ATTRIBUTE_TO_CLEAR", Takes::Values, "--revert-clear, in addition to Picard's defaults, which null removes"),
    Opt::built("-RV --ATTRIBUTE_TO_REVERSE", Takes::Values, "--revert-reverse, in addition to Picard's defaults, which null removes"),
    Opt::built("-RC --ATTRIBUTE_TO_REVERSE_COMPLEMENT", Takes::Values, "--revert-complement, in addition to Picard's defaults, which null removes"),
    Opt::built("--SANITIZE", Takes::Truth, "--revert-erase-unequal --whole-templates, after a sort by name, unless the header states that reads are grouped by name"),
    Opt::built("--MAX_DISCARD_FRACTION", Takes::Value, "--max-discarded; if more reads are dropped, no output is written"),
    Opt::built("--KEEP_FIRST_DUPLICATE", Takes::Truth, "--first-of-each-end"),
    Opt::native("-ALIAS --SAMPLE_ALIAS", Takes::Value, "--set-sample"),
    Opt::native("-LIB --LIBRARY_NAME", Takes::Value, "--set-library"),
];

/// Arguments that take a list of fields: Picard's name, readmill's flag, and Picard's default.
const FIELD_LISTS: [(&str, &str, &str); 3] = [
    ("--ATTRIBUTE_TO_CLEAR", "--revert-clear", "NM,UQ,PG,MD,MQ,SA,MC,AS"),
    ("--ATTRIBUTE_TO_REVERSE", "--revert-reverse", "OQ,U2"),
    ("--ATTRIBUTE_TO_REVERSE_COMPLEMENT", "--revert-complement", "E2,SQ"),
];

fn translate_revert_sam(given: &ParsedArguments) -> Result<NativeLine> {
    let input = given.require_value("--INPUT")?;
    let split = split_flags(given, input)?;
    let output = if split.is_empty() { given.require_value("--OUTPUT")? } else { "" };
    let finish = |line: &mut NativeLine| match split.is_empty() {
        true => add_common_flags(line, given, output),
        false => {
            add_temp_dirs(line, given);
            line.add(split.clone());
            if split.last().is_none_or(|name| !name.ends_with(".sam")) {
                line.add_flag(
                    "-l",
                    Some(given.last_value("--COMPRESSION_LEVEL").unwrap_or(DEFAULT_LEVEL)),
                );
            }
            line.add(["--no-index"]);
        }
    };
    let is_false = |name: &str| given.last_value(name) == Some("false");
    if is_false("--REMOVE_ALIGNMENT_INFORMATION") && !is_false("--RESTORE_HARDCLIPS") {
        return Err(given
            .refusal_error("RESTORE_HARDCLIPS must be false if REMOVE_ALIGNMENT_INFORMATION is false")
            .hint("add RESTORE_HARDCLIPS=false"));
    }
    let sort = translate_sort_order(given, given.last_value("--SORT_ORDER").unwrap_or("queryname"))?;
    let sanitize = sanitize_flags(given, sort)?;
    let mut line = NativeLine::new("prep --revert");
    line.add(given.native_words());
    for (option, flag, own) in FIELD_LISTS {
        let usual = (!given.is_default_removed(option)).then_some(own);
        let tags: Vec<&str> = usual.into_iter().chain(given.values(option)).collect();
        let list = if tags.is_empty() { ",".to_string() } else { tags.join(",") };
        line.add_flag(flag, Some(&list).filter(|list| *list != own).map(String::as_str));
    }
    line.add((!sanitize.is_empty()).then_some("--revert-erase-unequal"));
    line.add_flag("--sort", Some(sort));
    if sanitize.is_empty() {
        finish(&mut line);
        line.add_operands([standard_stream(input)]);
        return Ok(line);
    }
    let header = headers::read_header(given, input)?;
    if header.is_some_and(|header| header.declares_name_groups()) {
        line.add(sanitize);
        finish(&mut line);
        line.add_operands([standard_stream(input)]);
        return Ok(line);
    }
    add_temp_dirs(&mut line, given);
    line.add(
        ["--quiet", "--no-index", "-O", "bam", "-l", "0", "-o", "-"]
            .into_iter()
            .skip(usize::from(given.is_set("--QUIET"))),
    );
    line.add_operands([standard_stream(input)]);
    let mut last = NativeLine::new("filter");
    last.add(sanitize).add(given.is_set("--QUIET").then_some("--quiet"));
    finish(&mut last);
    last.add_operands(["-"]);
    last.source = Some(Box::new(line));
    Ok(last)
}

/// Returns the flags that drop incomplete templates (SANITIZE). Empty if this is not requested.
fn sanitize_flags(given: &ParsedArguments, sort: &str) -> Result<Vec<String>> {
    if !given.is_set("--SANITIZE") {
        let other = given.is_set("--KEEP_FIRST_DUPLICATE");
        return if other {
            Err(given.refusal_error("KEEP_FIRST_DUPLICATE needs SANITIZE"))
        } else {
            Ok(Vec::new())
        };
    }
    if sort != "queryname" {
        return Err(given.refusal_error("SANITIZE needs SORT_ORDER=queryname"));
    }
    let mut words = vec!["--whole-templates".to_string()];
    words.extend(given.is_set("--KEEP_FIRST_DUPLICATE").then(|| "--first-of-each-end".to_string()));
    if let Some(share) = given.last_value("--MAX_DISCARD_FRACTION") {
        words.extend(["--max-discarded".to_string(), share.to_string()]);
    }
    Ok(words)
}

/// Returns the flags that write a file for each read group (OUTPUT_BY_READGROUP). Empty if this is
/// not requested.
fn split_flags(given: &ParsedArguments, input: &str) -> Result<Vec<String>> {
    let (output, map) = (given.last_value("--OUTPUT"), given.last_value("--OUTPUT_MAP"));
    if !given.is_set("--OUTPUT_BY_READGROUP") {
        return match map {
            Some(_) => Err(given.refusal_error("OUTPUT_MAP needs OUTPUT_BY_READGROUP=true")),
            None => Ok(Vec::new()),
        };
    }
    if given.is_set("--CREATE_INDEX") {
        return Err(given
            .refusal_error("CREATE_INDEX and OUTPUT_BY_READGROUP exclude each other")
            .hint("omit CREATE_INDEX, and index the files: readmill index -M FILES"));
    }
    let ending = match given.last_value("--OUTPUT_BY_READGROUP_FILE_FORMAT").unwrap_or("dynamic") {
        "dynamic" if input.ends_with(".sam") => ".sam",
        "dynamic" if input.ends_with(".cram") => ".cram",
        "dynamic" | "bam" => ".bam",
        "sam" => ".sam",
        "cram" => ".cram",
        other => {
            return Err(given.refusal_error(&format!(
                "OUTPUT_BY_READGROUP_FILE_FORMAT {other} is not one of sam, bam, cram and dynamic"
            )));
        }
    };
    let header = headers::read_header(given, input)?;
    if header.is_some_and(|header| header.lines_of_kind(b"RG").next().is_none()) {
        return Err(given
            .refusal_error(&format!("{input} has no read groups"))
            .hint("omit OUTPUT_BY_READGROUP, and give a file with OUTPUT"));
    }
    let mut words =
        vec!["--split-by".to_string(), "read-group".to_string(), "--split-no-rest".to_string()];
    match (output, map) {
        (Some(_), Some(_)) => {
            return Err(given.refusal_error("OUTPUT and OUTPUT_MAP exclude each other"));
        }
        (None, None) => {
            return Err(given.refusal_error("OUTPUT (a directory) or OUTPUT_MAP must be given"));
        }
        (None, Some(map)) => words.extend(["--split-table".to_string(), map.to_string()]),
        (Some(directory), None) if !Path::new(directory).is_dir() => {
            return Err(given
                .refusal_error(&format!("OUTPUT {directory} is not a directory"))
                .hint("create it first: mkdir -p DIR"));
        }
        (Some(directory), None) => {
            let directory = escape_for_pattern(directory.trim_end_matches('/'));
            words.extend(["--split-names".to_string(), format!("{directory}/{{ID:raw}}{ending}")]);
        }
    }
    Ok(words)
}
