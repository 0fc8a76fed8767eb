//! The help of every command: a short help (`-h`) that fits on a screen, and a long help (`--help`)
//! with all flags and examples.

use std::ffi::OsString;

use clap::{Arg, Command};

use super::examples::{find_examples, format_example};
use super::help_topics::{COMMON_TOPIC, section_words};

/// Maximum number of flags for which the short help of a command shows all of them.
const MAX_SHORT_HELP_FLAGS: usize = 22;

/// Number of examples in the short help.
const SHORT_HELP_EXAMPLES: usize = 2;

/// Long names of the flags that the short help shows for commands with more than
/// [`MAX_SHORT_HELP_FLAGS`] flags.
const SHORT_HELP_FLAGS: &[&str] = &[
    "bqsr",
    "by",
    "interleaved",
    "known-sites",
    "level",
    "mark-duplicates",
    "memory",
    "metrics",
    "output",
    "output-format",
    "reference",
    "remove-duplicates",
    "resume",
    "rg",
    "sort",
    "temp-dir",
    "threads",
];

/// Commands whose short help also shows all flags with a letter, because users know these letters
/// from samtools.
const COMMANDS_WITH_LETTERS: &[&str] =
    &["bedcov", "coverage", "depth", "filter", "merge", "sort", "view"];

/// Flags with a letter that the short help of [`COMMANDS_WITH_LETTERS`] omits, because they are
/// rarely needed.
const RARE_LETTER_FLAGS: &[&str] = &[
    "customized-index",
    "exclude-all-flags",
    "exclude-no-read-group",
    "fast",
    "in-read-groups",
    "library",
    "min-query-length",
    "remove-optional-fields",
    "uncompressed",
    "unoutput",
    "verbose",
    "with-tag",
    "with-tag-in",
];

/// Returns whether the command line asks for a long help.
pub fn wants_long_help(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|word| word == "help") || words.iter().any(|word| word == "--help")
}

/// Returns whether the help of a command may be printed, so that it must be complete. This takes a
/// few milliseconds, which other runs save.
pub fn may_print_help(words: &[OsString]) -> bool {
    let has_help_letter =
        |word: &str| word.starts_with('-') && !word.starts_with("--") && word.contains(['h', '?']);
    words.len() < 3
        || wants_long_help(words)
        || words.iter().any(|word| word.to_str().is_some_and(has_help_letter))
}

/// Makes the values of all flags case-insensitive.
pub fn ignore_case_of_values(command: Command) -> Command {
    let ignore_case = |arg: Arg| {
        let takes_value = arg.get_action().takes_values();
        arg.ignore_case(takes_value)
    };
    command.mut_args(ignore_case).mut_subcommands(ignore_case_of_values)
}

/// Adds examples to a command and all its subcommands, and hides rare flags in the short help.
pub fn complete_help(command: Command) -> Command {
    complete_subcommand_help(command, "")
}

/// Implements [`complete_help`] for a command with the parent commands `above`, such as `shard` for
/// `shard plan`.
fn complete_subcommand_help(command: Command, above: &str) -> Command {
    let path = |name: &str| if above.is_empty() { name.to_string() } else { format!("{above} {name}") };
    let is_root = command.get_name() == "readmill";
    let own = if is_root { String::new() } else { path(command.get_name()) };
    let flags = command.get_arguments().filter(|arg| !arg.is_hide_set()).count();
    let is_long = flags > MAX_SHORT_HELP_FLAGS;
    let shows_letters = COMMANDS_WITH_LETTERS.contains(&own.as_str());
    let shorten = |arg: Arg| {
        let is_shown = arg.is_positional()
            || arg.get_long().is_none_or(|long| SHORT_HELP_FLAGS.contains(&long))
            || shows_letters
                && arg.get_short().is_some()
                && !arg.get_long().is_some_and(|long| RARE_LETTER_FLAGS.contains(&long));
        arg.hide_short_help(is_long && !is_shown)
    };
    let notes = command.get_after_help().map(ToString::to_string);
    let examples = find_examples(&own);
    let list = |lines: &[&str]| {
        let lines: String = lines.iter().map(|line| format_example(line)).collect();
        (!lines.is_empty()).then(|| format!("Examples:{lines}"))
    };
    let command =
        command.mut_args(shorten).mut_subcommands(|inner| complete_subcommand_help(inner, &own));
    let first_section = || {
        let mut words = section_words(&command).into_iter();
        words.find(|word| !["arguments", "options"].contains(&word.as_str())).unwrap_or_default()
    };
    let (more, shared) = is_long
        .then(first_section)
        .map(|section| {
            let one = format!("one section: readmill help {own} {section}");
            (
                format!("All flags: readmill {own} --help; {one}"),
                format!("Flags of many commands, in detail: readmill help {COMMON_TOPIC}; {one}"),
            )
        })
        .unzip();
    let join = |texts: [Option<String>; 3]| Vec::from_iter(texts.into_iter().flatten()).join("\n\n");
    let short = if is_long { None } else { notes.clone() };
    let short = join([short, list(&examples[..examples.len().min(SHORT_HELP_EXAMPLES)]), more]);
    let long = join([notes, shared, list(examples)]);
    let command = if short.is_empty() { command } else { command.after_help(short) };
    if long.is_empty() { command } else { command.after_long_help(long) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    /// Maximum number of terminal lines of the short help.
    const SCREEN: usize = 54;

    fn command() -> Command {
        complete_help(Cli::command())
    }

    fn each(command: &mut Command, path: &str, look: &mut impl FnMut(&mut Command, &str)) {
        look(command, path);
        for inner in command.get_subcommands_mut() {
            let path = format!("{path} {}", inner.get_name()).trim().to_string();
            each(inner, &path, look);
        }
    }

    #[test]
    fn short_help_fits_a_screen() {
        let (mut all, mut long) = (command(), Vec::new());
        all.build();
        each(&mut all, "", &mut |command, path| {
            let lines = command.render_help().to_string().lines().count();
            if lines > SCREEN {
                long.push(format!("{path}: {lines}"));
            }
        });
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn help_names_the_default_compression_level() {
        let expected = format!("[default: {}, or 0 for a pipe]", readmill_format::bgzf::DEFAULT_LEVEL);
        let mut found = 0;
        each(&mut command(), "", &mut |command, path| {
            if !["sort", "markdup"].contains(&path) {
                return;
            }
            for arg in command.get_arguments().filter(|arg| arg.get_long() == Some("level")) {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(help.contains(&expected), "{path}: {help}");
                found += 1;
            }
        });
        assert_eq!(found, 2);
    }

    #[test]
    fn flags_of_short_help_exist() {
        let mut longs = Vec::new();
        each(&mut command(), "", &mut |command, _| {
            longs.extend(command.get_arguments().filter_map(|arg| arg.get_long().map(String::from)));
        });
        let unknown: Vec<_> =
            SHORT_HELP_FLAGS.iter().filter(|name| !longs.contains(&(**name).to_string())).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }
}
