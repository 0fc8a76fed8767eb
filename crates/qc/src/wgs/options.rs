//! Flags of CollectWgsMetrics and its like.

use clap::Args;

/// Options of CollectWgsMetrics, CollectRawWgsMetrics and CollectWgsMetricsWithNonZeroCoverage.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct WgsOptions {
    /// Skip reads at positions with this many reads [default: 100000; CollectRawWgsMetrics: 200000]
    #[arg(long, alias = "LOCUS_ACCUMULATION_CAP", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub locus_accumulation_cap: Option<u32>,
    /// Add a histogram of base qualities to depth files
    #[arg(long, alias = "INCLUDE_BQ_HISTOGRAM")]
    pub include_bq_histogram: bool,
    /// Count depths of reads without a mapped mate
    #[arg(long, alias = "COUNT_UNPAIRED")]
    pub count_unpaired: bool,
}
