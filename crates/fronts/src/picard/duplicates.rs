//! Translates Picard MarkDuplicates.

use readmill_record::Result;

use super::shared::{COMMON, MD5, REFERENCE, STRINGENCY, add_common_flags, barclay_command};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::headers;
use crate::line::NativeLine;
use crate::tool::ToolCommand;

pub const MARK_DUPLICATES: ToolCommand = barclay_command(
    "MarkDuplicates",
    &[OPTIONS, FLOW, REFERENCE, MD5, STRINGENCY, COMMON],
    translate_mark_duplicates,
);

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-I --INPUT", Takes::Files, "the inputs"),
    Opt::native("-M --METRICS_FILE", Takes::Value, "--metrics"),
    Opt::built("-O --OUTPUT", Takes::Value, "-o"),
    Opt::harmless("--ADD_PG_TAG_TO_READS", Takes::Truth, "readmill never changes PG:Z of reads (row 5 of parity)"),
    Opt::built("-ASO --ASSUME_SORT_ORDER", Takes::Value, "--duplicate-mode coordinate or template; default: by the header of the first input; several inputs are sorted in this order, except for queryname if their headers do not state it"),
    Opt::built("-AS --ASSUME_SORTED", Takes::Truth, "--duplicate-mode coordinate"),
    Opt::native("--BARCODE_TAG", Takes::Value, "--barcode-tag"),
    Opt::native_if_false("--CLEAR_DT", "--keep-dt"),
    Opt::refused("-CO --COMMENT", Takes::Values, "adds comments to the header", "omit it"),
    Opt::native("--DUPLEX_UMI", Takes::Truth, "--duplex-umi"),
    Opt::native("-DS --DUPLICATE_SCORING_STRATEGY", Takes::Value, "--scoring-strategy"),
    Opt::harmless("-MAX_FILE_HANDLES --MAX_FILE_HANDLES_FOR_READ_ENDS_MAP", Takes::Value, "readmill opens one temporary file per directory"),
    Opt::native("--MAX_OPTICAL_DUPLICATE_SET_SIZE", Takes::Value, "--max-optical-set-size"),
    Opt::harmless("-MAX_SEQS --MAX_SEQUENCES_FOR_DISK_READ_ENDS_MAP", Takes::Value, "Picard also ignores it"),
    Opt::native("--MOLECULAR_IDENTIFIER_TAG", Takes::Value, "--molecular-identifier-tag"),
    Opt::native("--OPTICAL_DUPLICATE_PIXEL_DISTANCE", Takes::Value, "--optical-distance"),
    Opt::refused("-PG_COMMAND --PROGRAM_GROUP_COMMAND_LINE", Takes::Value, "sets CL of @PG", "readmill writes its own @PG line"),
    Opt::refused("-PG_NAME --PROGRAM_GROUP_NAME", Takes::Value, "sets PN of @PG", "readmill writes its own @PG line"),
    Opt::refused("-PG_VERSION --PROGRAM_GROUP_VERSION", Takes::Value, "sets VN of @PG", "readmill writes its own @PG line"),
    Opt::refused("-PG --PROGRAM_RECORD_ID", Takes::Value, "sets ID of @PG", "readmill writes its own @PG line"),
    Opt::native("--READ_NAME_REGEX", Takes::Value, "--read-names"),
    Opt::native("--READ_ONE_BARCODE_TAG", Takes::Value, "--read-one-barcode-tag"),
    Opt::native("--READ_TWO_BARCODE_TAG", Takes::Value, "--read-two-barcode-tag"),
    Opt::native("--REMOVE_DUPLICATES", Takes::Truth, "--remove-duplicates"),
    Opt::native("--REMOVE_SEQUENCING_DUPLICATES", Takes::Truth, "--remove-optical-duplicates"),
    Opt::harmless("--SORTING_COLLECTION_SIZE_RATIO", Takes::Value, "readmill limits memory with -m"),
    Opt::native("--TAG_DUPLICATE_SET_MEMBERS", Takes::Truth, "--tag-duplicate-set-members"),
    Opt::native("--TAGGING_POLICY", Takes::Value, "--tag-duplicates"),
];

