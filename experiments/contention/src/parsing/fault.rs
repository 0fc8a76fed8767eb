//! The error of a file.

use std::io;

/// The file is not what it should be.
pub fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
