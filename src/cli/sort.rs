//! `readmill sort`: the sort alone.

use clap::Args;
use readmill::Plan;
use readmill::plan::Steps;
use readmill_record::Result;
use readmill_steps::sort::Order;

use super::common::Io;

/// Flags of the sort alone.
#[derive(Args)]
#[command(after_help = "The order is by coordinate, exactly that of samtools sort.")]
pub struct Sort {
    #[command(flatten)]
    io: Io,
}

impl Sort {
    pub fn plan(&self) -> Result<Plan> {
        let steps = Steps { sort: Some(Order::Coordinate), ..Steps::default() };
        Ok(Plan {
            command: "sort",
            input: self.io.input()?,
            steps,
            output: self.io.output(),
            means: self.io.means(),
        })
    }
}
