//! Translates GATK MarkDuplicatesSpark.

use readmill_record::Result;

use super::shared::{
    COMMON, DEFAULT_LEVEL, NO_FILTER, NO_READ_FILTERS, NO_VARIANTS, READS, add_common_flags,
    barclay_command,
};
use crate::grammar::{Opt, ParsedArguments, Takes};
use crate::line::{NativeLine, add_htsjdk_output};
use crate::tool::ToolCommand;

pub const MARK_DUPLICATES_SPARK: ToolCommand = barclay_command(
    "MarkDuplicatesSpark",
    &[OPTIONS, FLOW, SPARK, NO_READ_FILTERS, NO_VARIANTS, READS, COMMON],
    translate_mark_duplicates_spark,
);

#[rustfmt::skip] // a row is a line
const OPTIONS: &[Opt] = &[
    Opt::built("-I --input", Takes::Files, "the inputs"),
    Opt::built("-O --output", Takes::Value, "-o, sorted by coordinate"),
    Opt::native("-M --metrics-file", Takes::Value, "--metrics"),
    Opt::native("-R --reference", Takes::Value, "--reference"),
    Opt::native_if_false("--add-output-sam-program-record", "--no-PG"),
    Opt::refused("--allow-multiple-sort-orders-in-input", Takes::Truth, "accepts inputs in different orders", "sort each input with readmill sort -N first"),
    Opt::built("-OBI --create-output-bam-index", Takes::Truth, "writes OUT.bam.bai; if false, --no-index"),
    Opt::harmless("--create-output-bam-splitting-index", Takes::Truth, "affects only an index for Hadoop"),
    Opt::refused("--do-not-mark-unmapped-mates", Takes::Truth, "marks only mapped reads", "readmill prep --sort coordinate --mark-duplicates --duplicate-mode coordinate"),
    Opt::native("-DS --duplicate-scoring-strategy", Takes::Value, "--scoring-strategy"),
    Opt::native("--duplicate-tagging-policy", Takes::Value, "--tag-duplicates"),
    Opt::native("--optical-duplicate-pixel-distance", Takes::Value, "--optical-distance"),
    Opt::native("--read-name-regex", Takes::Value, "--read-names"),
    Opt::native("--remove-all-duplicates", Takes::Truth, "--remove-duplicates"),
    Opt::native("--remove-sequencing-duplicates", Takes::Truth, "--remove-optical-duplicates"),
    Opt::harmless("--treat-unsorted-as-querygroup-ordered", Takes::Truth, "readmill detects whether reads are grouped by name"),
    Opt::refused("-XL --exclude-intervals", Takes::Values, "drops reads in some regions", ""),
    Opt::refused("-L --intervals", Takes::Values, "keeps only reads in some regions", "readmill prep --overlap BED --sort coordinate --mark-duplicates"),
    Opt::harmless("-ixp --interval-exclusion-padding", Takes::Value, "used only with --exclude-intervals"),
    Opt::harmless("-ip --interval-padding", Takes::Value, "used only with --intervals"),
];

const OF_FLOW: &str = "used only with --flowbased";

/// Options for flow-based reads. Without the first one, which is refused, the others have no
/// effect.
#[rustfmt::skip] // a row is a line
const FLOW: &[Opt] = &[
    Opt::refused("--flowbased", Takes::Truth, "marks flow-based reads", "readmill has no rules for flow-based reads"),
    Opt::harmless("--flow-end-pos-uncertainty", Takes::Value, OF_FLOW),
    Opt::harmless("--flow-q-is-known-end", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-quality-sum-strategy", Takes::Truth, OF_FLOW),
    Opt::harmless("--flow-skip-start-homopolymers", Takes::Value, OF_FLOW),
    Opt::harmless("--single-end-reads-clipping-is-end", Takes::Truth, OF_FLOW),
    Opt::harmless("--single-end-reads-end-position-significant", Takes::Truth, OF_FLOW),
];

/// Options of Spark itself, which do not affect the result.
#[rustfmt::skip] // a row is a line
const SPARK: &[Opt] = &[
    Opt::refused("-RF --read-filter", Takes::Values, "drops reads", NO_FILTER),
    Opt::harmless("--bam-partition-size", Takes::Value, "affects only Spark"),
    Opt::harmless("--conf", Takes::Values, "affects only Spark"),
    Opt::harmless("--num-reducers", Takes::Value, "affects only Spark"),
    Opt::harmless("--output-shard-tmp-dir", Takes::Value, "affects only Spark"),
    Opt::harmless("--program-name", Takes::Value, "affects only Spark"),
    Opt::refused("--sharded-output", Takes::Truth, "writes several files", "use readmill prep --out-parts N"),
    Opt::built("--spark-master", Takes::Value, "-@ N, if the value is local[N]"),
    Opt::harmless("--spark-runner", Takes::Value, "affects only Spark"),
    Opt::harmless("--spark-verbosity", Takes::Value, "affects only messages"),
    Opt::harmless("--splitting-index-granularity", Takes::Value, "affects only an index for Hadoop"),
    Opt::harmless("--use-nio", Takes::Truth, "readmill reads only local files"),
];

fn translate_mark_duplicates_spark(given: &ParsedArguments) -> Result<NativeLine> {
    let output = given.require_value("--output")?;
    given.require_value("--input")?;
    let mut line = NativeLine::new("prep --sort coordinate --mark-duplicates --duplicate-mode template");
    line.add(given.native_words());
    let master = given.last_value("--spark-master").and_then(|master| master.strip_prefix("local["));
    let threads = master.and_then(|rest| rest.strip_suffix(']')).filter(|&number| number != "*");
    line.add_flag("-@", threads);
    add_common_flags(&mut line, given);
    let is_indexed = given.last_value("--create-output-bam-index") != Some("false");
    add_htsjdk_output(&mut line, output, DEFAULT_LEVEL, is_indexed);
    // MarkDuplicatesSpark names the index OUT.bam.bai, as readmill does.
    line.renamed = None;
    line.add_operands(given.values("--input"));
    Ok(line)
}
