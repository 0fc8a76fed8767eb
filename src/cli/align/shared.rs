//! The flags that all aligners share.

use clap::Args;

#[derive(Args, Default)]
#[command(next_help_heading = "Alignment")]
pub struct SharedFlags {
    /// Number of bases per batch; insert sizes are estimated for each batch [default: 100000000]
    #[arg(short = 'K', long, value_name = "N")]
    pub cohort_bases: Option<u64>,
    /// Use soft clips instead of hard clips in supplementary alignments
    #[arg(short = 'Y', long)]
    pub soft_clip_supplementary: bool,
}
