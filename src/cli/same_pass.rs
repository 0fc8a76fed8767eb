//! Flags for files that are written in the same pass, in addition to the main output: reports, and
//! files of selected reads.

use clap::Args;
use readmill::plan::{ExtraFile, Reports};
use readmill_record::Result;

use super::addons::{GivenRun, SamePassAddOns};
use super::hints::{format_from_name, known_extensions};

#[derive(Args)]
#[command(next_help_heading = "Reports")]
pub struct SamePassFlags {
    #[command(flatten)]
    add_ons: SamePassAddOns,
    /// Compare checksums of input and output reads. If they do not match, write no output
    ///
    /// The exit code is 4 if reads were lost, duplicated, or changed by a step that must not change
    /// them.
    #[arg(long, help_heading = "Reports")]
    verify: bool,
    /// Also write some reads to another file. May be repeated
    ///
    /// Values: FILE=unmapped, FILE=discordant, FILE=duplicates, or FILE=EXPRESSION.
    #[arg(long, value_name = "FILE=WHAT", help_heading = "Reads in other files")]
    copy_to: Vec<String>,
    /// Write some reads only to another file. May be repeated; the first match counts
    ///
    /// Values: FILE=unmapped, FILE=discordant, FILE=duplicates, or FILE=EXPRESSION. FILE=dropped
    /// writes the reads that filters drop; it cannot be combined with sorting or duplicate marking.
    #[arg(long, value_name = "FILE=WHAT", help_heading = "Reads in other files")]
    move_to: Vec<String>,
}

impl SamePassFlags {
    /// Returns whether the main output is the only file that is written.
    pub fn is_empty(&self) -> bool {
        self.add_ons.is_empty() && self.copy_to.is_empty() && self.move_to.is_empty()
    }

    /// Returns the reports of a run.
    pub fn reports(&self, run: &GivenRun<'_>) -> Result<Reports> {
        Ok(Reports { verify: self.verify, ..self.add_ons.reports(run)? })
    }

    /// Returns the files for selected reads (`--copy-to` and `--move-to`).
    pub fn selected_read_files(&self) -> Result<Vec<ExtraFile>> {
        let copies = self.copy_to.iter().map(|text| ExtraFile::parse(text, false));
        let moves = self.move_to.iter().map(|text| ExtraFile::parse(text, true));
        let list: Vec<ExtraFile> = copies.chain(moves).collect::<Result<_>>()?;
        for chosen in &list {
            format_from_name(&chosen.path, format!("use a name that ends in {}", known_extensions()))?;
        }
        Ok(list)
    }
}
