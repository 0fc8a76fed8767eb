//! The flags that all aligners share.

use clap::Args;

/// Flags of every aligner.
#[derive(Args, Default)]
#[command(next_help_heading = "Alignment")]
pub struct SharedFlags {
    /// Batch size for estimating insert sizes, in bases [default: 100000000]
    #[arg(short = 'K', long, value_name = "N")]
    pub cohort_bases: Option<u64>,
    /// Use soft clips in supplementary alignments
    #[arg(short = 'Y', long)]
    pub soft_clip_supplementary: bool,
}
