//! The parsed command line of a tool.

use readmill_record::{Error, Result};

use super::option::{Does, Opt, Takes};
use super::words::{self, ParsedOptions, UnparsedArguments};
use super::{barclay, getopt, go};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// getopt_long of the C library: clusters of letters, values in the same word or in the next,
    /// abbreviated long names, operands between options.
    Getopt,
    /// Picard and GATK: names with one or two dashes, values in the next word.
    Barclay {
        /// Also accept `NAME=value`.
        legacy: bool,
    },
    /// Go's flag package: operands first, then flags with one or two dashes, and `=` or a space
    /// before the value.
    Go {
        /// Number of operands before the first flag.
        operands: usize,
    },
}

/// The parsed command line of a tool: the options with their values, and the operands. Each
/// command's function translates it to a `NativeLine`.
pub struct ParsedArguments {
    pub command: String,
    /// Maximum memory for reading headers and lists, in bytes. The limit is known before the line
    /// is parsed.
    pub memory: u64,
    options: Vec<(&'static Opt, String)>,
    emptied: Vec<&'static Opt>,
    pub operands: Vec<String>,
}

impl ParsedArguments {
    /// Parses the arguments after the command name. Refuses options that readmill does not support.
    pub fn parse(
        command: &str,
        grammar: Grammar,
        options: &[&'static [Opt]],
        words: Vec<String>,
        memory: u64,
    ) -> Result<Self> {
        let words = UnparsedArguments { left: words.into(), command: command.to_string(), memory };
        let table: Vec<&'static Opt> = options.iter().flat_map(|group| group.iter()).collect();
        let ParsedOptions { options, emptied, operands } = match grammar {
            Grammar::Getopt => getopt::parse_getopt(&table, words),
            Grammar::Barclay { legacy } => barclay::parse_barclay(&table, words, legacy),
            Grammar::Go { operands } => go::parse_go_flags(&table, words, operands),
        }?;
        let given = ParsedArguments { command: command.to_string(), memory, options, emptied, operands };
        given.refuse_unsupported()?;
        Ok(given)
    }

    fn refuse_unsupported(&self) -> Result<()> {
        for (option, value) in &self.options {
            let name = option.names().last().unwrap_or_default();
            let (what, way) = match option.does {
                Does::Refused(what, way) if !(option.takes == Takes::Truth && value == "false") => {
                    (what, way)
                }
                Does::Only(values, what, way)
                    if !values.iter().any(|own| own.eq_ignore_ascii_case(value)) =>
                {
                    (what, way)
                }
                _ => continue,
            };
            let shown = match option.takes {
                Takes::Nothing => name.to_string(),
                _ => format!("{name} {value}"),
            };
            let error = Error::usage(format!("{} {shown} is not supported: it {what}", self.command));
            let tool = self.command.split(' ').next().unwrap_or_default();
            let none = || format!("readmill does not support this: run {tool}, or omit {name}");
            return Err(if way.is_empty() { error.hint(none()) } else { error.hint(way) });
        }
        Ok(())
    }

    /// Returns all values of an option, in command line order. `name` can be any name of the
    /// option.
    pub fn values<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        let named = self.options.iter().filter(move |(option, _)| option.has_name(name));
        named.map(|(_, value)| value.as_str())
    }

    pub fn last_value<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.values(name).next_back()
    }

    /// Returns whether the value `null` has removed the default values of a list. Otherwise, the
    /// front adds the tool's defaults to the given values.
    pub fn is_default_removed(&self, name: &str) -> bool {
        self.emptied.iter().any(|option| option.has_name(name))
    }

    /// Returns the index of the last of `names` on the command line.
    pub fn last_given_of(&self, names: &[&str]) -> Option<usize> {
        let place = |option: &Opt| names.iter().position(|name| option.has_name(name));
        self.options.iter().rev().find_map(|(option, _)| place(option))
    }

    /// Returns whether a switch is given, or a Picard or GATK boolean is true. For an option with a
    /// different kind of value, returns whether it is given.
    pub fn is_set(&self, name: &str) -> bool {
        self.last_value(name).is_some_and(|value| value != "false")
    }

    /// Returns the last value of a required option, or a usage error if it is missing.
    pub fn require_value(&self, name: &str) -> Result<&str> {
        let missing = || Error::usage(format!("{} needs {name}", self.command));
        // Not `self.value`: the result may outlive `name`, but not `self`.
        let named = self.options.iter().rev().find(|(option, _)| option.has_name(name));
        named.map(|(_, value)| value.as_str()).ok_or_else(missing)
    }

    /// Returns the native flags of all options with a direct counterpart, in command line order. If
    /// an option is given several times, only the last one counts, unless it is a list.
    pub fn native_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (at, (option, value)) in self.options.iter().enumerate() {
            let is_last = !self.options[at + 1..].iter().any(|(own, _)| std::ptr::eq(*own, *option));
            let (text, valued) = match (option.does, option.takes) {
                (Does::Words(text), Takes::Nothing) => (text, false),
                (Does::Words(text), Takes::Truth) if value == "true" => (text, false),
                (Does::WordsIfFalse(text), _) if value == "false" => (text, false),
                (Does::Words(text), Takes::Value | Takes::Values | Takes::Files) => (text, true),
                _ => continue,
            };
            if !is_last && !matches!(option.takes, Takes::Values | Takes::Files) {
                continue;
            }
            words.extend(text.split(' ').map(str::to_string));
            words.extend(valued.then(|| value.clone()));
        }
        words
    }

    /// Reads the lines of a file of regions or file names, skipping empty lines. A line that begins
    /// with `#` is not a comment, as in samtools.
    pub fn read_lines(&self, path: &str) -> Result<Vec<String>> {
        words::read_lines(path, &self.command, self.memory)
    }

    pub fn refusal_error(&self, what: &str) -> Error {
        Error::usage(format!("{}: {what}", self.command))
    }
}
