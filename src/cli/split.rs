//! `readmill split`: writes reads to several files. `prep` and `filter` can split their output in
//! the same way (`--split-by`).

use std::path::PathBuf;

use clap::Args;
use readmill::Plan;
use readmill::addons::CoverageRequest;
use readmill::plan::group_names::NamePattern;
use readmill::plan::{Command, Destination, Format, Split, SplitBy, SplitNames, SplitRest, Steps};
use readmill_record::{Error, Result};

use super::common::Io;

#[derive(Args)]
#[command(
    after_help = "The files are named PREFIX.NAME.bam, or PREFIX/NAME.bam if PREFIX ends with a slash; -O sets another format. NAME is the ID of the read group, or group00001 and so on with contigs, or part00001 and so on with records=N. Reads whose read group is missing or not in the header are written to PREFIX.no-read-group.bam, and reads without a reference sequence to PREFIX.unmapped.bam. Each file keeps the input order. If the two reads of a pair are in different groups, each read is written to the file of its group (elPrep writes such pairs to a spread file)."
)]
pub struct SplitArgs {
    #[command(flatten)]
    io: Io,
    /// Split by read-group, contigs, contigs=BASES or records=N
    ///
    /// contigs=BASES writes one file per group of contigs; a group has at most BASES bases
    /// [default: length of the longest contig]. records=N writes N records to each file.
    #[arg(long, value_name = "WHAT", value_parser = SplitBy::parse)]
    by: SplitBy,
    #[command(flatten)]
    names: SplitNameFlags,
}

/// Flags of commands that can split their output.
#[derive(Args)]
#[command(next_help_heading = "Several outputs")]
pub struct SplitFlags {
    /// Write several files, as readmill split --by does: read-group, contigs, contigs=BASES or
    /// records=N
    ///
    /// The file names begin with the value of -o, which can be a directory (DIR/).
    #[arg(long, value_name = "WHAT", value_parser = SplitBy::parse)]
    split_by: Option<SplitBy>,
    #[command(flatten)]
    names: SplitNameFlags,
}

#[derive(Args)]
struct SplitNameFlags {
    /// Name the file of each read group by its fields, such as 'lanes/{PU}.bam'
    ///
    /// {ID} or another @RG field is replaced by its value; characters such as : and blanks in it
    /// become _. {ID:raw} keeps these characters. {n:1} is the number of the read group in the
    /// header, counted from 0, with at least one digit, and {n:3} has at least three.
    #[arg(long, value_name = "PATTERN", value_parser = NamePattern::parse, conflicts_with_all = ["split_table", "output"])]
    split_names: Option<NamePattern>,
    /// Read the file name of each read group from a table
    ///
    /// Each line has a read group ID, a tab and a file name, as in OUTPUT_MAP of Picard RevertSam.
    #[arg(long, value_name = "TABLE", conflicts_with = "output")]
    split_table: Option<PathBuf>,
    /// Write reads whose read group is missing or not in the header to this file. Its header lists
    /// all read groups
    #[arg(long, value_name = "FILE", conflicts_with = "split_no_rest")]
    split_rest: Option<PathBuf>,
    /// Fail if a read has no read group, or one that is not in the header
    #[arg(long)]
    split_no_rest: bool,
}

impl SplitArgs {
    pub fn build_plan(&self) -> Result<Plan> {
        self.names.build_split_plan(self.by, &self.io, Command::Split, Steps::default())
    }
}

impl SplitFlags {
    /// Returns the plan of a command with `steps`. Splits the output if `--split-by` is given.
    pub fn build_plan(&self, io: &Io, command: Command, steps: Steps) -> Result<Plan> {
        match self.split_by {
            Some(by) => self.names.build_split_plan(by, io, command, steps),
            None if self.names.is_given() => {
                Err(Error::usage("flags for the names of split files are given without --split-by")
                    .hint("add --split-by read-group"))
            }
            None => io.build_plan(command, steps),
        }
    }
}

impl SplitNameFlags {
    fn is_given(&self) -> bool {
        self.split_names.is_some()
            || self.split_table.is_some()
            || self.split_rest.is_some()
            || self.split_no_rest
    }

    fn build_split_plan(&self, by: SplitBy, io: &Io, command: Command, steps: Steps) -> Result<Plan> {
        let is_named = self.split_names.is_some() || self.split_table.is_some();
        let mut plan = io.build_plan_of_several_outputs(command, steps, is_named)?;
        let Destination::Main(mut output, selected) = plan.destination else {
            return Err(Error::bug("the split has no output"));
        };
        if !is_named && output.path.as_os_str() == "-" {
            return Err(
                Error::usage("split needs a prefix for the output file names").hint("give one with -o")
            );
        }
        if !selected.is_empty() {
            return Err(Error::usage("split has no main output, which --copy-to and --move-to need")
                .hint("omit --copy-to and --move-to"));
        }
        if plan.reports.add_ons.iter().any(|add_on| add_on.name() == CoverageRequest::NAME) {
            return Err(Error::usage("split has no main output, which --coverage needs")
                .hint("omit --coverage, and use readmill qc --coverage"));
        }
        let names = match (&self.split_names, &self.split_table) {
            (Some(pattern), _) => {
                output.path = pattern.pattern_text().into();
                SplitNames::Pattern(pattern.clone())
            }
            (None, Some(table)) => {
                output.path.clone_from(table);
                SplitNames::Table(table.clone())
            }
            (None, None) => SplitNames::Prefix(output.path.clone()),
        };
        let formats_by_name = is_named && !io.has_format();
        if formats_by_name && self.split_names.is_some() {
            output.format = Format::from_file_name(&output.path);
        }
        let rest = match &self.split_rest {
            Some(path) => SplitRest::File(path.clone()),
            None if self.split_no_rest => SplitRest::Refused,
            None => SplitRest::Named,
        };
        plan.destination = Destination::Split(Split { names, by, rest, output, formats_by_name });
        Ok(plan)
    }
}
