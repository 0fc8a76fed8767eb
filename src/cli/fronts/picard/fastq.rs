//! Translates Picard SamToFastq.

use readmill_record::Result;

use super::super::grammar::{Given, Opt, Takes};
use super::super::line::{Line, in_pattern, standard_stream};
use super::super::tool::Command;
use super::shared::{COMMON, NO_MD5, REFERENCE, command, temporary};

pub const SAM_TO_FASTQ: Command =
    command("SamToFastq", &[FASTQ, REFERENCE, NO_MD5, COMMON], sam_to_fastq);

#[rustfmt::skip] // a row is a line
const FASTQ: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-F --FASTQ", Takes::Value, "-1; -o without SECOND_END_FASTQ"),
    Opt::built("-F2 --SECOND_END_FASTQ", Takes::Value, "-2"),
    Opt::built("-FU --UNPAIRED_FASTQ", Takes::Value, "-0; without it FASTQ"),
    Opt::built("-INTER --INTERLEAVE", Takes::Truth, "-o FASTQ; --single-end without it and SECOND_END_FASTQ"),
    Opt::built("-NON_PF --INCLUDE_NON_PF_READS", Takes::Truth, "-F 0x900; without it -F 0xb00"),
    Opt::refused("--INCLUDE_NON_PRIMARY_ALIGNMENTS", Takes::Truth, "writes secondary alignments", ""),
    Opt::unless("-RC --RE_REVERSE", "--as-aligned"),
    Opt::built("-CLIP_ACT --CLIPPING_ACTION", Takes::Value, "--clip-action: cut for X, mask for N, or a quality"),
    Opt::native("-CLIP_ATTR --CLIPPING_ATTRIBUTE", Takes::Value, "--clip-tag"),
    Opt::built("-CLIP_MIN --CLIPPING_MIN_LENGTH", Takes::Value, "--clip-least; nothing without CLIPPING_ACTION"),
    Opt::built("-OPRG --OUTPUT_PER_RG", Takes::Truth, "--per-read-group OUTPUT_DIR/{PU}_{end}.fastq"),
    Opt::built("-ODIR --OUTPUT_DIR", Takes::Value, "the directory of --per-read-group"),
    Opt::built("-GZOPRG --COMPRESS_OUTPUTS_PER_RG", Takes::Truth, ".fastq.gz in --per-read-group"),
    Opt::built("-RGT --RG_TAG", Takes::Value, "{PU} or {ID} in --per-read-group"),
    Opt::built("--VALIDATION_STRINGENCY", Takes::Value, "--refuse-singles; --drop-singles for LENIENT and SILENT; else readmill has checks of its own (row 161 of parity)"),
    Opt::native("-Q --QUALITY", Takes::Value, "--trim-quality"),
    Opt::native("-R1_MAX_BASES --READ1_MAX_BASES_TO_WRITE", Takes::Value, "--most-first"),
    Opt::native("-R1_TRIM --READ1_TRIM", Takes::Value, "--skip-first"),
    Opt::native("-R2_MAX_BASES --READ2_MAX_BASES_TO_WRITE", Takes::Value, "--most-last"),
    Opt::native("-R2_TRIM --READ2_TRIM", Takes::Value, "--skip-last"),
];

fn sam_to_fastq(given: &Given) -> Result<Line> {
    let mut line = Line::new("fastq -N");
    line.add(given.native_words());
    let action = match (given.value("--CLIPPING_ATTRIBUTE"), given.value("--CLIPPING_ACTION")) {
        (None, None) => None,
        (Some(_), Some("X")) => Some("cut"),
        (Some(_), Some("N")) => Some("mask"),
        (Some(_), Some(quality)) => Some(quality),
        _ => return Err(given.refuse("CLIPPING_ATTRIBUTE and CLIPPING_ACTION need each other")),
    };
    line.flag("--clip-action", action);
    line.flag("--clip-least", given.value("--CLIPPING_MIN_LENGTH").filter(|_| action.is_some()));
    if given.has("--OUTPUT_PER_RG") {
        line.flag("--per-read-group", Some(&per_group(given)?));
    } else {
        ends(given, &mut line)?;
    }
    line.add([if is_lenient(given)? { "--drop-singles" } else { "--refuse-singles" }]);
    let dropped = if given.has("--INCLUDE_NON_PF_READS") { "0x900" } else { "0xb00" };
    line.add(["-F", dropped]);
    if let Some(level) = given.value("--COMPRESSION_LEVEL") {
        line.add(["-c", level]);
    }
    temporary(&mut line, given);
    line.operands([standard_stream(given.needed("--INPUT")?)]);
    Ok(line)
}

/// Returns whether pairs with a missing mate are left out (LENIENT, SILENT). With
/// STRICT, the default, they are an error.
fn is_lenient(given: &Given) -> Result<bool> {
    match given.value("--VALIDATION_STRINGENCY") {
        None | Some("STRICT") => Ok(false),
        Some("LENIENT" | "SILENT") => Ok(true),
        Some(other) => Err(given
            .refuse(&format!("VALIDATION_STRINGENCY {other} is none of STRICT, LENIENT and SILENT"))),
    }
}

fn ends(given: &Given, line: &mut Line) -> Result<()> {
    if let Some(name) =
        ["--OUTPUT_DIR", "--COMPRESS_OUTPUTS_PER_RG"].into_iter().find(|name| given.has(name))
    {
        return Err(given.refuse(&format!("{} needs OUTPUT_PER_RG=true", name.trim_start_matches('-'))));
    }
    let first = given.needed("--FASTQ")?;
    let (second, unpaired) = (given.value("--SECOND_END_FASTQ"), given.value("--UNPAIRED_FASTQ"));
    match (second, given.has("--INTERLEAVE")) {
        (Some(_), true) => {
            return Err(given.refuse("INTERLEAVE=true and SECOND_END_FASTQ exclude each other"));
        }
        (Some(second), false) => line.add(["-1", first, "-2", second]),
        (None, true) => line.add(["-o", first]),
        // Picard stops if it finds a paired read.
        (None, false) => line.add(["--single-end", "-o", first]),
    };
    if second.is_none() && unpaired.is_some() {
        return Err(given.refuse("UNPAIRED_FASTQ needs SECOND_END_FASTQ"));
    }
    line.add(["-0", unpaired.unwrap_or(first)]);
    Ok(())
}

fn per_group(given: &Given) -> Result<String> {
    for name in ["--FASTQ", "--SECOND_END_FASTQ", "--UNPAIRED_FASTQ"] {
        if given.has(name) {
            let name = name.trim_start_matches('-');
            return Err(given.refuse(&format!("OUTPUT_PER_RG and {name} exclude each other")));
        }
    }
    let directory = given.needed("--OUTPUT_DIR")?.trim_end_matches('/');
    let field = match given.value("--RG_TAG").unwrap_or("PU") {
        tag if tag.eq_ignore_ascii_case("PU") => "PU",
        tag if tag.eq_ignore_ascii_case("ID") => "ID",
        tag => return Err(given.refuse(&format!("RG_TAG {tag} is neither PU nor ID"))),
    };
    // With INTERLEAVE, both reads of a pair are written to the file of the first.
    let end = if given.has("--INTERLEAVE") { "1" } else { "{end}" };
    let ending = if given.has("--COMPRESS_OUTPUTS_PER_RG") { ".fastq.gz" } else { ".fastq" };
    Ok(format!("{}/{{{field}}}_{end}{ending}", in_pattern(directory)))
}
