//! What every aligner can be told.

use clap::Args;

/// What every aligner can be told.
#[derive(Args, Default)]
#[command(next_help_heading = "Alignment")]
pub struct SharedFlags {
    /// Bases of the reads that decide together how long inserts are [default: 100000000]
    #[arg(short = 'K', long, value_name = "N")]
    pub cohort_bases: Option<u64>,
    /// Clip supplementary alignments softly
    #[arg(short = 'Y', long)]
    pub soft_clip_supplementary: bool,
}
