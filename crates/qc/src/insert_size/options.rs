//! Flags of CollectInsertSizeMetrics.

use clap::Args;

/// Options of CollectInsertSizeMetrics.
#[derive(Args, Clone, Debug, Default, PartialEq)]
pub struct InsertSizeOptions {
    /// Minimum fraction of pairs for an orientation to be reported, 0 to 0.5 [default: 0.05]
    #[arg(long, alias = "MINIMUM_PCT", value_name = "SHARE", value_parser = parse_share)]
    pub minimum_pct: Option<f32>,
    /// Maximum insert size in the histogram, mean and standard deviation [default: calculated]
    #[arg(long, alias = "HISTOGRAM_WIDTH", value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    pub histogram_width: Option<i32>,
    /// Minimum of the calculated maximum
    #[arg(long, alias = "MIN_HISTOGRAM_WIDTH", value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    pub min_histogram_width: Option<i32>,
    /// Calculated maximum: median + X median absolute deviations [default: 10]
    #[arg(long, alias = "DEVIATIONS", value_name = "X", value_parser = parse_deviations)]
    pub deviations: Option<f64>,
}

fn parse_share(text: &str) -> std::result::Result<f32, String> {
    let share = text.parse().ok().filter(|share| (0.0..=0.5).contains(share));
    share.ok_or_else(|| "must be between 0 and 0.5; more could exclude all orientations".into())
}

fn parse_deviations(text: &str) -> std::result::Result<f64, String> {
    let number: Option<f64> = text.parse().ok();
    number.filter(|number| number.is_finite()).ok_or_else(|| "must be a finite number".into())
}
