//! `readmill split`: reads to several files.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::plan::{ExtraOutput, SplitBy, Steps};
use readmill_record::{Error, Result};

use super::common::Io;

/// Flags of the split.
#[derive(Args)]
#[command(
    after_help = "The files are called PREFIX.NAME.bam (or .sam, by -O): NAME is the read group's ID, \
group00001 and so on for groups of contigs, part00001 and so on for numbers of records. Reads without a read group \
of the header go to PREFIX.no-read-group.bam, reads without a reference sequence to PREFIX.unmapped.bam. Each file \
keeps the order of the input. (elPrep's spread file does not exist: a pair that lies in two groups is in both files, \
each read in its own.)"
)]
pub struct SplitArgs {
    #[command(flatten)]
    io: Io,
    /// Key that separates the files: read-group, contigs or contigs=BASES (groups of at most so many bases [default: of the longest contig]), records=N
    #[arg(long, value_name = "WHAT", value_parser = SplitBy::parse)]
    by: SplitBy,
}

impl SplitArgs {
    pub fn plan(&self) -> Result<Plan> {
        let mut plan = self.io.plan_with_prefix("split", Steps::default())?;
        let output = plan.output.take();
        let output = output.ok_or_else(|| Error::bug("a split without an output"))?;
        if output.path.as_os_str() == "-" {
            return Err(
                Error::usage("a split needs a prefix for the names of its files").hint("give one by -o")
            );
        }
        if plan.extra.is_some() {
            return Err(Error::usage("a split has no main output, of which reads could be chosen")
                .hint("drop --copy-to and --move-to"));
        }
        let split = readmill::plan::Split { prefix: PathBuf::from(&output.path), by: self.by, output };
        plan.extra = Some(ExtraOutput::Split(split));
        Ok(plan)
    }
}
