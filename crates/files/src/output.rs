//! The output of a small command: standard output, or a file that appears only when it is complete.

use std::io::{self, Write};
use std::path::Path;

use readmill_process::atomic_file::{AtomicFile, sync_directories};
use readmill_process::console::Console;
use readmill_process::older_indexes::remove_indexes;
use readmill_process::same_file::ensure_output_is_not_input;
use readmill_record::{Error, Result};

const BUFFER_BYTES: usize = 256 << 10;

/// An output that gets its final name when it is finished, so that an interrupted command leaves no
/// partial file.
pub struct FileOutput {
    file: AtomicFile,
    buffer: Vec<u8>,
}

impl FileOutput {
    /// Opens the output; `None` and `-` are standard output. `inputs` are all files that the
    /// command reads.
    ///
    /// # Errors
    /// Fails if the output cannot be written, or if it is one of the inputs.
    pub fn open(path: Option<&Path>, inputs: &[&Path]) -> Result<Self> {
        let path = path.unwrap_or(Path::new("-"));
        inputs.iter().try_for_each(|input| ensure_output_is_not_input(input, path))?;
        Ok(FileOutput { file: AtomicFile::open(path)?, buffer: Vec::with_capacity(BUFFER_BYTES) })
    }

    pub fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    pub fn write_buffered(&mut self, bytes: &[u8]) -> Result<()> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.file.write(&self.buffer)?;
            self.buffer.clear();
        }
        if bytes.len() > BUFFER_BYTES {
            self.file.write(bytes)
        } else {
            self.buffer.write_all(bytes).map_err(write_error)
        }
    }

    /// Writes the output to disk and gives it its final name.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn finish(self) -> Result<()> {
        FileOutput::finish_all([self])
    }

    /// Writes several outputs to disk and gives them their final names. If one fails, none gets its
    /// name.
    ///
    /// # Errors
    /// Fails if an output cannot be written.
    pub fn finish_all(outputs: impl IntoIterator<Item = FileOutput>) -> Result<()> {
        let mut files = Vec::new();
        for FileOutput { mut file, buffer } in outputs {
            file.write(&buffer)?;
            file.sync()?;
            files.push(file);
        }
        AtomicFile::rename_all(&mut files)
    }

    /// Writes an output of reads to disk and gives it its final name, after removing indexes of an
    /// older file with this name.
    ///
    /// # Errors
    /// Fails if the output cannot be written.
    pub fn finish_reads(mut self, console: &Console) -> Result<()> {
        self.file.write(&self.buffer)?;
        self.file.sync()?;
        let older = self.file.name().map(|name| remove_indexes(self.file.path(), name, None));
        let (removed, notes) = older.unwrap_or_default();
        // The removal is synced before the new name appears, so that a new file never has an old
        // index, even after a power failure.
        sync_directories(removed.iter().map(std::path::PathBuf::as_path));
        self.file.rename()?;
        notes.iter().for_each(|note| console.write_note(note));
        Ok(())
    }
}

fn write_error(error: io::Error) -> Error {
    Error::io("writing failed", &error)
}

impl Write for FileOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_buffered(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
