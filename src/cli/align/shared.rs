//! The flags that all aligners share.

use clap::Args;

/// Flags of every aligner.
#[derive(Args, Default)]
#[command(next_help_heading = "Alignment")]
pub struct SharedFlags {
    /// Bases of reads in one batch from which insert sizes are inferred together [default: 100000000]
    #[arg(short = 'K', long, value_name = "N")]
    pub cohort_bases: Option<u64>,
    /// Clip supplementary alignments softly
    #[arg(short = 'Y', long)]
    pub soft_clip_supplementary: bool,
}
