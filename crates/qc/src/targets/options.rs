//! Flags of CollectHsMetrics and CollectTargetedPcrMetrics.

use std::path::PathBuf;

use clap::Args;

use crate::flags::parse_size;

/// Options of CollectHsMetrics and CollectTargetedPcrMetrics.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct TargetOptions {
    /// Targets for CollectHsMetrics and CollectTargetedPcrMetrics (Picard interval list or BED); can be repeated
    #[arg(long, alias = "TARGET_INTERVALS", value_name = "FILE")]
    pub target_intervals: Vec<PathBuf>,
    /// Baits for CollectHsMetrics; can be repeated
    #[arg(long, alias = "BAIT_INTERVALS", value_name = "FILE")]
    pub bait_intervals: Vec<PathBuf>,
    /// Name of the bait set [default: names of the bait files up to the first dot]
    #[arg(long, alias = "BAIT_SET_NAME", value_name = "NAME", requires = "bait_intervals", value_parser = parse_set_name)]
    pub bait_set_name: Option<String>,
    /// Amplicons for CollectTargetedPcrMetrics
    #[arg(long, alias = "AMPLICON_INTERVALS", value_name = "FILE")]
    pub amplicon_intervals: Option<PathBuf>,
    /// Name of the amplicon set [default: name of the file up to the first dot]
    #[arg(long, alias = "CUSTOM_AMPLICON_SET_NAME", value_name = "NAME", requires = "amplicon_intervals", value_parser = parse_set_name)]
    pub custom_amplicon_set_name: Option<String>,
    /// Reads within N bases of a bait or amplicon count as near it [default: 250]
    #[arg(long, alias = "NEAR_DISTANCE", value_name = "N", requires = "target_intervals", value_parser = parse_size())]
    pub near_distance: Option<u32>,
    /// Count target bases that both mates cover once [default: true; CollectTargetedPcrMetrics: false]
    #[arg(
        long,
        alias = "CLIP_OVERLAPPING_READS",
        value_name = "true|false",
        requires = "target_intervals"
    )]
    pub clip_overlapping_reads: Option<bool>,
    /// Count deleted bases as covered, and inserted bases as on target
    #[arg(long, alias = "INCLUDE_INDELS", requires = "target_intervals")]
    pub include_indels: bool,
    /// Also write the depth of each target: PREFIX.hs_per_target_coverage, PREFIX.targeted_pcr_per_target_coverage
    #[arg(long, requires = "target_intervals")]
    pub per_target_coverage: bool,
    /// Also write the depth of each target base: PREFIX.hs_per_base_coverage and so on (large files)
    #[arg(long, requires = "target_intervals")]
    pub per_base_coverage: bool,
}

/// A name that fits into a column.
fn parse_set_name(text: &str) -> std::result::Result<String, String> {
    let is_plain = !text.contains(['\t', '\n', '\r']);
    is_plain.then(|| text.to_owned()).ok_or_else(|| "a name has no tab and no line end".into())
}
