//! Flags of filters: their descriptions, of which the command line makes its arguments, and those that were given.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;

use readmill_record::{Error, Flags, Result};

/// A flag of a filter.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its name, without `--`.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// The kind of its value.
    pub value: Value,
    /// The name of the value in the help.
    pub metavar: &'static str,
    /// Whether it may be given again.
    pub repeats: bool,
    /// Other names, which the help does not show.
    pub aliases: &'static [&'static str],
    /// Names that `samtools view` has for it: a letter, or a longer name. `readmill filter` alone accepts them, because
    /// letters mean other things elsewhere.
    pub samtools: &'static [&'static str],
    /// A flag without which it has no effect.
    pub requires: Option<&'static str>,
    /// A flag that contradicts it.
    pub conflicts: Option<&'static str>,
}

/// The kind of a flag's value.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// None: the flag is a switch.
    None,
    /// Any text.
    Text,
    /// The name of a file.
    File,
    /// A whole number up to 255.
    U8,
    /// A whole number of 32 bits.
    U32,
    /// A number.
    F64,
    /// Bits of FLAG, as a number or by their names.
    Flags,
    /// One of these words, each with its help.
    OneOf(&'static [(&'static str, &'static str)]),
}

impl Flag {
    /// A flag without a value.
    pub const fn switch(name: &'static str, help: &'static str) -> Self {
        Self::with_value(name, Value::None, "", help)
    }

    /// A flag with a value of this kind, which the help calls `metavar`.
    pub const fn with_value(
        name: &'static str,
        value: Value,
        metavar: &'static str,
        help: &'static str,
    ) -> Self {
        let (requires, conflicts, repeats) = (None, None, false);
        Flag { name, help, value, metavar, repeats, aliases: &[], samtools: &[], requires, conflicts }
    }

    /// The same flag, which may be given again.
    #[must_use]
    pub const fn repeats(self) -> Self {
        Flag { repeats: true, ..self }
    }

    /// The same flag with other names, which the help does not show.
    #[must_use]
    pub const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Flag { aliases, ..self }
    }

    /// The same flag with the names that `samtools view` has for it.
    #[must_use]
    pub const fn samtools(self, samtools: &'static [&'static str]) -> Self {
        Flag { samtools, ..self }
    }

    /// The same flag, which has no effect without another one.
    #[must_use]
    pub const fn requires(self, name: &'static str) -> Self {
        Flag { requires: Some(name), ..self }
    }

    /// The same flag, which contradicts another one.
    #[must_use]
    pub const fn conflicts_with(self, name: &'static str) -> Self {
        Flag { conflicts: Some(name), ..self }
    }
}

