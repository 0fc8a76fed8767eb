//! One error type for everything that concerns a user's data: what is wrong, where, what to do.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// What a library function of readmill returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who has to act, which also decides the exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request cannot be met as it was made (exit code 1).
    Usage,
    /// The input is damaged, or not what it was said to be (exit code 2).
    Input,
    /// Reading or writing failed, or there is no space left (exit code 3).
    Io,
    /// Two things differ that should not (exit code 4).
    Different,
    /// The reader of a pipe went away (exit code 141, quietly).
    BrokenPipe,
    /// What cannot be has happened (exit code 101).
    Bug,
}

/// Where in the data something went wrong. Unknown parts are left out of the message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorContext {
    /// The file, `-` for a pipe.
    pub file: Option<PathBuf>,
    /// Bytes from the start of the file (compressed bytes for BGZF).
    pub offset: Option<u64>,
    /// Number of the record in the input, from 1, before any filter.
    pub record: Option<u64>,
    /// Name of the read.
    pub qname: Option<String>,
}

/// An error that names the file, the record and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Who has to act.
    pub kind: ErrorKind,
    /// What is wrong, in one clause.
    pub what: String,
    /// What the user can do about it.
    pub hint: Option<Cow<'static, str>>,
    /// Where it is.
    pub place: Box<ErrorContext>,
}

impl Error {
    fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Error { kind, what: what.into(), hint: None, place: Box::default() }
    }

    /// The input is damaged or not what it claims to be.
    pub fn input(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, what)
    }

    /// The request cannot be met as made.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    /// Two things differ that should not.
    pub fn different(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Different, what)
    }

    /// readmill itself is wrong.
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, what).hint("this is a defect of readmill: please report it")
    }

    /// Reading or writing `doing what` failed.
    pub fn io(doing: impl fmt::Display, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => ErrorKind::BrokenPipe,
            _ => ErrorKind::Io,
        };
        let mut it = Self::new(kind, format!("{doing}: {}", describe(error)));
        if error.kind() == std::io::ErrorKind::StorageFull {
            it.hint = Some("free some space, or choose another directory".into());
        }
        it
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the file, unless one is named already.
    #[must_use]
    pub fn file(mut self, file: &Path) -> Self {
        self.place.file.get_or_insert_with(|| file.to_path_buf());
        self
    }

    /// Adds the offset in the file, unless one is known already.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.place.offset.get_or_insert(offset);
        self
    }

    /// Adds the record's number in the input, from 0 here and from 1 in the message.
    #[must_use]
    pub fn record(mut self, ordinal: u64) -> Self {
        self.place.record.get_or_insert(ordinal + 1);
        self
    }

    /// Adds the read's name.
    #[must_use]
    pub fn qname(mut self, qname: &[u8]) -> Self {
        if !qname.is_empty() {
            self.place.qname.get_or_insert_with(|| String::from_utf8_lossy(qname).into_owned());
        }
        self
    }
}

/// An I/O error in the words of the system, without Rust's "(os error 28)".
fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(cut) => text[..cut].to_string(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.place.file {
            write!(f, "{}: ", file.display())?;
        }
        match (self.place.record, &self.place.qname) {
            (Some(record), Some(qname)) => write!(f, "record {record} (read {qname}): ")?,
            (Some(record), None) => write!(f, "record {record}: ")?,
            (None, Some(qname)) => write!(f, "read {qname}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.what)?;
        if let Some(offset) = self.place.offset {
            write!(f, " at byte {offset}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_where_and_what_to_do() {
        let error = Error::input("CIGAR is longer than SEQ")
            .record(41)
            .qname(b"r7")
            .file(Path::new("in.bam"))
            .hint("validate the file");
        assert_eq!(
            error.to_string(),
            "in.bam: record 42 (read r7): CIGAR is longer than SEQ; validate the file"
        );
    }
}
