//! Flags of filters and edits. `readmill_filters` has a table of them, from which this module
//! creates clap's arguments.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches, Id, value_parser};
use readmill::plan::Filters;
use readmill_filters::FILTERS;
use readmill_filters::flag::{Flag, FlagValue, GivenFlags};
use readmill_record::{Error, Flags, Result};

/// The filter flags given by the user.
pub struct FilterFlags(GivenFlags);

impl FilterFlags {
    pub fn parse_filters(&self) -> Result<Filters> {
        Filters::from_given_flags(&self.0)
    }

    /// Returns the filters, as if the flags in `more` (name and value) were also given. `view` uses
    /// this for flags that correspond to a filter.
    pub fn parse_filters_with(&self, more: &[(&'static str, String)]) -> Result<Filters> {
        let mut given = self.0.clone();
        for (name, value) in more {
            let repeats = flags().any(|flag| flag.name == *name && flag.repeats);
            if given.is_given(name) && !repeats {
                return Err(Error::usage(format!("--{name} is given twice")));
            }
            given.add_flag(name, value);
        }
        Filters::from_given_flags(&given)
    }

    pub fn path_value(&self, name: &str) -> Option<PathBuf> {
        self.0.path_value(name)
    }
}

fn flags() -> impl Iterator<Item = &'static Flag> {
    FILTERS.iter().flat_map(|spec| spec.flags)
}

/// Gives an argument the names that samtools view has for it: a letter becomes its short flag, a
/// word becomes an alias.
pub fn add_samtools_names(arg: Arg) -> Arg {
    let flag = flags().find(|flag| flag.name == arg.get_id().as_str());
    let names = flag.map_or(&[][..], |flag| flag.samtools);
    names.iter().fold(arg, |arg, name| match name.as_bytes() {
        [letter] => arg.short(char::from(*letter)),
        _ => arg.alias(name),
    })
}

fn make_argument(flag: &'static Flag) -> Arg {
    let arg = Arg::new(flag.name).long(flag.name).help(flag.help).aliases(flag.aliases);
    let arg = arg.requires_all(flag.requires).conflicts_with_all(flag.conflicts);
    let arg = match flag.value {
        FlagValue::None => return arg.action(ArgAction::SetTrue),
        // An expression may start with a minus sign.
        FlagValue::Text => {
            arg.value_parser(value_parser!(String)).allow_hyphen_values(flag.metavar == "EXPR")
        }
        FlagValue::File => arg.value_parser(value_parser!(PathBuf)),
        FlagValue::U8 => arg.value_parser(value_parser!(u8)),
        FlagValue::U32 => arg.value_parser(value_parser!(u32)),
        FlagValue::F64 => arg.value_parser(value_parser!(f64)),
        FlagValue::Flags => arg.value_parser(value_parser!(Flags)),
        FlagValue::OneOf(words) => arg.value_parser(PossibleValuesParser::new(
            words.iter().map(|(word, help)| PossibleValue::new(word).help(help)),
        )),
    };
    let action = if flag.repeats { ArgAction::Append } else { ArgAction::Set };
    arg.value_name(flag.metavar).action(action)
}

impl Args for FilterFlags {
    fn group_id() -> Option<Id> {
        Some(Id::from("FilterFlags"))
    }

    fn augment_args(command: Command) -> Command {
        let group = ArgGroup::new("FilterFlags").multiple(true).args(flags().map(|flag| flag.name));
        command.group(group).next_help_heading("Filters").args(flags().map(make_argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FilterFlags {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut given = GivenFlags::default();
        for flag in flags() {
            match flag.value {
                FlagValue::None if matches.get_flag(flag.name) => given.add_flag(flag.name, ""),
                FlagValue::None => {}
                _ => matches
                    .get_raw(flag.name)
                    .into_iter()
                    .flatten()
                    .for_each(|value| given.add_flag(flag.name, value)),
            }
        }
        Ok(FilterFlags(given))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
