//! The options of other tools: what each takes and does, and the three grammars in which they are written.

use std::collections::{HashSet, VecDeque};
use std::path::Path;

use readmill::files::{self, Memory};
use readmill_record::{Error, Result};

/// An option of another tool: a row of its table.
#[derive(Clone, Copy)]
pub struct Opt {
    /// Its names as the tool's help has them, the dashes included, with a space between them.
    pub names: &'static str,
    /// The kind of value that the option takes.
    pub takes: Takes,
    /// What becomes of it.
    pub does: Does,
}

/// The kind of value that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// No value.
    Nothing,
    /// A value; the last one counts, where the tool allows several.
    Value,
    /// A value; all of them count.
    Values,
    /// A value; all of them count, and a file `.list` or `.args` stands for its lines, as in Picard and GATK.
    Files,
    /// true or false, or nothing, which is true: as in Picard and GATK.
    Truth,
}

/// What becomes of an option.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// It becomes these words, with its value behind them. A truth becomes them if it is true.
    Words(&'static str),
    /// A truth becomes these words if it is false.
    WordsIfFalse(&'static str),
    /// The front builds the native line from it; this is how.
    Built(&'static str),
    /// It cannot change a result: why.
    Harmless(&'static str),
    /// These values cannot change a result; the others are refused: what they would do, and the native way.
    Only(&'static [&'static str], &'static str, &'static str),
    /// It is refused: what it would do, and the native way, if there is one.
    Refused(&'static str, &'static str),
}

impl Opt {
    /// An option that becomes native words, with its value behind.
    pub const fn native(names: &'static str, takes: Takes, words: &'static str) -> Self {
        Opt { names, takes, does: Does::Words(words) }
    }

    /// A truth that becomes native words if it is false.
    pub const fn unless(names: &'static str, words: &'static str) -> Self {
        Opt { names, takes: Takes::Truth, does: Does::WordsIfFalse(words) }
    }

    /// An option that the front turns into native words: how.
    pub const fn built(names: &'static str, takes: Takes, how: &'static str) -> Self {
        Opt { names, takes, does: Does::Built(how) }
    }

    /// An option that cannot change a result: why.
    pub const fn harmless(names: &'static str, takes: Takes, why: &'static str) -> Self {
        Opt { names, takes, does: Does::Harmless(why) }
    }

    /// An option of which these values alone cannot change a result.
    pub const fn only(
        names: &'static str,
        takes: Takes,
        values: &'static [&'static str],
        what: &'static str,
        way: &'static str,
    ) -> Self {
        Opt { names, takes, does: Does::Only(values, what, way) }
    }

    /// An option that is refused: what it would do, and the native way, if there is one.
    pub const fn refused(
        names: &'static str,
        takes: Takes,
        what: &'static str,
        way: &'static str,
    ) -> Self {
        Opt { names, takes, does: Does::Refused(what, way) }
    }

    /// Its names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split(' ')
    }

    fn has(&self, name: &str) -> bool {
        self.names().any(|own| own == name)
    }
}

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
    /// Lists that `null` has emptied of what the tool has by itself.
    emptied: Vec<&'static Opt>,
    /// What is no option.
    pub operands: Vec<String>,
}

/// The words of a command line that are left to read.
struct Words {
    left: VecDeque<String>,
    command: String,
}

impl Words {
    fn value(&mut self, option: &str) -> Result<String> {
        let missing = || Error::usage(format!("{} {option} needs a value", self.command));
        self.left.pop_front().ok_or_else(missing)
    }

