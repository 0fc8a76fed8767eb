//! Translates GATK's tools for base quality recalibration: BaseRecalibrator, ApplyBQSR,
//! GatherBQSRReports and AnalyzeCovariates.

use readmill_record::Result;

use super::read_filters::{self, BASE_RECALIBRATOR_FILTERS, COUNT_FILTERS, FILTER_ARGUMENTS};
use super::shared::{
    COMMON, DEFAULT_LEVEL, NO_FILTER, NO_READ_FILTERS, NO_VARIANTS, READS, add_common_flags,
    barclay_command,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, add_htsjdk_output, standard_stream};
use crate::tool::ToolCommand;

pub const BASE_RECALIBRATOR: ToolCommand = barclay_command(
    "BaseRecalibrator",
    &[TABLE, NO_OUTPUT, COUNT_FILTERS, FILTER_ARGUMENTS, NO_VARIANTS, READS, COMMON],
    translate_base_recalibrator,
);

const NOT_COUNTED: &str = "readmill uses the qualities of the reads";

#[rustfmt::skip] // a row is a line
const TABLE: &[Opt] = &[
    Opt::built("-I --input", Takes::Files, "the inputs"),
    Opt::native("--known-sites", Takes::Values, "--known-sites"),
    Opt::native("-O --output", Takes::Value, "-o"),
    Opt::native("-R --reference", Takes::Value, "--reference"),
    Opt::refused("--binary-tag-name", Takes::Value, "reads insertion and deletion qualities from optional fields", ""),
    Opt::harmless("--bqsr-baq-gap-open-penalty", Takes::Value, "BAQ is off"),
    Opt::built("--default-base-qualities", Takes::Value, "--default-base-qualities; -1: default"),
    Opt::only("--deletions-default-quality", Takes::Value, &["45"], "sets deletion qualities", NOT_COUNTED),
    Opt::only("--insertions-default-quality", Takes::Value, &["45"], "sets insertion qualities", NOT_COUNTED),
    Opt::only("--mismatches-default-quality", Takes::Value, &["-1"], "sets base qualities", NOT_COUNTED),
    Opt::native("-XL --exclude-intervals", Takes::Values, "--exclude-intervals"),
    Opt::native("-ics --indels-context-size", Takes::Value, "--indels-context-size"),
    Opt::only("-ixp --interval-exclusion-padding", Takes::Value, &["0"], "extends excluded intervals", "use bedtools slop first"),
    Opt::native("-ip --interval-padding", Takes::Value, "--interval-padding"),
    Opt::native("-L --intervals", Takes::Values, "--intervals"),
    Opt::native("--low-quality-tail", Takes::Value, "--low-quality-tail"),
    Opt::native("-max-cycle --maximum-cycle-value", Takes::Value, "--maximum-cycle-value"),
    Opt::native("-mcs --mismatches-context-size", Takes::Value, "--mismatches-context-size"),
    Opt::native("--preserve-qscores-less-than", Takes::Value, "--preserve-qscores-less-than"),
    Opt::native("--quantizing-levels", Takes::Value, "--quantizing-levels"),
    Opt::native("-OQ --use-original-qualities", Takes::Truth, "--use-original-qualities"),
];

/// Options for alignment output. They have no effect in a tool that writes a table.
#[rustfmt::skip] // a row is a line
const NO_OUTPUT: &[Opt] = &[
    Opt::harmless("--add-output-sam-program-record", Takes::Truth, "this command writes no reads"),
    Opt::harmless("-OBI --create-output-bam-index", Takes::Truth, "this command writes no reads"),
    Opt::harmless("-OBM --create-output-bam-md5", Takes::Truth, "this command writes no reads"),
];

fn translate_base_recalibrator(given: &ParsedArguments) -> Result<NativeLine> {
    for needed in ["--input", "--known-sites", "--output", "--reference"] {
        given.require_value(needed)?;
    }
    // If the known sites are empty, GATK counts without a warning (row 128 of parity).
    let mut line = NativeLine::new("bqsr table --allow-empty");
    line.add(given.native_words());
    let default = given.last_value("--default-base-qualities").filter(|&quality| quality != "-1");
    line.add_flag("--default-base-qualities", default);
    add_common_flags(&mut line, given);
    let filters = read_filters::filter_arguments(given, &BASE_RECALIBRATOR_FILTERS)?;
    if filters.is_empty() {
        line.add_operands(given.values("--input"));
        return Ok(line);
    }
    let mut before = NativeLine::new("filter --quiet -O bam -l 0 -o -");
    before.add(filters).add_flag("--temp-dir", given.last_value("--tmp-dir"));
    before.add_operands(given.values("--input"));
    line.add_operands(["-"]);
    line.source = Some(Box::new(before));
    Ok(line)
}

pub const APPLY_BQSR: ToolCommand = barclay_command(
    "ApplyBQSR",
    &[APPLY, NO_READ_FILTERS, NO_VARIANTS, READS, COMMON],
    translate_apply_bqsr,
);

