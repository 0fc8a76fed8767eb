//! Translates Picard SortSam and MergeSamFiles.

use readmill_record::Result;

use super::shared::{
    COMMON, MD5, REFERENCE, STRINGENCY, add_common_flags, add_input_and_output, barclay_command,
    translate_sort_order, translate_sorted_order,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, same_input_flag};
use crate::tool::ToolCommand;

pub const SORT_SAM: ToolCommand = barclay_command(
    "SortSam",
    &[SORT_SAM_OPTIONS, REFERENCE, MD5, STRINGENCY, COMMON],
    translate_sort_sam,
);

#[rustfmt::skip] // a row is a line
const SORT_SAM_OPTIONS: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "--sort coordinate or queryname; duplicate and unsorted are refused"),
];

fn translate_sort_sam(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("sort --sort");
    let asked = given.require_value("--SORT_ORDER")?;
    line.add([translate_sorted_order(given, asked, "use coordinate or queryname")?])
        .add(given.native_words());
    add_input_and_output(&mut line, given)?;
    Ok(line)
}

pub const MERGE_SAM_FILES: ToolCommand = barclay_command(
    "MergeSamFiles",
    &[MERGE_OPTIONS, REFERENCE, MD5, STRINGENCY, COMMON],
    translate_merge_files,
);

#[rustfmt::skip] // a row is a line
const MERGE_OPTIONS: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Files, "the inputs"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "--sort; default coordinate"),
    Opt::harmless("-AS --ASSUME_SORTED", Takes::Truth, "readmill detects whether inputs are sorted, and sorts them if they are not"),
    Opt::harmless("-MSD --MERGE_SEQUENCE_DICTIONARIES", Takes::Truth, "readmill always merges dictionaries (row 162 of parity)"),
    Opt::harmless("--USE_THREADING", Takes::Truth, "readmill always uses all threads"),
    Opt::refused("-CO --COMMENT", Takes::Values, "adds comments to the header", "omit it"),
    Opt::refused("-RGN --INTERVALS", Takes::Value, "keeps only reads in some regions", "readmill prep --overlap FILE --sort coordinate a.bam b.bam -o OUT"),
];

fn translate_merge_files(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("merge --sort");
    let order = translate_sort_order(given, given.last_value("--SORT_ORDER").unwrap_or("coordinate"))?;
    line.add([order]).add(given.native_words());
    given.require_value("--INPUT")?;
    add_common_flags(&mut line, given, given.require_value("--OUTPUT")?);
    let inputs: Vec<&str> = given.values("--INPUT").collect();
    line.add(same_input_flag(&inputs)).add_operands(inputs);
    Ok(line)
}
