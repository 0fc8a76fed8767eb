//! The output of a command that is neither sorted nor counted: a file that is complete or not there, or standard output.

use std::io::{self, Write};
use std::path::Path;

use readmill_record::{Error, Result};

use crate::outputs::atomic_file::AtomicFile;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

/// An output that gets its name when it is finished.
pub struct FileOutput {
    file: AtomicFile,
    buffer: Vec<u8>,
    /// Bytes so far.
    bytes: u64,
}

impl FileOutput {
    /// Opens the output; `None` and `-` are standard output.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn open(path: Option<&Path>) -> Result<Self> {
        let file = AtomicFile::open(path.unwrap_or(Path::new("-")))?;
        Ok(FileOutput { file, buffer: Vec::with_capacity(BUFFER), bytes: 0 })
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    /// The bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.bytes += bytes.len() as u64;
        if self.buffer.len() + bytes.len() > BUFFER {
            self.file.write(&self.buffer)?;
            self.buffer.clear();
        }
        if bytes.len() > BUFFER {
            self.file.write(bytes)
        } else {
            self.buffer.write_all(bytes).map_err(failed)
        }
    }

    /// Ends the output: it is on disk and has its name.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self) -> Result<()> {
        self.file.write(&self.buffer)?;
        self.file.sync()?;
        self.file.rename()
    }
}

fn failed(error: io::Error) -> Error {
    Error::io("writing failed", &error)
}

impl Write for FileOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.put(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
