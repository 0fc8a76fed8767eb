//! `readmill prep`: any combination of steps.

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::plan::{Steps, Unmapped};
use readmill_record::Result;

use super::common::Io;
use super::duplicates::DuplicateFlags;
use super::sort::OutputOrder;

/// Flags of any combination of steps.
#[derive(Args)]
#[command(
    after_help = "Steps are applied in this order, whatever the order of the flags: drop unmapped reads, \
replace the sequence dictionary, replace read groups, mark duplicates, sort."
)]
pub struct Prep {
    #[command(flatten)]
    io: Io,
    #[command(flatten)]
    sort: OutputOrder,
    #[command(flatten)]
    duplicates: DuplicateFlags,
    /// Mark duplicates
    #[arg(long)]
    mark_duplicates: bool,
    /// Drop reads flagged unmapped
    #[arg(long, alias = "filter-unmapped-reads")]
    drop_unmapped: bool,
    /// Drop reads flagged unmapped, and reads without reference sequence or position
    #[arg(long, alias = "filter-unmapped-reads-strict")]
    drop_unmapped_strict: bool,
    /// Put all reads into this read group: 'ID:g1 LB:l1 SM:s1 …' or '@RG\tID:g1\tLB:l1…'
    #[arg(long, value_name = "RG", alias = "replace-read-group")]
    read_group: Option<String>,
    /// Replace, reorder and filter reference sequences by the dictionary of this SAM, BAM or .dict file; reads on others are removed
    #[arg(long, value_name = "FILE", alias = "replace-reference-sequences")]
    sequence_dictionary: Option<PathBuf>,
}

impl Prep {
    pub fn plan(&self) -> Result<Plan> {
        let marks = self.mark_duplicates || self.duplicates.is_given();
        if !marks {
            self.duplicates.check_unused()?;
        }
        let drop_unmapped = match (self.drop_unmapped_strict, self.drop_unmapped) {
            (true, _) => Some(Unmapped::Strict),
            (_, true) => Some(Unmapped::Flagged),
            _ => None,
        };
        let steps = Steps {
            drop_unmapped,
            dictionary: self.sequence_dictionary.clone(),
            read_group: self.read_group.clone(),
            duplicates: marks.then(|| self.duplicates.duplicates()),
            sort: self.sort.order(),
        };
        Ok(Plan {
            command: "prep",
            inputs: self.io.inputs(),
            steps,
            output: self.io.output(),
            means: self.io.means(),
        })
    }
}
