//! The error type for everything that concerns a user's data: what is wrong, where, and what to do.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

/// The result of a library function of readmill.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of an error, which decides the exit code of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request cannot be met as the user made it (exit code 1).
    Usage,
    /// The input is damaged, or is not what the user said it is (exit code 2).
    Input,
    /// Reading or writing failed, or there is no space left (exit code 3).
    Io,
    /// Two things differ that should not (exit code 4).
    Different,
    /// A failure that another run may heal (exit code 75).
    Temporary,
    /// The reader of a pipe closed it (exit code 141, without a message).
    BrokenPipe,
    /// A defect of readmill (exit code 101).
    Bug,
}

/// The place in the data where something went wrong. The message leaves out unknown parts.
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

/// An error that names the file, the record and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The class of the error.
    pub kind: ErrorKind,
    /// The fault, in one clause.
    pub what: String,
    /// The remedy: what the user can do.
    pub hint: Option<Cow<'static, str>>,
    /// The place in the data.
    pub place: Box<ErrorContext>,
    /// Whether the same may succeed later: space or memory that can be freed, a server that may come back.
    pub may_pass: bool,
}

impl Error {
    fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Error { kind, what: what.into(), hint: None, place: Box::default(), may_pass: false }
    }

    /// An error in the input: it is damaged, or is not what it claims to be.
    pub fn input(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, what)
    }

    /// An error in the request: it cannot be met as the user made it.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    /// A difference between two things that should be equal.
    pub fn different(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Different, what)
    }

    /// A failure that another run may heal.
    pub fn temporary(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Temporary, what)
    }

    /// A defect of readmill itself.
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, what).hint("this is a defect of readmill: please report it")
    }

    /// An I/O error while `doing` something.
    pub fn io(doing: impl fmt::Display, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => ErrorKind::BrokenPipe,
            _ => ErrorKind::Io,
        };
        let mut it = Self::new(kind, format!("{doing}: {}", describe(error)));
        it.may_pass = may_pass(error.kind());
        if error.kind() == std::io::ErrorKind::StorageFull {
            it.hint = Some("free some space, or choose another directory".into());
        }
        it
    }

    /// Marks an error that may pass when others release memory.
    #[must_use]
    pub fn that_may_pass(self) -> Self {
        Error { may_pass: true, ..self }
    }

    /// Whether memory is lacking that others may release ([`Error::that_may_pass`]).
    pub fn is_shortage(&self) -> bool {
        self.kind == ErrorKind::Usage && self.may_pass
    }

    /// Adds what the user can do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the file, unless the error has one.
    #[must_use]
    pub fn file(mut self, file: &Path) -> Self {
        self.place.file.get_or_insert_with(|| file.to_path_buf());
        self
    }

    /// Adds the offset in the file, unless the error has one.
    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.place.offset.get_or_insert(offset);
        self
    }

    /// Adds the number of the record in the input: counted from 0 here, from 1 in the message.
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

/// Whether an I/O error may not come again.
fn may_pass(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind as Io;
    matches!(
        kind,
        Io::StorageFull
            | Io::QuotaExceeded
            | Io::StaleNetworkFileHandle
            | Io::TimedOut
            | Io::Interrupted
            | Io::ResourceBusy
            | Io::NetworkDown
            | Io::NetworkUnreachable
            | Io::HostUnreachable
            | Io::ConnectionReset
    )
}

/// The system's text of an I/O error, without Rust's "(os error 28)".
fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(cut) => text[..cut].to_string(),
        None => text,
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place.file {
            Some(file) if file.as_os_str() == "-" => f.write_str("standard input: ")?,
            Some(file) => write!(f, "{}: ", file.display())?,
            None => {}
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
