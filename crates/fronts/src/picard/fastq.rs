//! Translates Picard SamToFastq.

use readmill_record::Result;

use super::shared::{COMMON, NO_MD5, REFERENCE, add_temp_dirs, barclay_command};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, escape_for_pattern, standard_stream};
use crate::tool::ToolCommand;

pub const SAM_TO_FASTQ: ToolCommand =
    barclay_command("SamToFastq", &[FASTQ, REFERENCE, NO_MD5, COMMON], translate_sam_to_fastq);

#[rustfmt::skip] // a row is a line
const FASTQ: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-F --FASTQ", Takes::Value, "-1; without SECOND_END_FASTQ, -o"),
    Opt::built("-F2 --SECOND_END_FASTQ", Takes::Value, "-2"),
    Opt::built("-FU --UNPAIRED_FASTQ", Takes::Value, "-0; default: FASTQ"),
    Opt::built("-INTER --INTERLEAVE", Takes::Truth, "-o FASTQ; without INTERLEAVE and SECOND_END_FASTQ, --single-end"),
    Opt::built("-NON_PF --INCLUDE_NON_PF_READS", Takes::Truth, "-F 0x900; without it, -F 0xb00"),
    Opt::refused("--INCLUDE_NON_PRIMARY_ALIGNMENTS", Takes::Truth, "writes secondary alignments", ""),
    Opt::native_if_false("-RC --RE_REVERSE", "--as-aligned"),
    Opt::built("-CLIP_ACT --CLIPPING_ACTION", Takes::Value, "--clip-action: cut for X, mask for N, or a quality"),
    Opt::native("-CLIP_ATTR --CLIPPING_ATTRIBUTE", Takes::Value, "--clip-tag"),
    Opt::built("-CLIP_MIN --CLIPPING_MIN_LENGTH", Takes::Value, "--clip-least; ignored without CLIPPING_ACTION"),
    Opt::built("-OPRG --OUTPUT_PER_RG", Takes::Truth, "--per-read-group OUTPUT_DIR/{PU}_{end}.fastq"),
    Opt::built("-ODIR --OUTPUT_DIR", Takes::Value, "the directory of --per-read-group"),
    Opt::built("-GZOPRG --COMPRESS_OUTPUTS_PER_RG", Takes::Truth, ".fastq.gz in --per-read-group"),
    Opt::built("-RGT --RG_TAG", Takes::Value, "{PU} or {ID} in --per-read-group"),
    Opt::built("--VALIDATION_STRINGENCY", Takes::Value, "--refuse-singles; for LENIENT and SILENT, --drop-singles; other checks are those of readmill (row 161 of parity)"),
    Opt::native("-Q --QUALITY", Takes::Value, "--trim-quality"),
    Opt::native("-R1_MAX_BASES --READ1_MAX_BASES_TO_WRITE", Takes::Value, "--most-first"),
    Opt::native("-R1_TRIM --READ1_TRIM", Takes::Value, "--skip-first"),
    Opt::native("-R2_MAX_BASES --READ2_MAX_BASES_TO_WRITE", Takes::Value, "--most-last"),
    Opt::native("-R2_TRIM --READ2_TRIM", Takes::Value, "--skip-last"),
];

