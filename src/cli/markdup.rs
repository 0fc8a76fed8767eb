//! `readmill markdup`: marks duplicates, with the flags of Picard MarkDuplicates.

use clap::Args;
use readmill::Plan;
use readmill::plan::{Command, DuplicateFlags, Steps};
use readmill_record::Result;

use super::common::Io;
use super::sample_flag::SampleFlag;
use super::shard::ResumeFlag;
use super::sort::OutputOrder;

#[derive(Args)]
#[command(
    after_help = "The results are the same as those of Picard MarkDuplicates 3.4. Reads keep the input order, unless you request another order."
)]
pub struct MarkdupArgs {
    #[command(flatten)]
    sort: OutputOrder,
    #[command(flatten)]
    duplicates: DuplicateFlags,
    #[command(flatten)]
    sample: SampleFlag,
    #[command(flatten)]
    io: Io,
    #[command(flatten)]
    resume: ResumeFlag,
}

impl MarkdupArgs {
    pub fn resume(&self) -> &ResumeFlag {
        &self.resume
    }

    pub fn build_plan(&self) -> Result<Plan> {
        let duplicates = Some(self.duplicates.to_request());
        let steps = Steps { duplicates, sort: self.sort.requested_order(), ..Steps::default() };
        let mut plan = self.io.build_plan(Command::Markdup, steps)?;
        plan.reports.sample.clone_from(&self.sample.sample);
        Ok(plan)
    }
}
