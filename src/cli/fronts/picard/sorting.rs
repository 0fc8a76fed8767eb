//! Translates Picard SortSam and MergeSamFiles.

use readmill_record::Result;

use super::super::grammar::{Given, Opt, Takes};
use super::super::line::{Line, same_input_words};
use super::super::tool::Command;
use super::shared::{COMMON, MD5, REFERENCE, STRINGENCY, command, common, one_input, order};

pub const SORT_SAM: Command =
    command("SortSam", &[SORT_SAM_OPTIONS, REFERENCE, MD5, STRINGENCY, COMMON], sort_sam);

#[rustfmt::skip] // a row is a line
const SORT_SAM_OPTIONS: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Value, "the input"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "--sort coordinate or queryname; duplicate is refused"),
];

fn sort_sam(given: &Given) -> Result<Line> {
    let mut line = Line::new("sort --sort");
    let order = order(given, given.needed("--SORT_ORDER")?)?;
    if order == "none" {
        return Err(given.refuse("nothing is sorted, and SORT_ORDER is unsorted"));
    }
    line.add([order]).add(given.native_words());
    one_input(&mut line, given)?;
    Ok(line)
}

pub const MERGE_SAM_FILES: Command =
    command("MergeSamFiles", &[MERGE_OPTIONS, REFERENCE, MD5, STRINGENCY, COMMON], merge_sam_files);

#[rustfmt::skip] // a row is a line
const MERGE_OPTIONS: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Files, "the inputs"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::built("-SO --SORT_ORDER", Takes::Value, "--sort; coordinate without it"),
    Opt::harmless("-AS --ASSUME_SORTED", Takes::Truth, "readmill looks whether inputs are sorted, and sorts them if not"),
    Opt::harmless("-MSD --MERGE_SEQUENCE_DICTIONARIES", Takes::Truth, "dictionaries are merged, with or without it (row 162 of parity)"),
    Opt::harmless("--USE_THREADING", Takes::Truth, "all threads are used"),
    Opt::refused("-CO --COMMENT", Takes::Values, "adds comments to the header", "leave it out"),
    Opt::refused("-RGN --INTERVALS", Takes::Value, "keeps reads of some regions alone", "readmill prep --overlap FILE --sort coordinate a.bam b.bam -o OUT"),
];

fn merge_sam_files(given: &Given) -> Result<Line> {
    let mut line = Line::new("merge --sort");
    let order = order(given, given.value("--SORT_ORDER").unwrap_or("coordinate"))?;
    line.add([order]).add(given.native_words());
    given.needed("--INPUT")?;
    common(&mut line, given, given.needed("--OUTPUT")?);
    let inputs: Vec<&str> = given.all("--INPUT").collect();
    line.add(same_input_words(&inputs)).operands(inputs);
    Ok(line)
}
