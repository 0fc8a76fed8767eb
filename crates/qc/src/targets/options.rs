//! Flags of CollectHsMetrics and CollectTargetedPcrMetrics.

use std::path::PathBuf;

use clap::Args;

use crate::flags::parse_size;

/// Options of CollectHsMetrics and CollectTargetedPcrMetrics.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct TargetOptions {
    /// Targets, for CollectHsMetrics and CollectTargetedPcrMetrics: interval lists of Picard, or BED files; may be given more than once
    #[arg(long, alias = "TARGET_INTERVALS", value_name = "FILE")]
    pub target_intervals: Vec<PathBuf>,
    /// Baits, for CollectHsMetrics; may be given more than once
    #[arg(long, alias = "BAIT_INTERVALS", value_name = "FILE")]
    pub bait_intervals: Vec<PathBuf>,
    /// What the baits are called [default: the names of their files up to the first point]
    #[arg(long, alias = "BAIT_SET_NAME", value_name = "NAME", requires = "bait_intervals", value_parser = parse_set_name)]
    pub bait_set_name: Option<String>,
    /// Amplicons, for CollectTargetedPcrMetrics
    #[arg(long, alias = "AMPLICON_INTERVALS", value_name = "FILE")]
    pub amplicon_intervals: Option<PathBuf>,
    /// What the amplicons are called [default: the name of their file up to the first point]
    #[arg(long, alias = "CUSTOM_AMPLICON_SET_NAME", value_name = "NAME", requires = "amplicon_intervals", value_parser = parse_set_name)]
    pub custom_amplicon_set_name: Option<String>,
    /// How far from a bait or amplicon a read may lie that it has caught [default: 250]
    #[arg(long, alias = "NEAR_DISTANCE", value_name = "N", requires = "target_intervals", value_parser = parse_size())]
    pub near_distance: Option<u32>,
    /// Whether bases of targets are left out that the mate has, too [default: true; CollectTargetedPcrMetrics: false]
    #[arg(
        long,
        alias = "CLIP_OVERLAPPING_READS",
        value_name = "true|false",
        requires = "target_intervals"
    )]
    pub clip_overlapping_reads: Option<bool>,
    /// Take deleted bases of targets for covered, and inserted ones for bases on target
    #[arg(long, alias = "INCLUDE_INDELS", requires = "target_intervals")]
    pub include_indels: bool,
    /// Write a file of the depth of each target, too: PREFIX.hs_per_target_coverage, PREFIX.targeted_pcr_per_target_coverage
    #[arg(long, requires = "target_intervals")]
    pub per_target_coverage: bool,
    /// Write a file of the depth of each base of the targets, too: PREFIX.hs_per_base_coverage and so on. It is long
    #[arg(long, requires = "target_intervals")]
    pub per_base_coverage: bool,
}

/// A name that fits into a column.
fn parse_set_name(text: &str) -> std::result::Result<String, String> {
    let is_plain = !text.contains(['\t', '\n', '\r']);
    is_plain.then(|| text.to_owned()).ok_or_else(|| "a name has no tab and no line end".into())
}
