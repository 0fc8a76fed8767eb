//! `readmill filter`: filters and edits alone, as reads pass.

use clap::Args;
use readmill::Plan;
use readmill::plan::Steps;
use readmill_record::Result;

use super::common::Io;
use super::filters::FilterFlags;

/// Flags of filters alone. Those that samtools view has are called by its letters, too; what these letters mean
/// elsewhere is long here.
#[derive(Args)]
#[command(
    after_help = "Reads keep their order. Filters are applied in the order of this help, whatever the order of the \
flags: reads are judged as they are in the input, then changed.",
    mut_arg("quiet", |arg| arg.short(None)),
    mut_arg("min_mapq", |arg| arg.short('q')),
    mut_arg("overlap", |arg| arg.short('L')),
    mut_arg("require_flags", |arg| arg.short('f')),
    mut_arg("exclude_flags", |arg| arg.short('F')),
    mut_arg("exclude_all_flags", |arg| arg.short('G')),
    mut_arg("in_read_group", |arg| arg.short('r')),
    mut_arg("in_read_groups", |arg| arg.short('R')),
    mut_arg("include", |arg| arg.short('e').alias("expr")),
)]
pub struct Filter {
    #[command(flatten)]
    io: Io,
    #[command(flatten)]
    filters: FilterFlags,
}

impl Filter {
    pub fn plan(&self) -> Result<Plan> {
        let steps = Steps { filters: self.filters.filters()?, ..Steps::default() };
        self.io.plan("filter", steps)
    }
}
