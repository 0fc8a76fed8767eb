//! Tools of Picard that write FASTQ, indexes, dictionaries or text, and those that have no native counterpart.

use std::path::Path;

use readmill_record::Result;

use super::super::grammar::{Given, Opt, Takes};
use super::super::line::{Line, standard_stream};
use super::super::tool::Command;
use super::shared::{COMMON, NO_MD5, REFERENCE, command, refused, temporary};

pub const MERGE_BAM_ALIGNMENT: Command = refused(
    "MergeBamAlignment",
    &[],
    "fields of unaligned reads are kept where reads are aligned",
    "readmill align REF unaligned.bam -o OUT",
);

pub const SAM_TO_FASTQ: Command =
    command("SamToFastq", &[FASTQ, REFERENCE, NO_MD5, COMMON], sam_to_fastq);

const PER_GROUP: &str = "readmill split IN --by read-group -o PREFIX, then readmill fastq";

#[rustfmt::skip] // a row is a line
const FASTQ: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-F --FASTQ", Takes::Value, "-1; -o without SECOND_END_FASTQ"),
    Opt::built("-F2 --SECOND_END_FASTQ", Takes::Value, "-2"),
    Opt::built("-FU --UNPAIRED_FASTQ", Takes::Value, "-0 and -s; without it FASTQ"),
    Opt::built("-INTER --INTERLEAVE", Takes::Truth, "-o FASTQ; --single-end without it and SECOND_END_FASTQ"),
    Opt::built("-NON_PF --INCLUDE_NON_PF_READS", Takes::Truth, "-F 0x900; without it -F 0xb00"),
    Opt::refused("--INCLUDE_NON_PRIMARY_ALIGNMENTS", Takes::Truth, "writes secondary alignments", ""),
    Opt::unless("-RC --RE_REVERSE", "--as-aligned"),
    Opt::built("-CLIP_ACT --CLIPPING_ACTION", Takes::Value, "--clip-action: cut for X, mask for N, or a quality"),
    Opt::native("-CLIP_ATTR --CLIPPING_ATTRIBUTE", Takes::Value, "--clip-tag"),
    Opt::built("-CLIP_MIN --CLIPPING_MIN_LENGTH", Takes::Value, "--clip-least; nothing without CLIPPING_ACTION"),
    Opt::refused("-OPRG --OUTPUT_PER_RG", Takes::Truth, "writes files by read group", PER_GROUP),
    Opt::refused("-ODIR --OUTPUT_DIR", Takes::Value, "writes files by read group", PER_GROUP),
    Opt::harmless("-GZOPRG --COMPRESS_OUTPUTS_PER_RG", Takes::Truth, "it belongs to OUTPUT_PER_RG"),
    Opt::harmless("-RGT --RG_TAG", Takes::Value, "it belongs to OUTPUT_PER_RG"),
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
    let first = given.needed("--FASTQ")?;
    let (second, unpaired) = (given.value("--SECOND_END_FASTQ"), given.value("--UNPAIRED_FASTQ"));
    match (second, given.has("--INTERLEAVE")) {
        (Some(_), true) => {
            return Err(given.refuse("INTERLEAVE=true and SECOND_END_FASTQ exclude each other"));
        }
        (Some(second), false) => line.add(["-1", first, "-2", second]),
        (None, true) => line.add(["-o", first]),
        // (Picard stops at paired reads.)
        (None, false) => line.add(["--single-end", "-o", first]),
    };
    if second.is_none() && unpaired.is_some() {
        return Err(given.refuse("UNPAIRED_FASTQ needs SECOND_END_FASTQ"));
    }
    let singles = unpaired.unwrap_or(first);
    line.add(["-0", singles, "-s", singles]);
    let dropped = if given.has("--INCLUDE_NON_PF_READS") { "0x900" } else { "0xb00" };
    line.add(["-F", dropped]);
    if let Some(level) = given.value("--COMPRESSION_LEVEL") {
        line.add(["-c", level]);
    }
    temporary(&mut line, given);
    line.operands([standard_stream(given.needed("--INPUT")?)]);
    Ok(line)
}

pub const BUILD_BAM_INDEX: Command =
    command("BuildBamIndex", &[INDEX, REFERENCE, NO_MD5, COMMON], build_bam_index);

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

pub const CREATE_SEQUENCE_DICTIONARY: Command =
    command("CreateSequenceDictionary", &[DICTIONARY, NO_MD5, COMMON], create_sequence_dictionary);

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

pub const VIEW_SAM: Command = command("ViewSam", &[VIEW, REFERENCE, NO_MD5, COMMON], view_sam);

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
