//! The command lines of Picard.

mod duplicates;
mod edits;
mod fastq;
mod merge_alignment;
mod others;
mod revert;
mod shared;
mod sorting;
mod unaligned;

use readmill_process::memory_size::parse_size;
use readmill_record::Result;

use super::tool::{LeadingArguments, Tool, ToolCommand};

pub const TOOL: Tool = Tool {
    name: "picard",
    aliases: &["picard.jar"],
    version: "3.4.0",
    commands: COMMANDS,
    also: &[],
    parse_before: parse_java_arguments,
};

const COMMANDS: &[ToolCommand] = &[
    sorting::SORT_SAM,
    duplicates::MARK_DUPLICATES,
    sorting::MERGE_SAM_FILES,
    edits::ADD_OR_REPLACE_READ_GROUPS,
    edits::REORDER_SAM,
    edits::CLEAN_SAM,
    edits::FIX_MATE_INFORMATION,
    edits::SET_NM_MD_AND_UQ_TAGS,
    unaligned::MARK_ILLUMINA_ADAPTERS,
    fastq::SAM_TO_FASTQ,
    unaligned::FASTQ_TO_SAM,
    revert::REVERT_SAM,
    merge_alignment::MERGE_BAM_ALIGNMENT,
    others::BUILD_BAM_INDEX,
    others::CREATE_SEQUENCE_DICTIONARY,
    others::VIEW_SAM,
];

pub use duplicates::MARK_DUPLICATES;
pub use others::CREATE_SEQUENCE_DICTIONARY;
pub use sorting::SORT_SAM;

/// Removes the Java options before the tool's name, and the launcher's options at any position.
/// Translates the memory limit `-Xmx` to `-m`.
fn parse_java_arguments(words: &mut Vec<String>) -> Result<LeadingArguments> {
    let java = words.iter().take_while(|word| is_java_option(word)).count();
    let mut options: Vec<String> = words.drain(..java).collect();
    options.extend(words.extract_if(.., |word| is_launcher_option(word)));
    Ok(read_java_options(&options))
}

/// Returns whether the launcher script that Bioconda installs as `picard` passes this word to Java,
/// at any position.
fn is_launcher_option(word: &str) -> bool {
    ["-Xm", "-XX:", "-Djava.", "-Dsamjdk.", "-Dpicard."].iter().any(|start| word.starts_with(start))
}

fn is_java_option(word: &str) -> bool {
    ["-X", "-D", "-server", "-ea"].iter().any(|start| word.starts_with(start))
}

pub fn read_java_options(options: &[String]) -> LeadingArguments {
    let mut before = LeadingArguments::default();
    for option in options {
        if let Some(size) = option.strip_prefix("-Xmx") {
            before.memory = parse_heap_size(size);
        }
        if let Some(level) = option.strip_prefix("-Dsamjdk.compression_level=") {
            before.level = Some(level.to_string());
        }
    }
    before
}

/// Parses the size of Java's heap as the memory of the process. Ignores sizes below 1 GiB, so that
/// the default applies.
fn parse_heap_size(size: &str) -> Option<u64> {
    const MIN_HEAP_BYTES: u64 = 1 << 30;
    parse_size(&size.to_ascii_uppercase()).ok().filter(|&bytes| bytes >= MIN_HEAP_BYTES)
}