/// The flags that were given, with their values, in any order.
#[derive(Clone, Debug, Default)]
pub struct GivenFlags(Vec<(&'static str, OsString)>);

impl GivenFlags {
    /// Parses a command line of these flags, such as `["--min-mapq", "20"]`.
    ///
    /// # Errors
    /// If a flag is unknown, lacks its value or the flag that it requires, contradicts another, or is given twice.
    pub fn from_words<'a, W: Into<OsString>>(
        flags: impl Iterator<Item = &'a Flag> + Clone,
        words: impl IntoIterator<Item = W>,
    ) -> Result<Self> {
        let mut given = GivenFlags::default();
        let mut words = words.into_iter().map(Into::into);
        while let Some(word) = words.next() {
            let name = word.to_str().and_then(|word| word.strip_prefix("--"));
            let Some(flag) = flags.clone().find(|flag| Some(flag.name) == name) else {
                return Err(Error::usage(format!("there is no flag {}", word.display())));
            };
            if given.is_given(flag.name) && !flag.repeats {
                return Err(Error::usage(format!("--{} is given twice", flag.name)));
            }
            let value = match flag.value {
                Value::None => OsString::new(),
                _ => words.next().ok_or_else(|| lacks(flag, "a value"))?,
            };
            given.add(flag.name, value);
        }
        for flag in flags.clone().filter(|flag| given.is_given(flag.name)) {
            // A flag that is none of these, such as --reference, is the caller's to check.
            let known = |name: &&str| flags.clone().any(|flag| flag.name == *name);
            if let Some(other) = flag.requires.filter(known).filter(|other| !given.is_given(other)) {
                return Err(lacks(flag, &format!("--{other}")));
            }
            if let Some(other) = flag.conflicts.filter(|other| given.is_given(other)) {
                return Err(Error::usage(format!(
                    "--{} and --{other} contradict each other",
                    flag.name
                )));
            }
        }
        Ok(given)
    }

    /// Adds a flag. The value of a switch is empty.
    pub fn add(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.0.push((name, value.into()));
    }

    fn values(&self, name: &str) -> impl Iterator<Item = &OsStr> {
        self.0.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_os_str())
    }

    /// Whether the flag is given.
    pub fn is_given(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// Returns the file that the flag names.
    pub fn path(&self, name: &str) -> Option<PathBuf> {
        self.values(name).next().map(PathBuf::from)
    }

    /// Returns the value of the flag.
    ///
    /// # Errors
    /// If it is no such value.
    pub fn parsed<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>> {
        Ok(self.all(name)?.pop())
    }

    /// Returns all values of a flag that may be given again.
    ///
    /// # Errors
    /// If one is no such value.
    pub fn all<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Vec<T>> {
        let parse = |value: &OsStr| {
            let wrong = |why: &dyn Display| {
                Error::usage(format!("--{name} cannot be {}: {why}", value.display()))
            };
            let text = value.to_str().ok_or_else(|| wrong(&"it is not UTF-8"))?;
            text.parse().map_err(|error: T::Err| wrong(&error))
        };
        self.values(name).map(parse).collect()
    }

    /// Returns the bits of FLAG that any of the flag's values has.
    ///
    /// # Errors
    /// If a value is neither a number nor made of names of bits.
    pub fn bits(&self, name: &str) -> Result<u16> {
        Ok(self.all(name)?.into_iter().fold(0, |bits, flags: Flags| bits | flags.0))
    }
}

fn lacks(flag: &Flag, what: &str) -> Error {
    Error::usage(format!("--{} needs {what}", flag.name))
}

/// Returns a flag and its value, as @PG states them.
pub(crate) fn with_value(flag: &str, value: impl Display) -> Vec<String> {
    vec![flag.to_string(), value.to_string()]
}

/// Returns a word as a shell takes it, whatever is in it.
pub(crate) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: [Flag; 4] = [
        Flag::with_value("least", Value::U8, "N", ""),
        Flag::with_value("bits", Value::Flags, "FLAGS", "").repeats(),
        Flag::switch("strict", "").requires("least"),
        Flag::switch("all", "").conflicts_with("bits").requires("reference"),
    ];

    fn given(line: &str) -> Result<GivenFlags> {
        GivenFlags::from_words(FLAGS.iter(), line.split_whitespace())
    }

    #[test]
    fn values_are_parsed_and_repeated_bits_are_joined() {
        let flags = given("--bits 1 --least 20 --bits UNMAP --strict").unwrap();
        assert_eq!(flags.parsed::<u8>("least").unwrap(), Some(20));
        assert_eq!(flags.bits("bits").unwrap(), 5);
        assert!(flags.is_given("strict") && !flags.is_given("all"));
        assert!(given("--all").is_ok(), "--reference is no flag of this list");
    }

    #[test]
    fn mistakes_are_named() {
        for (line, what) in [
            ("--most 3", "there is no flag --most"),
            ("least 3", "there is no flag least"),
            ("--least", "--least needs a value"),
            ("--least 1 --least 2", "--least is given twice"),
            ("--strict", "--strict needs --least"),
            ("--all --bits 1", "--all and --bits contradict each other"),
        ] {
            assert_eq!(given(line).unwrap_err().what, what);
        }
        let error = given("--least 256").unwrap().parsed::<u8>("least").unwrap_err();
        assert!(error.what.starts_with("--least cannot be 256: "), "{error}");
    }
}
