//! The command lines of samtools.

mod depths;
mod files;
mod read_groups;
mod records;
mod reports;
mod shared;
mod unaligned;
mod view;

use super::tool::{LeadingArguments, Tool, ToolCommand};

pub const TOOL: Tool = Tool {
    name: "samtools",
    aliases: &[],
    version: "1.24",
    commands: COMMANDS,
    also: &[],
    parse_before: |_| Ok(LeadingArguments::default()),
};

const COMMANDS: &[ToolCommand] = &[
    records::SORT,
    view::VIEW,
    records::MARKDUP,
    records::FIXMATE,
    records::MERGE,
    records::COLLATE,
    records::BAMSHUF,
    records::CAT,
    read_groups::ADDREPLACERG,
    read_groups::SPLIT,
    unaligned::IMPORT,
    unaligned::RESET,
    reports::INDEX,
    reports::FLAGSTAT,
    reports::STATS,
    reports::IDXSTATS,
    reports::FASTQ,
    reports::BAM2FQ,
    reports::QUICKCHECK,
    files::FAIDX,
    files::DICT,
    files::HEAD,
    files::REHEADER,
    depths::DEPTH,
    depths::COVERAGE,
    depths::BEDCOV,
];
