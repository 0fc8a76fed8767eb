//! Translates the Picard tools that edit records: AddOrReplaceReadGroups, ReorderSam,
//! CleanSam, FixMateInformation and SetNmMdAndUqTags.

use std::path::Path;

use readmill_record::Result;

use super::shared::{
    COMMON, MD5, REFERENCE, STRINGENCY, add_input_and_output, barclay_command, read_group_line,
    translate_sorted_order,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::headers;
use crate::line::NativeLine;
use crate::tool::ToolCommand;

#[rustfmt::skip] // a row is a line
const IN_OUT: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
];

pub const ADD_OR_REPLACE_READ_GROUPS: ToolCommand = barclay_command(
    "AddOrReplaceReadGroups",
    &[IN_OUT, READ_GROUP, REFERENCE, MD5, STRINGENCY, COMMON],
    translate_add_read_groups,
);

#[rustfmt::skip] // a row is a line
const READ_GROUP: &[Opt] = &[
    Opt::built("-ID --RGID", Takes::Value, "ID of --read-group; default 1"),
    Opt::built("-LB --RGLB", Takes::Value, "LB of --read-group"),
    Opt::built("-PL --RGPL", Takes::Value, "PL of --read-group"),
    Opt::built("-PU --RGPU", Takes::Value, "PU of --read-group"),
    Opt::built("-SM --RGSM", Takes::Value, "SM of --read-group"),
    Opt::built("-CN --RGCN", Takes::Value, "CN of --read-group"),
    Opt::built("-DS --RGDS", Takes::Value, "DS of --read-group"),
    Opt::built("-DT --RGDT", Takes::Value, "DT of --read-group; a date without time means 00:00 UTC"),
    Opt::built("-FO --RGFO", Takes::Value, "FO of --read-group"),
    Opt::built("-KS --RGKS", Takes::Value, "KS of --read-group"),
    Opt::built("-PG --RGPG", Takes::Value, "PG of --read-group"),
    Opt::built("-PI --RGPI", Takes::Value, "PI of --read-group"),
    Opt::built("-PM --RGPM", Takes::Value, "PM of --read-group"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "prep --sort; default: keep the order; unsorted is refused"),
];

const READ_GROUP_FIELDS: [&str; 13] =
    ["ID", "LB", "PL", "SM", "PU", "CN", "DS", "DT", "FO", "KS", "PG", "PI", "PM"];

fn translate_add_read_groups(given: &ParsedArguments) -> Result<NativeLine> {
    for needed in ["--RGLB", "--RGPL", "--RGPU", "--RGSM"] {
        given.require_value(needed)?;
    }
    let names = READ_GROUP_FIELDS.map(|field| (field, format!("--RG{field}")));
    let usual = |field: &str| (field == "ID").then_some("1");
    let values = names.iter().map(|(field, name)| (*field, given.last_value(name).or(usual(field))));
    let group = read_group_line(given, values)?;
    let mut line = with_requested_sort(given, "filter")?;
    line.add_flag("--read-group", Some(&group)).add(given.native_words());
    add_input_and_output(&mut line, given)?;
    Ok(line)
}

/// Returns `prep --sort ORDER` if a sort order is requested, and `command` otherwise.
fn with_requested_sort(given: &ParsedArguments, command: &str) -> Result<NativeLine> {
    let Some(asked) = given.last_value("--SORT_ORDER") else { return Ok(NativeLine::new(command)) };
    // With `unsorted`, Picard changes only SO of the header, and no native flag does this.
    let way = "use coordinate or queryname, or omit SORT_ORDER";
    let order = translate_sorted_order(given, asked, way)?;
    Ok(NativeLine::new(&format!("prep --sort {order}")))
}

pub const REORDER_SAM: ToolCommand = barclay_command(
    "ReorderSam",
    &[IN_OUT, REORDER, REFERENCE, MD5, STRINGENCY, COMMON],
    translate_reorder_sam,
);

#[rustfmt::skip] // a row is a line
const REORDER: &[Opt] = &[
    Opt::built("-SD --SEQUENCE_DICTIONARY", Takes::Value, "--sequence-dictionary; for a FASTA file, its .dict file in the same directory"),
    Opt::refused("-U --ALLOW_CONTIG_LENGTH_DISCORDANCE", Takes::Truth, "accepts contigs with a different length", "give the dictionary of the reference that the reads were aligned to"),
    Opt::built("-S --ALLOW_INCOMPLETE_DICT_CONCORDANCE", Takes::Truth, "drops reads on contigs that are not in the dictionary; without it, such contigs are an error"),
];

