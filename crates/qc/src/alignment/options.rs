//! Flags of CollectAlignmentSummaryMetrics.

use clap::Args;

use crate::read::Orientation;

/// Options of CollectAlignmentSummaryMetrics.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct AlignmentOptions {
    /// Count reads that match these adapter sequences as adapter (comma-separated) [default:
    /// Illumina's]
    #[arg(long, alias = "ADAPTER_SEQUENCE", value_name = "LIST", value_delimiter = ',', value_parser = parse_adapter)]
    pub adapter_sequence: Vec<String>,
    /// Larger inserts count as chimeras [default: 100000]
    #[arg(long, alias = "MAX_INSERT_SIZE", value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    pub max_insert_size: Option<i32>,
    /// Other orientations count as chimeras [default: FR]
    #[arg(
        long,
        alias = "EXPECTED_PAIR_ORIENTATIONS",
        value_name = "LIST",
        value_delimiter = ',',
        ignore_case = true
    )]
    pub expected_pair_orientations: Vec<Orientation>,
}

fn parse_adapter(text: &str) -> std::result::Result<String, String> {
    let is_base = |c: char| "ACGTNRYKMSWBDHV".contains(c.to_ascii_uppercase());
    if text.is_empty() || !text.chars().all(is_base) {
        return Err("an adapter is a sequence of bases".into());
    }
    Ok(text.to_owned())
}
