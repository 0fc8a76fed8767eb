//! Command-line flags of filters: their descriptions, and the flags given by the user.
//!
//! This crate does not know the command-line parser. Each filter describes its flags as [`Flag`]s.
//! The command line makes its arguments from them (`src/cli/filter_flags.rs`), and returns
//! [`GivenFlags`].

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::str::FromStr;

use readmill_record::{Error, Flags, Result};

/// The description of one flag, which determines its argument, its help and its words in @PG.
///
/// ```
/// use readmill_filters::flag::{Flag, FlagValue};
///
/// const MIN_MAPQ: Flag = Flag::with_value("min-mapq", FlagValue::U8, "N", "Drop reads with a lower MAPQ");
/// const STRICT: Flag = Flag::switch("strict", "Also drop reads without MAPQ").requires_flag("min-mapq");
/// assert_eq!(STRICT.requires, Some(MIN_MAPQ.name));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    pub name: &'static str,
    pub help: &'static str,
    pub value: FlagValue,
    pub metavar: &'static str,
    pub repeats: bool,
    pub aliases: &'static [&'static str],
    /// The names of this flag in `samtools view`: a letter or a longer name. Only `readmill filter`
    /// accepts them, because the letters have different meanings in other commands.
    pub samtools: &'static [&'static str],
    pub requires: Option<&'static str>,
    pub conflicts: Option<&'static str>,
}

#[derive(Clone, Copy, Debug)]
pub enum FlagValue {
    None,
    Text,
    File,
    U8,
    U32,
    F64,
    Flags,
    OneOf(&'static [(&'static str, &'static str)]),
}

impl Flag {
    pub const fn switch(name: &'static str, help: &'static str) -> Self {
        Self::with_value(name, FlagValue::None, "", help)
    }

    pub const fn with_value(
        name: &'static str,
        value: FlagValue,
        metavar: &'static str,
        help: &'static str,
    ) -> Self {
        let (requires, conflicts, repeats) = (None, None, false);
        Flag { name, help, value, metavar, repeats, aliases: &[], samtools: &[], requires, conflicts }
    }

    #[must_use]
    pub const fn repeatable(self) -> Self {
        Flag { repeats: true, ..self }
    }

    #[must_use]
    pub const fn with_aliases(self, aliases: &'static [&'static str]) -> Self {
        Flag { aliases, ..self }
    }

    #[must_use]
    pub const fn with_samtools_names(self, samtools: &'static [&'static str]) -> Self {
        Flag { samtools, ..self }
    }

    #[must_use]
    pub const fn requires_flag(self, name: &'static str) -> Self {
        Flag { requires: Some(name), ..self }
    }

    #[must_use]
    pub const fn conflicts_with(self, name: &'static str) -> Self {
        Flag { conflicts: Some(name), ..self }
    }
}

/// The flags that the user gave, with their values, in any order.
///
/// ```
/// use readmill_filters::flag::{Flag, GivenFlags, FlagValue};
///
/// # fn main() -> readmill_record::Result<()> {
/// let flags = [Flag::with_value("min-mapq", FlagValue::U8, "N", ""), Flag::switch("strict", "")];
/// let given = GivenFlags::from_words(flags.iter(), ["--min-mapq", "20"])?;
/// assert_eq!(given.parse_value::<u8>("min-mapq")?, Some(20));
/// assert!(!given.is_given("strict"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct GivenFlags(Vec<(&'static str, OsString)>);

