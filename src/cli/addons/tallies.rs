//! Flags for tallies of reads.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};
use readmill::addons::ReadTally;
use readmill::plan::Reports;
use readmill_record::Result;
use readmill_stats::{TALLIES, TallySpec};

use super::flags::{AddOnFlags, GivenRun};

/// The tallies that the user requested, with their files. `readmill_stats` describes the flags.
pub(super) struct TallyFlags(Vec<(&'static TallySpec, PathBuf)>);

/// Returns the tallies that have a flag, each with its help text.
fn tallies_with_flag() -> impl Iterator<Item = (&'static TallySpec, &'static str)> {
    TALLIES.iter().filter_map(|tally| Some((*tally, tally.flag_help?)))
}

impl Args for TallyFlags {
    fn augment_args(command: Command) -> Command {
        command.args(tallies_with_flag().map(|(tally, help)| {
            let arg = Arg::new(tally.name).long(tally.name).value_name("FILE").help(help);
            arg.value_parser(value_parser!(PathBuf))
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TallyFlags {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let file = |(tally, _): (&'static TallySpec, _)| {
            Some((tally, matches.get_one::<PathBuf>(tally.name)?.clone()))
        };
        Ok(TallyFlags(tallies_with_flag().filter_map(file).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl AddOnFlags for TallyFlags {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn add_to(&self, reports: &mut Reports, _: &GivenRun<'_>) -> Result<()> {
        self.0.iter().for_each(|(tally, file)| reports.add_ons.push(ReadTally::new(tally, file)));
        Ok(())
    }
}
