//! A command line as the tool reads it.

use readmill_record::{Error, Result};

use super::option::{Does, Opt, Takes};
use super::words::{self, Parsed, Words};
use super::{barclay, getopt, go};

/// How a tool's options are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grammar {
    /// getopt of the C library: clusters of letters, values joined or apart, long names cut short, operands anywhere.
    Getopt,
    /// Picard and GATK: names with one dash or two, values apart; `NAME=value` where `legacy`.
    Barclay {
        /// Whether `NAME=value` is taken.
        legacy: bool,
    },
    /// Flags of Go behind so many operands: one dash or two, `=` or a space before the value.
    Go {
        /// Operands in front.
        operands: usize,
    },
}

/// A command line as the tool reads it.
pub struct Given {
    /// The name of the tool and the command, for messages.
    pub command: String,
    /// Bytes of memory that the line may take, as far as is known before it is read.
    pub memory: u64,
    options: Vec<(&'static Opt, String)>,
    emptied: Vec<&'static Opt>,
    /// What is no option.
    pub operands: Vec<String>,
}

impl Given {
    /// Reads the words behind the command's name.
    pub fn parse(
        command: &str,
        grammar: Grammar,
        options: &[&'static [Opt]],
        words: Vec<String>,
        memory: u64,
    ) -> Result<Self> {
        let words = Words { left: words.into(), command: command.to_string(), memory };
        let table: Vec<&'static Opt> = options.iter().flat_map(|group| group.iter()).collect();
        let Parsed { options, emptied, operands } = match grammar {
            Grammar::Getopt => getopt::read(&table, words),
            Grammar::Barclay { legacy } => barclay::read(&table, words, legacy),
            Grammar::Go { operands } => go::read(&table, words, operands),
        }?;
        let given = Given { command: command.to_string(), memory, options, emptied, operands };
        given.check()?;
        Ok(given)
    }

    /// Refuses what is given and would change a result.
    fn check(&self) -> Result<()> {
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
            let none =
                || format!("readmill has no flag for this: run {tool} itself, or leave {name} out");
            return Err(if way.is_empty() { error.hint(none()) } else { error.hint(way) });
        }
        Ok(())
    }

    /// The values of an option, by any of its names.
    pub fn all<'a>(&'a self, name: &'a str) -> impl DoubleEndedIterator<Item = &'a str> {
        let named = self.options.iter().filter(move |(option, _)| option.has(name));
        named.map(|(_, value)| value.as_str())
    }

    /// The last value of an option.
    pub fn value<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next_back()
    }

    /// Whether a list has lost what the tool has by itself.
    pub fn is_emptied(&self, name: &str) -> bool {
        self.emptied.iter().any(|option| option.has(name))
    }

    /// The option that comes last among those of these names: the place of its name.
    pub fn last_of(&self, names: &[&str]) -> Option<usize> {
        let place = |option: &Opt| names.iter().position(|name| option.has(name));
        self.options.iter().rev().find_map(|(option, _)| place(option))
    }

    /// Whether a switch is given, or a truth is true.
    pub fn has(&self, name: &str) -> bool {
        self.value(name).is_some_and(|value| value != "false")
    }

    /// The value that an option must have.
    pub fn needed(&self, name: &str) -> Result<&str> {
        let missing = || Error::usage(format!("{} needs {name}", self.command));
        // The name outlives the look-up alone.
        let named = self.options.iter().rev().find(|(option, _)| option.has(name));
        named.map(|(_, value)| value.as_str()).ok_or_else(missing)
    }

    /// The native words of the options that become such, in the order of the table.
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

    /// The lines of a file of arguments or names, without remarks and empty lines.
    pub fn read_lines(&self, path: &str) -> Result<Vec<String>> {
        words::read_lines(path, &self.command, self.memory)
    }

    /// A refusal that names the command.
    pub fn refuse(&self, what: &str) -> Error {
        Error::usage(format!("{}: {what}", self.command))
    }
}