impl GivenFlags {
    /// Parses a command line of only these flags, such as `["--min-mapq", "20"]`.
    ///
    /// # Errors
    /// A flag is unknown, is given twice, conflicts with another flag, or lacks its value or a
    /// required flag.
    pub fn from_words<'a, W: Into<OsString>>(
        flags: impl Iterator<Item = &'a Flag> + Clone,
        words: impl IntoIterator<Item = W>,
    ) -> Result<Self> {
        let mut given = GivenFlags::default();
        let mut words = words.into_iter().map(Into::into);
        while let Some(word) = words.next() {
            let name = word.to_str().and_then(|word| word.strip_prefix("--"));
            let Some(flag) = flags.clone().find(|flag| Some(flag.name) == name) else {
                return Err(Error::usage(format!("unknown flag {}", word.display())));
            };
            if given.is_given(flag.name) && !flag.repeats {
                return Err(Error::usage(format!("--{} is given twice", flag.name)));
            }
            let value = match flag.value {
                FlagValue::None => OsString::new(),
                _ => words.next().ok_or_else(|| missing_error(flag, "a value"))?,
            };
            given.add_flag(flag.name, value);
        }
        for flag in flags.clone().filter(|flag| given.is_given(flag.name)) {
            // The caller checks a required flag that is not in this list, such as --reference.
            let known = |name: &&str| flags.clone().any(|flag| flag.name == *name);
            if let Some(other) = flag.requires.filter(known).filter(|other| !given.is_given(other)) {
                return Err(missing_error(flag, &format!("--{other}")));
            }
            if let Some(other) = flag.conflicts.filter(|other| given.is_given(other)) {
                return Err(Error::usage(format!("--{} cannot be used with --{other}", flag.name)));
            }
        }
        Ok(given)
    }

    pub fn add_flag(&mut self, name: &'static str, value: impl Into<OsString>) {
        self.0.push((name, value.into()));
    }

    fn raw_values(&self, name: &str) -> impl Iterator<Item = &OsStr> {
        self.0.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_os_str())
    }

    pub fn is_given(&self, name: &str) -> bool {
        self.raw_values(name).next().is_some()
    }

    pub fn path_value(&self, name: &str) -> Option<PathBuf> {
        self.raw_values(name).next().map(PathBuf::from)
    }

    /// Returns the list files of a repeatable flag, or `None` if it was not given.
    ///
    /// # Errors
    /// Files of what is kept and of what is dropped (`^FILE`) are mixed, as in samtools.
    pub fn list_files(&self, name: &str) -> Result<Option<ListFiles>> {
        let mut files: Option<ListFiles> = None;
        for value in self.raw_values(name) {
            let dropped = value.as_bytes().strip_prefix(b"^");
            let (path, keep) = dropped.map_or((value, true), |path| (OsStr::from_bytes(path), false));
            let files = files.get_or_insert_with(|| ListFiles { paths: Vec::new(), keep });
            if files.keep != keep {
                return Err(Error::usage(format!(
                    "--{name} has both FILE, to keep, and ^FILE, to drop"
                ))
                .hint("use only files with ^, or only files without it"));
            }
            files.paths.push(path.into());
        }
        Ok(files)
    }

    /// Returns the parsed value of a flag, or `None` if it was not given.
    ///
    /// # Errors
    /// The value cannot be parsed; the error names the flag.
    pub fn parse_value<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Option<T>> {
        Ok(self.parse_values(name)?.pop())
    }

    /// Parses all values of a repeatable flag, in the order given.
    ///
    /// # Errors
    /// A value cannot be parsed; the error names the flag.
    pub fn parse_values<T: FromStr<Err: Display>>(&self, name: &str) -> Result<Vec<T>> {
        let parse = |value: &OsStr| {
            let wrong = |why: &dyn Display| {
                Error::usage(format!("--{name} cannot be {}: {why}", value.display()))
            };
            let text = value.to_str().ok_or_else(|| wrong(&"not UTF-8"))?;
            text.parse().map_err(|error: T::Err| wrong(&error))
        };
        self.raw_values(name).map(parse).collect()
    }

    /// Returns the union of the FLAG bits in all values of this flag, 0 if it was not given.
    ///
    /// # Errors
    /// A value is neither a number nor a list of bit names.
    pub fn flag_bits(&self, name: &str) -> Result<u16> {
        Ok(self.parse_values(name)?.into_iter().fold(0, |bits, flags: Flags| bits | flags.0))
    }
}

/// The files of a flag such as `--qname-file`. Together they list what is kept or, if their names
/// are preceded by `^` on the command line, what is dropped.
#[derive(Debug)]
pub struct ListFiles {
    /// The names of the files, without the `^` of the command line.
    pub paths: Vec<PathBuf>,
    pub keep: bool,
}

impl ListFiles {
    pub(crate) fn command_words(&self, flag: &str) -> Vec<String> {
        let mark = if self.keep { "" } else { "^" };
        let words = |path: &PathBuf| flag_with_value(flag, format!("{mark}{}", path.display()));
        self.paths.iter().flat_map(words).collect()
    }
}

fn missing_error(flag: &Flag, what: &str) -> Error {
    Error::usage(format!("--{} needs {what}", flag.name))
}

pub(crate) fn flag_with_value(flag: &str, value: impl Display) -> Vec<String> {
    vec![flag.to_string(), value.to_string()]
}

/// Quotes a word for a POSIX shell, so that the command line in @PG can be pasted.
pub(crate) fn shell_quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAGS: [Flag; 4] = [
        Flag::with_value("least", FlagValue::U8, "N", ""),
        Flag::with_value("bits", FlagValue::Flags, "FLAGS", "").repeatable(),
        Flag::switch("strict", "").requires_flag("least"),
        Flag::switch("all", "").conflicts_with("bits").requires_flag("reference"),
    ];

    fn given(line: &str) -> Result<GivenFlags> {
        GivenFlags::from_words(FLAGS.iter(), line.split_whitespace())
    }

    #[test]
    fn values_are_parsed_and_repeated_bits_are_joined() {
        let flags = given("--bits 1 --least 20 --bits UNMAP --strict").unwrap();
        assert_eq!(flags.parse_value::<u8>("least").unwrap(), Some(20));
        assert_eq!(flags.flag_bits("bits").unwrap(), 5);
        assert!(flags.is_given("strict") && !flags.is_given("all"));
        assert!(given("--all").is_ok(), "--reference is no flag of this list");
    }

    #[test]
    fn mistakes_are_named() {
        for (line, what) in [
            ("--most 3", "unknown flag --most"),
            ("least 3", "unknown flag least"),
            ("--least", "--least needs a value"),
            ("--least 1 --least 2", "--least is given twice"),
            ("--strict", "--strict needs --least"),
            ("--all --bits 1", "--all cannot be used with --bits"),
        ] {
            assert_eq!(given(line).unwrap_err().what, what);
        }
        let error = given("--least 256").unwrap().parse_value::<u8>("least").unwrap_err();
        assert!(error.what.starts_with("--least cannot be 256: "), "{error}");
    }
}
