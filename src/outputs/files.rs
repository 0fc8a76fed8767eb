//! The files of an output: one, or parts that `cat` joins to it.
//!
//! A part is a stretch of the one order of records, and all parts take about as many bytes of records. A partition of
//! the output goes where its first record belongs, so parts end where partitions do, which is at the border of a record
//! and of a BGZF block, and which no thread, memory or spill moves.

use std::io::Read;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use crate::outputs::atomic_file::{AtomicFile, PositionedFile};
use crate::plan::{MOST_PARTS, Output, part_name};

/// The files of an output, in their order.
pub struct OutputFiles {
    /// The name of the whole, as it was given.
    path: PathBuf,
    files: Vec<AtomicFile>,
    /// Bytes that each has, or will have when all is written that has its place.
    bytes: Vec<u64>,
    /// The file that goes on.
    at: usize,
    /// Bytes of all records that will come, as they lie in BAM.
    expected: u64,
}

/// Where bytes are to be written: in which file, at which byte of it.
#[derive(Clone, Copy)]
pub struct FilePosition {
    pub file: usize,
    pub offset: u64,
}

impl OutputFiles {
    /// Opens all of them.
    pub fn open(output: &Output) -> Result<Self> {
        let path = output.path.clone();
        if output.is_in_parts() && path.symlink_metadata().is_ok() {
            let what =
                format!("{} is there already, and the parts would not be its own", path.display());
            return Err(Error::usage(what).hint("remove it, or give another name by -o"));
        }
        let files: Vec<AtomicFile> =
            output.files().iter().map(|path| AtomicFile::open(path)).collect::<Result<_>>()?;
        if let Some(other) = files.iter().find(|file| output.is_in_parts() && !file.is_file()) {
            let what = format!("{} is not a file", other.path().display());
            return Err(Error::usage(what).hint("remove it, or give another name by -o"));
        }
        Ok(OutputFiles { path, bytes: vec![0; files.len()], files, at: 0, expected: 0 })
    }

    /// The name of the whole as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name that the whole has in the end; nothing for devices and pipes.
    pub fn name(&self) -> Option<PathBuf> {
        match &self.files[..] {
            [one] => one.name().map(Path::to_path_buf),
            _ => Some(self.path.clone()),
        }
    }

    /// Whether there are several.
    pub fn are_parts(&self) -> bool {
        self.files.len() > 1
    }

    /// Whether they are regular files.
    pub fn are_regular(&self) -> bool {
        self.files.iter().all(AtomicFile::is_file)
    }

    /// Whether it is one, and that a terminal.
    pub fn is_terminal(&self) -> bool {
        self.files.iter().any(AtomicFile::is_terminal)
    }

    /// Whether it is one, and that a pipe.
    pub fn is_pipe(&self) -> bool {
        self.files.iter().any(AtomicFile::is_pipe)
    }

    /// Says how many bytes all records together will have, before the first of them comes.
    pub fn expect(&mut self, bytes: u64) {
        self.expected = bytes;
    }

    /// Goes on in the file in which the record belongs before which `start` bytes of records come.
    pub fn go_to(&mut self, start: u64) {
        let share = u128::from(start) * self.files.len() as u128 / u128::from(self.expected.max(1));
        self.at = self.at.max((share as usize).min(self.files.len() - 1));
    }

    /// Goes on in the last.
    pub fn go_to_last(&mut self) {
        self.at = self.files.len() - 1;
    }

    /// The place of the next `n` bytes.
    pub fn reserve(&mut self, n: usize) -> FilePosition {
        let place = FilePosition { file: self.at, offset: self.bytes[self.at] };
        self.bytes[self.at] += n as u64;
        place
    }

    /// Writes bytes where the last ones were written.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes.len());
        self.files[self.at].write(bytes)
    }

    /// Writes bytes behind all that have their place.
    pub fn write_last(&mut self, bytes: &[u8]) -> Result<()> {
        let end = self.bytes[self.at];
        self.files[self.at].move_to(end)?;
        self.write(bytes)
    }

    /// The files, to be written at any place of them on any thread; nothing for devices and pipes.
    pub fn positioned(&self) -> Option<Vec<PositionedFile>> {
        self.files.iter().map(AtomicFile::positioned).collect()
    }

    /// What was written into the only file, from `offset` on.
    pub fn read_from(&self, offset: u64) -> Result<impl Read + Send + use<>> {
        self.files[0].read_from(offset, self.bytes[0] - offset)
    }

    /// Empties the only file.
    pub fn restart(&mut self) -> Result<()> {
        self.bytes[0] = 0;
        self.files[0].restart()
    }

    /// Makes sure that all bytes are on disk.
    pub fn sync(&self) -> Result<()> {
        self.files.iter().try_for_each(AtomicFile::sync)
    }

    /// Gives all files their names, or none. Parts of an older output that has more of them are removed before, or they
    /// would be joined to these; returns notes of that.
    pub fn rename(&mut self) -> Result<Vec<String>> {
        let mut notes = Vec::new();
        if self.are_parts() {
            for number in self.files.len() + 1..=MOST_PARTS {
                let stale = part_name(&self.path, number);
                if std::fs::remove_file(&stale).is_ok() {
                    notes.push(format!("removed {}, a part of an older output", stale.display()));
                }
            }
        }
        AtomicFile::rename_all(&mut self.files)?;
        Ok(notes)
    }

    /// The parts and their bytes; nothing where there is one file.
    pub fn parts(&self) -> Vec<(PathBuf, u64)> {
        let parts = self.files.iter().zip(&self.bytes).filter(|_| self.are_parts());
        parts.map(|(file, &bytes)| (file.path().to_path_buf(), bytes)).collect()
    }
}
