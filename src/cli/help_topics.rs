//! `readmill help COMMAND SECTION`, and `readmill help common`: a part of the long help.
//!
//! The long help of `prep` and `align` has several hundred lines in a dozen sections. Flags that
//! many commands share are explained once, in the topic `common`; the long help of a command has
//! only the first sentence of each.

use std::ffi::OsString;

use clap::builder::{Resettable, StyledStr};
use clap::{Arg, Command};
use readmill::formats::join_words;
use readmill_record::{Error, Result};

/// The topic with the flags that many commands share.
pub const COMMON_TOPIC: &str = "common";

/// The command whose flags include those that many commands share.
const LARGEST_COMMAND: &str = "prep";

/// Sections that have a command of their own, whose help explains their flags.
const OWN_SECTIONS: &[&str] = &["duplicates", "filters", "recalibration", "several-outputs"];

/// The number of commands with the same explanation of a flag from which the topic `common` has it.
const MIN_SHARING_COMMANDS: usize = 3;

/// Returns the help for `readmill help COMMAND SECTION` or `readmill help common`, or `None` for
/// any other command line. `root` is the command `readmill`.
///
/// # Errors
/// The command has no such section.
pub fn find_help_topic(words: &[OsString], root: &Command) -> Option<Result<StyledStr>> {
    let words: Vec<&str> = words.iter().skip(1).map(|word| word.to_str()).collect::<Option<_>>()?;
    let asked = match words.split_first()? {
        (&"help", asked) if !asked.is_empty() => asked,
        _ => return None,
    };
    if asked == [COMMON_TOPIC] {
        return Some(Ok(render_common_flags(root)));
    }
    let (mut command, mut path, mut section) = (root, Vec::new(), asked);
    while let Some((name, rest)) = section.split_first()
        && let Some(inner) = command.find_subcommand(name)
    {
        (command, section) = (inner, rest);
        path.push(*name);
    }
    let is_section = !path.is_empty() && !section.is_empty() && !command.has_subcommands();
    is_section.then(|| render_section(command, &path.join(" "), &section.join(" ")))
}

/// Returns the long help of the sections of `command` whose name begins with `asked`.
fn render_section(command: &Command, path: &str, asked: &str) -> Result<StyledStr> {
    let asked = section_word(asked);
    let is_asked = |arg: &Arg| section_word(section_name(arg)).starts_with(&asked);
    if asked.is_empty() || !visible_args(command).any(is_asked) {
        let sections = section_words(command);
        return Err(Error::usage(format!("readmill {path} has no flags of this kind: {asked}"))
            .hint(format!("the sections of its help are {}", join_words(sections, "and"))));
    }
    let command = command.clone().help_template("{all-args}").disable_help_flag(true);
    let command = command.mut_args(|arg| if is_asked(&arg) { arg } else { arg.hide(true) });
    Ok(command.color(clap::ColorChoice::Always).render_long_help())
}

/// Returns the names of the help sections of `command`, as `readmill help COMMAND SECTION` accepts
/// them, in the order of the help.
pub fn section_words(command: &Command) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for arg in visible_args(command) {
        let word = section_word(section_name(arg));
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

fn visible_args(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| !arg.is_hide_set())
}

fn section_name(arg: &Arg) -> &str {
    let usual = if arg.is_positional() { "Arguments" } else { "Options" };
    arg.get_help_heading().unwrap_or(usual)
}

/// Returns a heading as one lower-case word: `Recalibration: counting` is `recalibration-counting`.
fn section_word(heading: &str) -> String {
    let words = heading.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|it| !it.is_empty());
    words.collect::<Vec<_>>().join("-").to_lowercase()
}

fn render_common_flags(root: &Command) -> StyledStr {
    let about = "Flags that many commands share. The help of a command, such as readmill sort --help, lists which of them it has.";
    let shared = shared_args(root);
    let is_shared = |arg: &Arg| shared.iter().any(|other| is_same_flag(other, arg));
    let command = root.find_subcommand(LARGEST_COMMAND).cloned().unwrap_or_default();
    let command = command.mut_args(|arg| if is_shared(&arg) { arg } else { arg.hide(true) });
    let command = command.about(about).long_about(about).help_template("{about}\n\n{all-args}");
    let command = command.max_term_width(100).disable_help_flag(true);
    command.color(clap::ColorChoice::Always).render_long_help()
}

