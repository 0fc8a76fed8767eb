//! Translates the Picard tools that write an index, a dictionary or text:
//! BuildBamIndex, CreateSequenceDictionary and ViewSam.

use std::path::Path;

use readmill_record::Result;

use super::shared::{COMMON, NO_MD5, REFERENCE, STRINGENCY, barclay_command};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, htsjdk_index_name, standard_stream};
use crate::tool::ToolCommand;

pub const BUILD_BAM_INDEX: ToolCommand = barclay_command(
    "BuildBamIndex",
    &[INDEX, REFERENCE, NO_MD5, STRINGENCY, COMMON],
    translate_build_index,
);

#[rustfmt::skip] // a row is a line
const INDEX: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o; default: X.bai for X.bam, and otherwise INPUT.bai"),
];

fn translate_build_index(given: &ParsedArguments) -> Result<NativeLine> {
    let input = given.require_value("--INPUT")?;
    let output = given.last_value("--OUTPUT").map_or_else(|| htsjdk_index_name(input), str::to_string);
    let mut line = NativeLine::new("index -b");
    line.add_flag("-o", Some(&output)).add_operands([input]);
    Ok(line)
}

pub const CREATE_SEQUENCE_DICTIONARY: ToolCommand = barclay_command(
    "CreateSequenceDictionary",
    &[DICTIONARY, NO_MD5, STRINGENCY, COMMON],
    translate_create_dictionary,
);

#[rustfmt::skip] // a row is a line
const DICTIONARY: &[Opt] = &[
    Opt::built("-R --REFERENCE", Takes::Value, "the FASTA file"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o; default: REF.dict"),
    Opt::refused("-AN --ALT_NAMES", Takes::Value, "adds alternative names (AN)", ""),
    Opt::native("-AS --GENOME_ASSEMBLY", Takes::Value, "--assembly"),
    Opt::native("-SP --SPECIES", Takes::Value, "--species"),
    Opt::native("-UR --URI", Takes::Value, "--uri"),
    Opt::refused("--NUM_SEQUENCES", Takes::Value, "limits the number of sequences", ""),
    Opt::only("--TRUNCATE_NAMES_AT_WHITESPACE", Takes::Truth, &["true"], "uses whole lines as names", "in readmill, a name ends at the first blank"),
];

fn translate_create_dictionary(given: &ParsedArguments) -> Result<NativeLine> {
    let reference = given.require_value("--REFERENCE")?;
    let stem = Path::new(reference.strip_suffix(".gz").unwrap_or(reference));
    let own = || stem.with_extension("dict").display().to_string();
    let output = given.last_value("--OUTPUT").map_or_else(own, str::to_string);
    if Path::new(&output).is_file() {
        return Err(given
            .refusal_error(&format!("{output} already exists and is not overwritten"))
            .hint("remove it, or give another name with OUTPUT"));
    }
    let mut line = NativeLine::new("dict --as-picard");
    line.add(given.native_words()).add_flag("-o", Some(&output)).add_operands([reference]);
    Ok(line)
}

pub const VIEW_SAM: ToolCommand =
    barclay_command("ViewSam", &[VIEW, REFERENCE, NO_MD5, STRINGENCY, COMMON], translate_view_sam);

#[rustfmt::skip] // a row is a line
const VIEW: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("--ALIGNMENT_STATUS", Takes::Value, "-F 4 or -f 4; default All"),
    Opt::built("--PF_STATUS", Takes::Value, "-F 0x200 or -f 0x200; default All"),
    Opt::native("--INTERVAL_LIST", Takes::Value, "-L"),
    Opt::native("--HEADER_ONLY", Takes::Truth, "-H"),
    Opt::built("--RECORDS_ONLY", Takes::Truth, "without it, -h"),
];

fn translate_view_sam(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("view --no-PG");
    line.add(given.native_words());
    if !given.is_set("--RECORDS_ONLY") && !given.is_set("--HEADER_ONLY") {
        line.add(["-h"]);
    }
    let mut bit = |name: &str, clear: &str, set: &str, bit: &str| -> Result<()> {
        match given.last_value(name).unwrap_or("All") {
            "All" => {}
            text if text == clear => drop(line.add(["-F", bit])),
            text if text == set => drop(line.add(["-f", bit])),
            text => {
                return Err(
                    given.refusal_error(&format!("{name} {text} is not one of All, {clear} and {set}"))
                );
            }
        }
        Ok(())
    };
    bit("--ALIGNMENT_STATUS", "Aligned", "Unaligned", "0x4")?;
    bit("--PF_STATUS", "PF", "NonPF", "0x200")?;
    line.add_operands([standard_stream(given.require_value("--INPUT")?)]);
    Ok(line)
}