fn translate_sam_to_fastq(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("fastq -N");
    line.add(given.native_words());
    let action = match (given.last_value("--CLIPPING_ATTRIBUTE"), given.last_value("--CLIPPING_ACTION"))
    {
        (None, None) => None,
        (Some(_), Some("X")) => Some("cut"),
        (Some(_), Some("N")) => Some("mask"),
        (Some(_), Some(quality)) => Some(quality),
        _ => {
            return Err(
                given.refusal_error("CLIPPING_ATTRIBUTE and CLIPPING_ACTION must be given together")
            );
        }
    };
    line.add_flag("--clip-action", action);
    line.add_flag(
        "--clip-least",
        given.last_value("--CLIPPING_MIN_LENGTH").filter(|_| action.is_some()),
    );
    if given.is_set("--OUTPUT_PER_RG") {
        line.add_flag("--per-read-group", Some(&read_group_file_pattern(given)?));
    } else {
        add_output_files(given, &mut line)?;
    }
    line.add([if drops_missing_mates(given)? { "--drop-singles" } else { "--refuse-singles" }]);
    let dropped = if given.is_set("--INCLUDE_NON_PF_READS") { "0x900" } else { "0xb00" };
    line.add(["-F", dropped]);
    if let Some(level) = given.last_value("--COMPRESSION_LEVEL") {
        line.add(["-c", level]);
    }
    add_temp_dirs(&mut line, given);
    line.add_operands([standard_stream(given.require_value("--INPUT")?)]);
    Ok(line)
}

/// Returns whether pairs with a missing mate are omitted (LENIENT, SILENT). With STRICT, the
/// default, they are an error.
fn drops_missing_mates(given: &ParsedArguments) -> Result<bool> {
    match given.last_value("--VALIDATION_STRINGENCY") {
        None | Some("STRICT") => Ok(false),
        Some("LENIENT" | "SILENT") => Ok(true),
        Some(other) => Err(given.refusal_error(&format!(
            "VALIDATION_STRINGENCY {other} is not one of STRICT, LENIENT and SILENT"
        ))),
    }
}

fn add_output_files(given: &ParsedArguments, line: &mut NativeLine) -> Result<()> {
    if let Some(name) =
        ["--OUTPUT_DIR", "--COMPRESS_OUTPUTS_PER_RG"].into_iter().find(|name| given.is_set(name))
    {
        return Err(
            given.refusal_error(&format!("{} needs OUTPUT_PER_RG=true", name.trim_start_matches('-')))
        );
    }
    let first = given.require_value("--FASTQ")?;
    let (second, unpaired) =
        (given.last_value("--SECOND_END_FASTQ"), given.last_value("--UNPAIRED_FASTQ"));
    match (second, given.is_set("--INTERLEAVE")) {
        (Some(_), true) => {
            return Err(given.refusal_error("INTERLEAVE=true and SECOND_END_FASTQ exclude each other"));
        }
        (Some(second), false) => line.add(["-1", first, "-2", second]),
        (None, true) => line.add(["-o", first]),
        // Picard stops at the first paired read.
        (None, false) => line.add(["--single-end", "-o", first]),
    };
    if second.is_none() && unpaired.is_some() {
        return Err(given.refusal_error("UNPAIRED_FASTQ needs SECOND_END_FASTQ"));
    }
    line.add(["-0", unpaired.unwrap_or(first)]);
    Ok(())
}

fn read_group_file_pattern(given: &ParsedArguments) -> Result<String> {
    for name in ["--FASTQ", "--SECOND_END_FASTQ", "--UNPAIRED_FASTQ"] {
        if given.is_set(name) {
            let name = name.trim_start_matches('-');
            return Err(given.refusal_error(&format!("OUTPUT_PER_RG and {name} exclude each other")));
        }
    }
    let directory = given.require_value("--OUTPUT_DIR")?.trim_end_matches('/');
    let field = match given.last_value("--RG_TAG").unwrap_or("PU") {
        tag if tag.eq_ignore_ascii_case("PU") => "PU",
        tag if tag.eq_ignore_ascii_case("ID") => "ID",
        tag => return Err(given.refusal_error(&format!("RG_TAG {tag} is not PU or ID"))),
    };
    // With INTERLEAVE, both reads of a pair are written to the file for read 1.
    let end = if given.is_set("--INTERLEAVE") { "1" } else { "{end}" };
    let ending = if given.is_set("--COMPRESS_OUTPUTS_PER_RG") { ".fastq.gz" } else { ".fastq" };
    Ok(format!("{}/{{{field}}}_{end}{ending}", escape_for_pattern(directory)))
}
