//! The output of a command that is neither sorted nor counted: a file that is complete or not there, or standard output.

use std::io::{self, Write};
use std::path::Path;

use readmill_record::{Error, Result};

use crate::console::Console;
use crate::outputs::atomic_file::{AtomicFile, sync_directories};
use crate::outputs::remove_indexes;
use crate::outputs::report_files::spare;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 256 << 10;

/// An output that gets its name when it is finished.
pub struct FileOutput {
    file: AtomicFile,
    buffer: Vec<u8>,
}

impl FileOutput {
    /// Opens the output; `None` and `-` are standard output. `inputs` are all files that will be read.
    ///
    /// # Errors
    /// It cannot be written, or would overwrite an input.
    pub fn open(path: Option<&Path>, inputs: &[&Path]) -> Result<Self> {
        let path = path.unwrap_or(Path::new("-"));
        inputs.iter().try_for_each(|input| spare(input, path))?;
        Ok(FileOutput { file: AtomicFile::open(path)?, buffer: Vec::with_capacity(BUFFER) })
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn put(&mut self, bytes: &[u8]) -> Result<()> {
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
    pub fn finish(self) -> Result<()> {
        FileOutput::finish_all([self])
    }

    /// Ends several outputs: all are on disk and have their names, or none has.
    ///
    /// # Errors
    /// One cannot be written.
    pub fn finish_all(outputs: impl IntoIterator<Item = FileOutput>) -> Result<()> {
        let mut files = Vec::new();
        for FileOutput { mut file, buffer } in outputs {
            file.write(&buffer)?;
            file.sync()?;
            files.push(file);
        }
        AtomicFile::rename_all(&mut files)
    }

    /// Ends an output of reads: it is on disk and has its name, and the indexes of an older file of that name are removed.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish_reads(mut self, console: &Console) -> Result<()> {
        self.file.write(&self.buffer)?;
        self.file.sync()?;
        let older = self.file.name().map(|name| remove_indexes(self.file.path(), name, None));
        let (removed, notes) = older.unwrap_or_default();
        // No new file beside an old index, not for a moment, nor after a loss of power.
        sync_directories(removed.iter().map(std::path::PathBuf::as_path));
        self.file.rename()?;
        notes.iter().for_each(|note| console.note(note));
        Ok(())
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
