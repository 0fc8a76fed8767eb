//! Translates the Picard tools that write an index, a dictionary or text:
//! BuildBamIndex, CreateSequenceDictionary and ViewSam.

use std::path::Path;

use readmill_record::Result;

use super::super::grammar::{Given, Opt, Takes};
use super::super::line::{Line, standard_stream};
use super::super::tool::Command;
use super::shared::{COMMON, NO_MD5, REFERENCE, STRINGENCY, command};

pub const BUILD_BAM_INDEX: Command =
    command("BuildBamIndex", &[INDEX, REFERENCE, NO_MD5, STRINGENCY, COMMON], build_bam_index);

#[rustfmt::skip] // a row is a line
const INDEX: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o; without it X.bai for X.bam"),
];

fn build_bam_index(given: &Given) -> Result<Line> {
    let input = given.needed("--INPUT")?;
    let own = || Path::new(input).with_extension("bai").display().to_string();
    let output = given.value("--OUTPUT").map_or_else(own, str::to_string);
    let mut line = Line::new("index -b");
    line.flag("-o", Some(&output)).operands([input]);
    Ok(line)
}

pub const CREATE_SEQUENCE_DICTIONARY: Command = command(
    "CreateSequenceDictionary",
    &[DICTIONARY, NO_MD5, STRINGENCY, COMMON],
    create_sequence_dictionary,
);

#[rustfmt::skip] // a row is a line
const DICTIONARY: &[Opt] = &[
    Opt::built("-R --REFERENCE", Takes::Value, "the FASTA file"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o; without it REF.dict"),
    Opt::refused("-AN --ALT_NAMES", Takes::Value, "adds other names, AN", ""),
    Opt::native("-AS --GENOME_ASSEMBLY", Takes::Value, "--assembly"),
    Opt::native("-SP --SPECIES", Takes::Value, "--species"),
    Opt::native("-UR --URI", Takes::Value, "--uri"),
    Opt::refused("--NUM_SEQUENCES", Takes::Value, "stops after so many sequences", ""),
    Opt::only("--TRUNCATE_NAMES_AT_WHITESPACE", Takes::Truth, &["true"], "keeps whole lines as names", "a name ends at the first blank"),
];

fn create_sequence_dictionary(given: &Given) -> Result<Line> {
    let reference = given.needed("--REFERENCE")?;
    let stem = Path::new(reference.strip_suffix(".gz").unwrap_or(reference));
    let own = || stem.with_extension("dict").display().to_string();
    let output = given.value("--OUTPUT").map_or_else(own, str::to_string);
    if Path::new(&output).is_file() {
        return Err(given
            .refuse(&format!("{output} exists already, and is not overwritten"))
            .hint("remove it, or give another name by OUTPUT"));
    }
    let mut line = Line::new("dict --as-picard");
    line.add(given.native_words()).flag("-o", Some(&output)).operands([reference]);
    Ok(line)
}

pub const VIEW_SAM: Command =
    command("ViewSam", &[VIEW, REFERENCE, NO_MD5, STRINGENCY, COMMON], view_sam);

#[rustfmt::skip] // a row is a line
const VIEW: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("--ALIGNMENT_STATUS", Takes::Value, "-F 4, or -f 4; All without it"),
    Opt::built("--PF_STATUS", Takes::Value, "-F 0x200, or -f 0x200; All without it"),
    Opt::native("--INTERVAL_LIST", Takes::Value, "-L"),
    Opt::native("--HEADER_ONLY", Takes::Truth, "-H"),
    Opt::built("--RECORDS_ONLY", Takes::Truth, "without it -h"),
];

fn view_sam(given: &Given) -> Result<Line> {
    let mut line = Line::new("view --no-PG");
    line.add(given.native_words());
    if !given.has("--RECORDS_ONLY") && !given.has("--HEADER_ONLY") {
        line.add(["-h"]);
    }
    let mut bit = |name: &str, clear: &str, set: &str, bit: &str| -> Result<()> {
        match given.value(name).unwrap_or("All") {
            "All" => {}
            text if text == clear => drop(line.add(["-F", bit])),
            text if text == set => drop(line.add(["-f", bit])),
            text => {
                return Err(given.refuse(&format!("{name} {text} is none of All, {clear} and {set}")));
            }
        }
        Ok(())
    };
    bit("--ALIGNMENT_STATUS", "Aligned", "Unaligned", "0x4")?;
    bit("--PF_STATUS", "PF", "NonPF", "0x200")?;
    line.operands([standard_stream(given.needed("--INPUT")?)]);
    Ok(line)
}
