//! The error type of the whole workspace: what is wrong, where, and what the user can do.
//!
//! Library functions return an [`Error`]; only the command line prints it and chooses an exit code.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The class of an error. The command line maps it to the exit code, so that a workflow manager can tell
/// a damaged input from a full disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request cannot be met as given: an invalid flag or combination of flags, or too little memory
    /// (exit code 1).
    Usage,
    /// The input is damaged, or is not what the user said it is (exit code 2).
    Input,
    Io,
    /// A comparison found a difference between two files or results that should be equal (exit code 4).
    Different,
    /// A failure that may not occur again, so a workflow manager should retry the job (exit code 75).
    Temporary,
    /// The reader of our output closed its pipe (exit code 141). No message is printed, because `| head`
    /// routinely does this.
    BrokenPipe,
    Bug,
}

/// Where in the data an error occurred. The message omits the parts that are not known. Callers add what
/// they know as they pass the error on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorContext {
    /// The file as the user named it. `-` stands for a pipe, and is printed as "standard input".
    pub file: Option<PathBuf>,
    /// Byte offset in the file; for BGZF, in the compressed file.
    pub offset: Option<u64>,
    /// Number of the record in the input, from 1 and before any filter, in the order in which
    /// `samtools view` lists records.
    pub record: Option<u64>,
    pub qname: Option<String>,
}

/// An error that tells the user what is wrong, where in the data, and what to do.
///
/// A function deep in a decoder knows only the fault; its callers add the record, the file and a hint.
/// Each part is added once: a caller never replaces a more exact place.
///
/// ```
/// use std::path::Path;
/// use readmill_record::{Error, ErrorKind};
///
/// let error = Error::input("CIGAR is longer than SEQ")
///     .record(41) // 0-based here, 1-based in the message
///     .qname(b"r7")
///     .file(Path::new("in.bam"))
///     .hint("validate the file");
/// assert_eq!(error.kind, ErrorKind::Input);
/// assert_eq!(
///     error.to_string(),
///     "in.bam: record 42 (read r7): CIGAR is longer than SEQ; validate the file"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// The fault in one clause, without the place and without a full stop.
    pub what: String,
    /// What the user can do, in one clause. It follows the fault after a semicolon.
    pub hint: Option<Cow<'static, str>>,
    pub place: Box<ErrorContext>,
    /// Whether the same operation may succeed later, because space or memory may be freed or a server
    /// may return. Callers that can wait or spill use this to decide whether to retry.
    pub is_retryable: bool,
}

impl Error {
    fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        Error { kind, what: what.into(), hint: None, place: Box::default(), is_retryable: false }
    }

    /// Returns an error for input that is damaged, or is not what it claims to be.
    pub fn input(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Input, what)
    }

    /// Returns an error for a file that a command needs and that does not exist, where `what` says more
    /// than the system does.
    pub fn missing_file(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Io, what)
    }

    /// Returns an error for a request that cannot be met as given, such as mutually exclusive flags or
    /// too little memory.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    pub fn different(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Different, what)
    }

    /// Returns an error for a failure that may not recur on a retry, such as a stage that another
    /// process is still working on.
    pub fn temporary(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Temporary, what)
    }

    /// Returns an error for a bug in readmill, with a hint to report it. Used for situations that other
    /// code should have made impossible.
    pub fn bug(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Bug, what).hint("this is a defect of readmill: please report it")
    }

    /// Returns an I/O error. `doing` says what was attempted ("reading in.bam").
    ///
    /// A closed pipe becomes [`ErrorKind::BrokenPipe`]. Transient errors, such as a full disk or a lost
    /// network connection, set [`Error::is_retryable`].
    pub fn io(doing: impl fmt::Display, error: &std::io::Error) -> Self {
        let kind = match error.kind() {
            std::io::ErrorKind::BrokenPipe => ErrorKind::BrokenPipe,
            _ => ErrorKind::Io,
        };
        let mut it = Self::new(kind, format!("{doing}: {}", describe_io_error(error)));
        it.is_retryable = is_retryable_kind(error.kind());
        if error.kind() == std::io::ErrorKind::StorageFull {
            it.hint = Some("free some space, or choose another directory".into());
        }
        it
    }

    /// Marks the error as temporary: the operation may succeed once other users of memory release some.
    /// Text readers use this for a line that does not fit at the moment.
    #[must_use]
    pub fn as_retryable(self) -> Self {
        Error { is_retryable: true, ..self }
    }

    /// Returns whether this is a temporary lack of memory ([`Error::as_retryable`]), after which the
    /// caller can spill or wait and try again.
    pub fn is_shortage(&self) -> bool {
        self.kind == ErrorKind::Usage && self.is_retryable
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn file(mut self, file: &Path) -> Self {
        self.place.file.get_or_insert_with(|| file.to_path_buf());
        self
    }

    #[must_use]
    pub fn offset(mut self, offset: u64) -> Self {
        self.place.offset.get_or_insert(offset);
        self
    }

    /// Adds the record number, unless the error already has one. `ordinal` counts from 0; the message
    /// counts from 1.
    #[must_use]
    pub fn record(mut self, ordinal: u64) -> Self {
        self.place.record.get_or_insert(ordinal + 1);
        self
    }

    /// Adds the read name, unless the error already has one or the name is empty.
    #[must_use]
    pub fn qname(mut self, qname: &[u8]) -> Self {
        if !qname.is_empty() {
            self.place.qname.get_or_insert_with(|| String::from_utf8_lossy(qname).into_owned());
        }
        self
    }
}

fn is_retryable_kind(kind: std::io::ErrorKind) -> bool {
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

/// Returns the system's text for an I/O error, without the "(os error 28)" that Rust appends.
fn describe_io_error(error: &std::io::Error) -> String {
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