fn translate_reorder_sam(given: &ParsedArguments) -> Result<NativeLine> {
    let (input, dictionary) =
        (given.require_value("--INPUT")?, given.require_value("--SEQUENCE_DICTIONARY")?);
    let dictionary = dictionary_path(dictionary);
    let header = headers::require_header(given, input)?;
    let new = headers::require_header(given, &dictionary)?;
    let lacking = header.references().iter().find(|old| new.reference_id(&old.name).is_none());
    let lacking = lacking.map(|contig| String::from_utf8_lossy(&contig.name).into_owned());
    if let Some(name) = lacking.filter(|_| !given.is_set("--ALLOW_INCOMPLETE_DICT_CONCORDANCE")) {
        return Err(given
            .refusal_error(&format!("the new dictionary has no contig {name}"))
            .hint("to drop its reads, add ALLOW_INCOMPLETE_DICT_CONCORDANCE=true"));
    }
    let is_sorted = headers::stated_sort_order(&header).is_some_and(|order| order == "coordinate");
    let mut line = NativeLine::new(if is_sorted { "prep --sort coordinate" } else { "filter" });
    line.add_flag("--sequence-dictionary", Some(&dictionary)).add(given.native_words());
    add_input_and_output(&mut line, given)?;
    Ok(line)
}

/// Returns the path of the sequence dictionary. For a FASTA file, it is the .dict file in the same
/// directory.
fn dictionary_path(path: &str) -> String {
    let stem = path.strip_suffix(".gz").unwrap_or(path);
    let is_fasta = [".fa", ".fasta", ".fna"].iter().any(|end| stem.ends_with(end));
    if is_fasta {
        Path::new(stem).with_extension("dict").display().to_string()
    } else {
        path.to_string()
    }
}

pub const CLEAN_SAM: ToolCommand =
    barclay_command("CleanSam", &[IN_OUT, REFERENCE, MD5, STRINGENCY, COMMON], |given| {
        let mut line = NativeLine::new("filter --clean-sam");
        line.add(given.native_words());
        add_input_and_output(&mut line, given)?;
        Ok(line)
    });

pub const FIX_MATE_INFORMATION: ToolCommand = barclay_command(
    "FixMateInformation",
    &[MATES, REFERENCE, MD5, STRINGENCY, COMMON],
    translate_fix_mates,
);

#[rustfmt::skip] // a row is a line
const MATES: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Files, "the input; several are refused"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::only("-MC --ADD_MATE_CIGAR", Takes::Truth, &["true"], "writes no MC", "use readmill filter --fix-mates picard --remove-optional-fields MC"),
    Opt::built("-AS --ASSUME_SORTED", Takes::Truth, "without it, prep --sort queryname, unless the header states this order"),
    Opt::only("--IGNORE_MISSING_MATES", Takes::Truth, &["true"], "fails at reads without their mate", "readmill counts such reads"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "prep --sort; unsorted is refused"),
];

fn translate_fix_mates(given: &ParsedArguments) -> Result<NativeLine> {
    let input = given.require_value("--INPUT")?;
    if given.values("--INPUT").nth(1).is_some() {
        return Err(given
            .refusal_error("several inputs are not supported")
            .hint("merge them first: readmill merge -n a.bam b.bam -o merged.bam"));
    }
    if given.last_value("--OUTPUT").is_none() {
        return Err(given
            .refusal_error("without OUTPUT, the input would be overwritten")
            .hint("give another name with OUTPUT"));
    }
    // If an output order is requested, the order in the header affects only the order of equal
    // reads, and reads whose mates are not adjacent are an error anyway. So the input may be a
    // pipe.
    let order_of = match given.last_value("--SORT_ORDER") {
        Some(_) => headers::read_sort_order(given, input)?,
        None => headers::stated_sort_order(&headers::require_header(given, input)?),
    };
    if order_of.as_deref() == Some("coordinate") {
        return Err(given.refusal_error("readmill needs mates to be adjacent, but this input is sorted by coordinate").hint(
            format!("readmill sort -n {input} -o - | readmill prep - --fix-mates picard --sort coordinate -o OUT"),
        ));
    }
    // Picard sorts by name unless the header declares this order.
    let is_named = given.is_set("--ASSUME_SORTED") || order_of.as_deref() == Some("queryname");
    let mut line =
        with_requested_sort(given, if is_named { "filter" } else { "prep --sort queryname" })?;
    line.add(["--fix-mates", "picard"]).add(given.native_words());
    add_input_and_output(&mut line, given)?;
    Ok(line)
}

pub const SET_NM_MD_AND_UQ_TAGS: ToolCommand = barclay_command(
    "SetNmMdAndUqTags",
    &[IN_OUT, DIFFERENCES, REFERENCE, MD5, STRINGENCY, COMMON],
    |given| {
        given.require_value("--REFERENCE_SEQUENCE")?;
        let mut line = NativeLine::new("filter --nm-md-uq");
        line.add(given.native_words());
        add_input_and_output(&mut line, given)?;
        Ok(line)
    },
);

#[rustfmt::skip] // a row is a line
const DIFFERENCES: &[Opt] = &[
    Opt::refused("--IS_BISULFITE_SEQUENCE", Takes::Truth, "does not count C read as T as a mismatch", ""),
    Opt::refused("--SET_ONLY_UQ", Takes::Truth, "writes only UQ", "omit it: then NM and MD are also written"),
];
