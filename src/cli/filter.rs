//! `readmill filter`: filters and edits reads in input order, without sorting.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::plan::{Command, Steps};
use readmill_record::{Error, Result};

use super::common::Io;
use super::filter_flags::{FilterFlags, add_samtools_names};
use super::split::SplitFlags;

/// Flags of `filter`. Filters also have their names from samtools view, so flags of other commands
/// with the same letters (`-q`, `-T`) lose their letters here.
#[derive(Args)]
#[command(
    after_help = "Reads keep their order. Filters are applied in the order of this help, not in the order of the flags: reads are first selected by their original values, then changed. The header is always written, with or without -h.",
    mut_arg("quiet", |arg| arg.short(None)),
    mut_arg("temp_dir", |arg| arg.short(None)),
    mut_args(add_samtools_names),
)]
pub struct FilterArgs {
    #[command(flatten)]
    filters: FilterFlags,
    #[command(flatten)]
    split: SplitFlags,
    #[command(flatten)]
    io: Io,
    /// Not supported: -T is the reference in samtools view, but a directory in other commands
    #[arg(short = 'T', value_name = "FILE", hide = true)]
    t: Vec<PathBuf>,
}

impl FilterArgs {
    pub fn build_plan(&self) -> Result<Plan> {
        if !self.t.is_empty() {
            let what = "filter has no -T: it is the reference in samtools view, but a directory in other commands";
            return Err(Error::usage(what).hint(
                "use --reference FASTA for the reference, or --temp-dir DIR for temporary files",
            ));
        }
        let steps = Steps { filters: self.filters.parse_filters()?, ..Steps::default() };
        self.split.build_plan(&self.io, Command::Filter, steps)
    }
}
