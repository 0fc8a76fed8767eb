//! `readmill call`: variants of a sorted file.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::addons::{CallIntervals, CallRequest};
use readmill::plan::Reports;
use readmill_record::Result;

use super::addons::call::CallMode;
use super::tally::TallyArgs;

#[derive(Args)]
#[command(after_help = "\
The records are those of GATK 4.6.2.0 HaplotypeCaller with the same options, on an Intel processor with AVX-512. The reads must be sorted by coordinate and have read groups with one sample (SM). Duplicates must be marked, because they are not counted.

A file whose name ends in .gz is compressed and gets an index (.tbi).")]
pub struct CallArgs {
    /// Which sites the file has
    #[arg(long, value_name = "MODE", default_value = "gvcf")]
    mode: CallMode,
    /// Call variants only in these intervals. May be repeated
    ///
    /// A region, or a BED, .interval_list or .list file.
    #[arg(short = 'L', long = "intervals", value_name = "WHERE")]
    intervals: Vec<String>,
    /// Do not call variants in these intervals. May be repeated
    #[arg(long = "exclude-intervals", value_name = "WHERE")]
    exclude: Vec<String>,
    /// Extend each interval by N bases on both sides
    #[arg(long = "interval-padding", value_name = "N", requires = "intervals", default_value_t = 0)]
    padding: u32,
    #[command(flatten)]
    args: TallyArgs,
}

impl CallArgs {
    pub fn build_plan(&self) -> Result<Plan> {
        let intervals = CallIntervals {
            include: self.intervals.clone(),
            exclude: self.exclude.clone(),
            padding: self.padding,
        };
        let file: PathBuf = self.args.output();
        let request = CallRequest::new(&file, self.mode.options(), intervals)?;
        self.args.build_plan("call", Reports::only(request))
    }
}