#[rustfmt::skip] // a row is a line
const APPLY: &[Opt] = &[
    Opt::built("-bqsr --bqsr-recal-file", Takes::Value, "--bqsr-table"),
    Opt::built("-I --input", Takes::Files, "the inputs"),
    Opt::built("-O --output", Takes::Value, "-o"),
    Opt::native_if_false("--add-output-sam-program-record", "--no-PG"),
    Opt::native("--allow-missing-read-group", Takes::Truth, "--allow-missing-read-group"),
    Opt::built("-OBI --create-output-bam-index", Takes::Truth, "writes OUT.bai; if false, --no-index"),
    Opt::native("-OBM --create-output-bam-md5", Takes::Truth, "--md5"),
    Opt::native("--emit-original-quals", Takes::Truth, "--emit-original-quals"),
    Opt::native("-XL --exclude-intervals", Takes::Values, "--outside-intervals"),
    Opt::native("--global-qscore-prior", Takes::Value, "--global-qscore-prior"),
    Opt::built("-ixp --interval-exclusion-padding", Takes::Value, "--outside-intervals-padding, with -XL"),
    Opt::built("-ip --interval-padding", Takes::Value, "--in-intervals-padding, with -L"),
    Opt::native("-L --intervals", Takes::Values, "--in-intervals"),
    Opt::native("--preserve-qscores-less-than", Takes::Value, "--preserve-qscores-less-than"),
    Opt::native("--quantize-quals", Takes::Value, "--quantize-quals"),
    Opt::native("-R --reference", Takes::Value, "--reference"),
    Opt::native("-OQ --use-original-qualities", Takes::Truth, "--use-original-qualities"),
    Opt::only("-RF --read-filter", Takes::Values, &["WellformedReadFilter"], "drops reads", NO_FILTER),
    Opt::native("--round-down-quantized", Takes::Truth, "--round-down-quantized"),
    Opt::native("--static-quantized-quals", Takes::Values, "--static-quantized-quals"),
];

fn translate_apply_bqsr(given: &ParsedArguments) -> Result<NativeLine> {
    let (table, output) = (given.require_value("--bqsr-recal-file")?, given.require_value("--output")?);
    given.require_value("--input")?;
    // Only `prep` has the filters that select reads by region.
    let chooses =
        given.values("--intervals").chain(given.values("--exclude-intervals")).next().is_some();
    let mut line = NativeLine::new(if chooses { "prep" } else { "bqsr apply" });
    line.add_flag(if chooses { "--bqsr-apply" } else { "--bqsr-table" }, Some(table));
    if given.is_set("--round-down-quantized") && !given.is_set("--static-quantized-quals") {
        return Err(given.refusal_error("--round-down-quantized needs --static-quantized-quals"));
    }
    line.add(["--gatk-drop-malformed"]).add(given.native_words());
    // Without intervals, there is nothing to pad, and `bqsr apply` does not have these flags.
    for (intervals, padding, native) in [
        ("--intervals", "--interval-padding", "--in-intervals-padding"),
        ("--exclude-intervals", "--interval-exclusion-padding", "--outside-intervals-padding"),
    ] {
        line.add_flag(native, given.last_value(padding).filter(|_| given.is_set(intervals)));
    }
    add_common_flags(&mut line, given);
    let is_indexed = given.last_value("--create-output-bam-index") != Some("false");
    add_htsjdk_output(&mut line, output, DEFAULT_LEVEL, is_indexed);
    line.add_operands(given.values("--input").map(standard_stream));
    Ok(line)
}

pub const GATHER_BQSR_REPORTS: ToolCommand =
    barclay_command("GatherBQSRReports", &[GATHER, COMMON], |given| {
        given.require_value("--input")?;
        let mut line = NativeLine::new("bqsr gather");
        line.add_flag("-o", Some(given.require_value("--output")?))
            .add_operands(given.values("--input"));
        Ok(line)
    });

#[rustfmt::skip] // a row is a line
const GATHER: &[Opt] = &[
    Opt::built("-I --input", Takes::Files, "the tables"),
    Opt::built("-O --output", Takes::Value, "-o"),
];

pub const ANALYZE_COVARIATES: ToolCommand =
    barclay_command("AnalyzeCovariates", &[COVARIATES, COMMON], |given| {
        let mut line = NativeLine::new("bqsr plot-data");
        line.add(given.native_words())
            .add_flag("-o", Some(given.require_value("--intermediate-csv-file")?));
        Ok(line)
    });

#[rustfmt::skip] // a row is a line
const COVARIATES: &[Opt] = &[
    Opt::native("-after --after-report-file", Takes::Value, "--after"),
    Opt::native("-before --before-report-file", Takes::Value, "--before"),
    Opt::native("-bqsr --bqsr-recal-file", Takes::Value, "--table"),
    Opt::harmless("--ignore-last-modification-times", Takes::Truth, "readmill does not compare the times of files"),
    Opt::built("-csv --intermediate-csv-file", Takes::Value, "-o"),
    Opt::refused("-plots --plots-report-file", Takes::Value, "draws plots with R", "-csv writes the data for the plots"),
];
