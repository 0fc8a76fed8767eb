//! The command lines of GATK, which include all of Picard's tools.

mod bqsr;
mod haplotype_caller;
mod read_filters;
mod shared;
mod spark;

use readmill_record::{Error, Result};

use super::picard;
use super::tool::{LeadingArguments, Tool, ToolCommand};
use shared::DEFAULT_LEVEL;

pub const TOOL: Tool = Tool {
    name: "gatk",
    aliases: &[],
    version: "4.6.2.0",
    commands: COMMANDS,
    also: picard::TOOL.commands,
    parse_before: parse_launcher_arguments,
};

/// Picard's tools also accept `NAME=value` in GATK.
const COMMANDS: &[ToolCommand] = &[
    bqsr::BASE_RECALIBRATOR,
    bqsr::APPLY_BQSR,
    bqsr::GATHER_BQSR_REPORTS,
    bqsr::ANALYZE_COVARIATES,
    haplotype_caller::HAPLOTYPE_CALLER,
    picard::MARK_DUPLICATES,
    picard::SORT_SAM,
    picard::CREATE_SEQUENCE_DICTIONARY,
    spark::MARK_DUPLICATES_SPARK,
];

/// Removes and parses the options of GATK's launcher: `--java-options` at any position, and the
/// `--` before Spark options.
fn parse_launcher_arguments(words: &mut Vec<String>) -> Result<LeadingArguments> {
    let mut java = Vec::new();
    while let Some(at) = words.iter().position(|word| word.starts_with("--java-options")) {
        let word = words.remove(at);
        match word.split_once('=') {
            Some((_, options)) => java.push(options.to_string()),
            None if at < words.len() => java.push(words.remove(at)),
            None => return Err(Error::usage("gatk --java-options needs a value")),
        }
    }
    if let Some(at) = words.iter().position(|word| word == "--") {
        // Spark options after `--` are parsed like all others.
        words.remove(at);
    }
    let options: Vec<String> =
        java.iter().flat_map(|text| text.split_whitespace()).map(str::to_string).collect();
    let mut before = picard::read_java_options(&options);
    before.level.get_or_insert_with(|| DEFAULT_LEVEL.to_string());
    Ok(before)
}