/// Shortens the long help of all commands below `root`: of flags that many commands share, it keeps
/// the first sentence, since [`COMMON_TOPIC`] has the rest.
pub fn shorten_shared_flags(root: Command) -> Command {
    let shared = shared_args(&root);
    shorten_flags(root, &shared)
}

fn shorten_flags(command: Command, shared: &[Arg]) -> Command {
    let command = command.mut_args(|arg| match shared.iter().any(|it| is_same_flag(it, &arg)) {
        true => arg.long_help(Resettable::Reset),
        false => arg,
    });
    command.mut_subcommands(|inner| shorten_flags(inner, shared))
}

/// Returns the flags of [`LARGEST_COMMAND`] that at least [`MIN_SHARING_COMMANDS`] commands explain in
/// the same words, in their order, except those of [`OWN_SECTIONS`]. Flags without a second paragraph
/// need no other place.
fn shared_args(root: &Command) -> Vec<Arg> {
    let Some(largest) = root.find_subcommand(LARGEST_COMMAND) else { return Vec::new() };
    let count = |flag: &Arg| count_commands_with(root, &|arg| is_same_flag(flag, arg));
    let is_own =
        |arg: &Arg| OWN_SECTIONS.iter().any(|own| section_word(section_name(arg)).starts_with(own));
    let explained = visible_args(largest).filter(|arg| arg.get_long_help().is_some() && !is_own(arg));
    explained.filter(|arg| count(arg) >= MIN_SHARING_COMMANDS).cloned().collect()
}

/// Returns the number of commands, `command` and all below it, that have such a flag.
fn count_commands_with(command: &Command, is_wanted: &dyn Fn(&Arg) -> bool) -> usize {
    let below = command.get_subcommands().map(|inner| count_commands_with(inner, is_wanted));
    usize::from(visible_args(command).any(is_wanted)) + below.sum::<usize>()
}

fn is_same_flag(a: &Arg, b: &Arg) -> bool {
    let text = |arg: &Arg| arg.get_long_help().map(ToString::to_string);
    a.get_id() == b.get_id() && text(a) == text(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::cli::help::complete_help;
    use clap::CommandFactory as _;

    fn help_for(line: &str) -> Option<Result<String>> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let found = find_help_topic(&words, &complete_help(Cli::command()));
        found.map(|help| help.map(|text| text.to_string()))
    }

    #[test]
    fn a_section_has_its_flags_and_no_others() {
        let help = help_for("readmill help prep duplicates").unwrap().unwrap();
        assert!(help.starts_with("Duplicates:\n      --mark-duplicates"), "{help}");
        assert!(help.contains("--REMOVE_DUPLICATES"), "{help}");
        assert!(!help.contains("--min-mapq") && !help.contains("--help"), "{help}");
        let help = help_for("readmill help prep recalibration-counting").unwrap().unwrap();
        assert!(help.contains("--known-sites") && !help.contains("--bqsr-table"), "{help}");
        let help = help_for("readmill help bqsr table Resources").unwrap().unwrap();
        assert!(help.contains("--threads"), "{help}");
    }

    #[test]
    fn an_unknown_section_is_refused_with_the_known_ones() {
        let error = help_for("readmill help sort colours").unwrap().unwrap_err().to_string();
        assert!(error.contains("colours") && error.contains("resources and restart"), "{error}");
        for other in ["readmill help", "readmill help prep", "readmill help no", "readmill help bqsr no"]
        {
            assert!(help_for(other).is_none(), "{other}");
        }
    }

    #[test]
    fn what_the_help_of_commands_leaves_out_is_in_the_topic_common() {
        let whole = complete_help(Cli::command());
        let common = help_for("readmill help common").unwrap().unwrap();
        assert!(common.contains("cgroup") && common.contains("Repeat the flag"), "{common}");
        let mut short = shorten_shared_flags(whole.clone());
        let sort = short.find_subcommand_mut("sort").unwrap().render_long_help().to_string();
        assert!(sort.contains("Memory limit of the process") && !sort.contains("cgroup"), "{sort}");
    }
}
