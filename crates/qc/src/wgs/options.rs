//! Flags of CollectWgsMetrics and its like.

use clap::Args;

/// Options of CollectWgsMetrics, CollectRawWgsMetrics and CollectWgsMetricsWithNonZeroCoverage.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct WgsOptions {
    /// Leave reads out that start where so many others lie [default: 100000; CollectRawWgsMetrics: 200000]
    #[arg(long, alias = "LOCUS_ACCUMULATION_CAP", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub locus_accumulation_cap: Option<u32>,
    /// Write bases by quality, too, into the files of depths
    #[arg(long, alias = "INCLUDE_BQ_HISTOGRAM")]
    pub include_bq_histogram: bool,
    /// Count reads without a mapped mate for the depth
    #[arg(long, alias = "COUNT_UNPAIRED")]
    pub count_unpaired: bool,
}
