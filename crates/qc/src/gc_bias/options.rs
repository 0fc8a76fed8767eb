//! Flags of CollectGcBiasMetrics.

use clap::Args;

/// Maximum size in bases of a window for GC content. The memory of each thread grows with it.
pub(crate) const MAX_SCAN_WINDOW: u32 = 10_000;

/// Options of CollectGcBiasMetrics.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct GcBiasOptions {
    /// Window size for GC content in bases, 1 to 10000 [default: 100]
    #[arg(
        long,
        alias = "SCAN_WINDOW_SIZE",
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SCAN_WINDOW))
    )]
    pub scan_window_size: Option<u32>,
    /// Also report GC bias without duplicates
    #[arg(long, alias = "ALSO_IGNORE_DUPLICATES")]
    pub also_ignore_duplicates: bool,
}

impl GcBiasOptions {
    pub(crate) fn scan_window_size(&self) -> u32 {
        self.scan_window_size.unwrap_or(100)
    }
}