const NO_FLOW: &str = "readmill has no rules for flow-based reads";

/// Options for flow-based reads. Without the first one, which is refused, the others have no
/// effect.
#[rustfmt::skip] // a row is a line
const FLOW: &[Opt] = &[
    Opt::refused("--FLOW_MODE", Takes::Truth, "marks flow-based reads", NO_FLOW),
    Opt::harmless("--FLOW_DUP_STRATEGY", Takes::Value, "used only with FLOW_MODE"),
    Opt::harmless("--FLOW_EFFECTIVE_QUALITY_THRESHOLD", Takes::Value, "used only with FLOW_MODE"),
    Opt::harmless("--FLOW_Q_IS_KNOWN_END", Takes::Truth, "used only with FLOW_MODE"),
    Opt::harmless("--FLOW_SKIP_FIRST_N_FLOWS", Takes::Value, "used only with FLOW_MODE"),
    Opt::harmless("--FLOW_UNPAIRED_END_UNCERTAINTY", Takes::Value, "used only with FLOW_MODE"),
    Opt::harmless("--FLOW_UNPAIRED_START_UNCERTAINTY", Takes::Value, "used only with FLOW_MODE"),
    Opt::harmless("--FLOW_USE_END_IN_UNPAIRED_READS", Takes::Truth, "used only with FLOW_MODE"),
    Opt::harmless("--FLOW_USE_UNPAIRED_CLIPPED_END", Takes::Truth, "used only with FLOW_MODE"),
];

fn translate_mark_duplicates(given: &ParsedArguments) -> Result<NativeLine> {
    let mut line = NativeLine::new("markdup");
    line.add(given.native_words());
    given.require_value("--METRICS_FILE")?;
    for name in ["--DUPLEX_UMI", "--MOLECULAR_IDENTIFIER_TAG"] {
        if given.is_set(name) && !given.is_set("--BARCODE_TAG") {
            return Err(given.refusal_error(&format!("{name} is not supported without BARCODE_TAG")));
        }
    }
    let inputs: Vec<&str> = given.values("--INPUT").collect();
    let first = inputs.first().ok_or_else(|| given.refusal_error("INPUT is missing"))?;
    let assumed = match given.last_value("--ASSUME_SORT_ORDER") {
        Some(order) => Some(order.to_string()),
        None if given.is_set("--ASSUME_SORTED") => Some("coordinate".to_string()),
        None => headers::read_sort_order(given, first)?,
    };
    let (mode, order) = match assumed.as_deref() {
        Some("coordinate") => ("coordinate", "coordinate"),
        Some("queryname") => ("template", "queryname"),
        Some(other) if given.last_value("--ASSUME_SORT_ORDER").is_some() => {
            return Err(given.refusal_error(&format!(
                "ASSUME_SORT_ORDER {other} is not supported; use coordinate or queryname"
            )));
        }
        _ => ("auto", "none"),
    };
    line.add_flag("--duplicate-mode", Some(mode));
    // Picard merges several inputs in the assumed order. If the inputs are only grouped by name,
    // the order of the input is kept.
    if inputs.len() > 1
        && (order == "coordinate" || order == "queryname" && are_all_sorted_by_name(given, &inputs)?)
    {
        line.add_flag("--sort", Some(order));
    }
    add_common_flags(&mut line, given, given.require_value("--OUTPUT")?);
    line.add_operands(inputs);
    Ok(line)
}

fn are_all_sorted_by_name(given: &ParsedArguments, inputs: &[&str]) -> Result<bool> {
    for input in inputs {
        if headers::read_sort_order(given, input)?.as_deref() != Some("queryname") {
            return Ok(false);
        }
    }
    Ok(true)
}