    fn unknown(&self, option: &str) -> Error {
        Error::usage(format!("{} has no option {option}", self.command)).hint(format!(
            "readmill {} --help lists its options, and what becomes of them",
            self.command
        ))
    }
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
        let command_name = command.to_string();
        let (options_given, emptied, operands) = Default::default();
        let given = Given { command: command_name, memory, options: options_given, emptied, operands };
        let words = Words { left: words.into(), command: command.to_string() };
        let table: Vec<&'static Opt> = options.iter().flat_map(|group| group.iter()).collect();
        let given = match grammar {
            Grammar::Getopt => given.getopt(&table, words),
            Grammar::Barclay { legacy } => given.barclay(&table, words, legacy),
            Grammar::Go { operands } => given.go(&table, words, operands),
        }?;
        given.check()?;
        Ok(given)
    }

    fn getopt(mut self, table: &[&'static Opt], mut words: Words) -> Result<Self> {
        while let Some(word) = words.left.pop_front() {
            if word == "--" {
                self.operands.extend(words.left.drain(..));
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = match long.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_string())),
                    None => (long, None),
                };
                let option = long_option(table, name).map_err(|several| match &several[..] {
                    [] => words.unknown(&format!("--{name}")),
                    _ => Error::usage(format!(
                        "{} --{name} may be {}",
                        words.command,
                        several.join(" or ")
                    )),
                })?;
                let value = match (option.takes, value) {
                    (Takes::Nothing, None) => String::new(),
                    (Takes::Nothing, Some(_)) => {
                        return Err(Error::usage(format!("{} --{name} takes no value", words.command)));
                    }
                    (_, Some(value)) => value,
                    (_, None) => words.value(&word)?,
                };
                self.options.push((option, value));
            } else if word.len() > 1 && word.starts_with('-') {
                self.cluster(table, &word, &mut words)?;
            } else {
                self.operands.push(word);
            }
        }
        Ok(self)
    }

    /// Reads letters behind one dash; the rest of the word is the value of the first that takes one.
    fn cluster(&mut self, table: &[&'static Opt], word: &str, words: &mut Words) -> Result<()> {
        for (at, letter) in word.char_indices().skip(1) {
            let name = format!("-{letter}");
            let found = table.iter().find(|option| option.has(&name));
            let option = *found.ok_or_else(|| words.unknown(&name))?;
            if option.takes == Takes::Nothing {
                self.options.push((option, String::new()));
                continue;
            }
            let rest = &word[at + letter.len_utf8()..];
            let value = if rest.is_empty() { words.value(&name)? } else { rest.to_string() };
            self.options.push((option, value));
            break;
        }
        Ok(())
    }

    fn barclay(mut self, table: &[&'static Opt], mut words: Words, legacy: bool) -> Result<Self> {
        let mut files_read = HashSet::new();
        while let Some(word) = words.left.pop_front() {
            let name = word.trim_start_matches('-');
            let (name, joined) = match word.split_once('=') {
                Some((name, value)) if legacy && !word.starts_with('-') => (name, Some(value)),
                _ if !word.starts_with('-') => {
                    self.operands.push(word);
                    continue;
                }
                _ => (name, None),
            };
            let is_named =
                |option: &&&'static Opt| option.names().any(|own| own.trim_start_matches('-') == name);
            let found = table.iter().find(is_named).map(|option| (*option, joined.map(str::to_string)));
            let (option, joined) = match found {
                Some(found) => found,
                None => joined_letter(table, &word).ok_or_else(|| words.unknown(&word))?,
            };
            let value = match (option.takes, joined) {
                (_, Some(value)) => value,
                (Takes::Truth, None) => match words.left.front() {
                    Some(next) if !next.starts_with('-') => words.value(&word)?,
                    _ => "true".to_string(),
                },
                (_, None) => words.value(&word)?,
            };
            if option.has("--arguments_file") {
                // (A file that names itself counts once, as in Picard.)
                if !files_read.insert(value.clone()) {
                    continue;
                }
                let more = self.read_lines(&value)?;
                for word in more.iter().flat_map(|line| line.split_whitespace()).rev() {
                    words.left.push_front(word.to_string());
                }
                continue;
            }
            let is_again = self.options.iter().any(|(own, _)| std::ptr::eq(*own, option));
            match option.takes {
                Takes::Files if value.ends_with(".list") || value.ends_with(".args") => {
                    let lines = self.read_lines(&value)?;
                    self.options.extend(lines.into_iter().map(|line| (option, line)));
                }
                Takes::Files | Takes::Values => self.options.push((option, value)),
                _ if is_again => {
                    return Err(Error::usage(format!("{} {name} is given twice", words.command)));
                }
                Takes::Truth => {
                    let truth = truth(&value).ok_or_else(|| {
                        Error::usage(format!("{} {name} {value}: neither true nor false", words.command))
                    })?;
                    self.options.push((option, truth.to_string()));
                }
                _ => self.options.push((option, value)),
            }
        }
        if let [operand, ..] = &self.operands[..] {
            return Err(Error::usage(format!("{} takes no word alone: {operand}", self.command)));
        }
        self.take_null();
        Ok(self)
    }

    /// `null` stands for what is not given; in a list it takes away what stands before it, and what the tool has by itself.
    fn take_null(&mut self) {
        let mut kept: Vec<(&'static Opt, String)> = Vec::new();
        for (option, value) in self.options.drain(..) {
            if value != "null" || option.has("--READ_NAME_REGEX") {
                kept.push((option, value));
            } else if matches!(option.takes, Takes::Values | Takes::Files) {
                kept.retain(|(own, _)| !std::ptr::eq(*own, option));
                self.emptied.push(option);
            }
        }
        self.options = kept;
    }

    fn go(mut self, table: &[&'static Opt], mut words: Words, operands: usize) -> Result<Self> {
        let few = words.left.len() < operands
            || words.left.iter().take(operands).any(|word| word.starts_with("--"));
        if few {
            return Err(Error::usage(format!(
                "{} needs {operands} files in front of its options",
                self.command
            )));
        }
        self.operands.extend(words.left.drain(..operands));
        while let Some(word) = words.left.pop_front() {
            let Some(name) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
                return Err(Error::usage(format!("{} cannot read {word} here", words.command)));
            };
            let (name, joined) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (name, None),
            };
            let full = format!("--{name}");
            let found = table.iter().find(|option| option.has(&full));
            let option = *found.ok_or_else(|| words.unknown(&word))?;
            match (option.takes, joined) {
                (Takes::Nothing, Some(value)) => match truth_of_go(&value) {
                    Some(true) => self.options.push((option, String::new())),
                    Some(false) => self.options.retain(|(own, _)| !std::ptr::eq(*own, option)),
                    None => {
                        return Err(Error::usage(format!(
                            "{} {full}={value}: neither true nor false",
                            words.command
                        )));
                    }
                },
                (Takes::Nothing, None) => self.options.push((option, String::new())),
                (_, Some(value)) => self.options.push((option, value)),
                (_, None) => {
                    let value = words.value(&full)?;
                    self.options.push((option, value));
                }
            }
        }
        Ok(self)
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
            return Err(if way.is_empty() { error } else { error.hint(way) });
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
        let memory = Memory::of(self.memory)?;
        let mut lines = Vec::new();
        for line in files::lines(Path::new(path), &memory.ledger)? {
            let line = line.into_os_string().into_string().map_err(|line| {
                self.refuse(&format!("{path} has a line that is not UTF-8: {}", line.display()))
            })?;
            if !line.starts_with('#') {
                lines.push(line);
            }
        }
        Ok(lines)
    }

    /// A refusal that names the command.
    pub fn refuse(&self, what: &str) -> Error {
        Error::usage(format!("{}: {what}", self.command))
    }
}

/// The option of a long name, or of the one name that it begins.
fn long_option(table: &[&'static Opt], name: &str) -> std::result::Result<&'static Opt, Vec<String>> {
    let full = format!("--{name}");
    if let Some(option) = table.iter().find(|option| option.has(&full)) {
        return Ok(option);
    }
    let begun: Vec<(&'static Opt, &'static str)> = table
        .iter()
        .flat_map(|option| option.names().map(move |own| (*option, own)))
        .filter(|(_, own)| !name.is_empty() && own.starts_with(&full))
        .collect();
    match &begun[..] {
        [(first, _), rest @ ..] if rest.iter().all(|(option, _)| std::ptr::eq(*option, *first)) => {
            Ok(first)
        }
        _ => Err(begun.iter().map(|(_, own)| own.to_string()).collect()),
    }
}

/// A letter with its value in the same word, as Picard takes `-Ix.bam`.
fn joined_letter(table: &[&'static Opt], word: &str) -> Option<(&'static Opt, Option<String>)> {
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let letter = rest.chars().next()?;
    let name = format!("-{letter}");
    let valued = |option: &&&'static Opt| option.has(&name) && option.takes != Takes::Truth;
    let option = table.iter().find(valued)?;
    Some((option, Some(rest[letter.len_utf8()..].to_string())))
}

/// Reads a truth as Picard and GATK write it.
fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" => Some(true),
        "false" | "f" => Some(false),
        _ => None,
    }
}

/// Reads a truth as Go's `strconv.ParseBool` does.
fn truth_of_go(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
