//! The file of an output, or the files of an output in parts, which `cat` joins into one.
//!
//! Each part is a contiguous range of the records, and all parts have about the same number of
//! record bytes. A partition is written to the part to which its first record belongs. So parts end
//! where a partition ends, which is the end of a record and of a BGZF block, and their ends do not
//! depend on threads, memory or spills.

use std::io::Read;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use readmill_process::atomic_file::{AtomicFile, PositionedFile, sync_directories, with_suffix};
use readmill_process::older_indexes::remove_indexes;
use readmill_record::{Error, Result};

use crate::formats::PartPlacer;
use crate::plan::{MAX_PARTS, Output, md5_name, part_name};

/// The files of an output, in order.
pub struct OutputFiles {
    /// The path as given by the user.
    path: PathBuf,
    files: Vec<AtomicFile>,
    /// Bytes of each file, including parts that have an offset but are not written yet.
    bytes: Vec<u64>,
    /// The index of the file that receives the next part.
    at: usize,
    /// Total bytes of all records, uncompressed as in BAM.
    expected: u64,
    /// The MD5 state of each file; empty if MD5 is not requested. All threads write parts in any
    /// order, but parts get their offsets in order, so the MD5 is updated at that time.
    sums: Vec<Md5>,
    replaces_input: bool,
}

/// The position of a part: the index of a file, and an offset in that file.
#[derive(Clone, Copy)]
pub struct FilePosition {
    pub file: usize,
    pub offset: u64,
}

impl OutputFiles {
    pub fn open(output: &Output) -> Result<Self> {
        let path = output.path.clone();
        if output.is_in_parts() && path.symlink_metadata().is_ok() {
            let what =
                format!("{} already exists, so parts cannot be written under this name", path.display());
            return Err(Error::usage(what).hint("remove it, or give a different name with -o"));
        }
        let files: Vec<AtomicFile> = output
            .data_files()
            .iter()
            .map(|path| AtomicFile::open_as(path, output.in_place))
            .collect::<Result<_>>()?;
        if let Some(other) = files.iter().find(|file| output.is_in_parts() && !file.is_file()) {
            let what = format!("{} is not a file", other.path().display());
            return Err(Error::usage(what).hint("remove it, or give a different name with -o"));
        }
        if let Some(other) = files.iter().find(|file| output.md5 && !file.is_file()) {
            let what = format!("{} is not a file, so its MD5 cannot be written", other.path().display());
            return Err(Error::usage(what).hint("omit --md5"));
        }
        let sums = vec![Md5::new(); if output.md5 { files.len() } else { 0 }];
        let (bytes, replaces_input) = (vec![0; files.len()], output.in_place);
        Ok(OutputFiles { path, bytes, files, at: 0, expected: 0, sums, replaces_input })
    }

    /// Returns the path as given by the user.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the final path, from which the name of the index is formed; `None` for a device or
    /// pipe.
    pub fn name(&self) -> Option<PathBuf> {
        match &self.files[..] {
            [one] => one.name().map(Path::to_path_buf),
            _ => Some(self.path.clone()),
        }
    }

    /// Returns whether the output and its index may replace an input.
    pub fn replaces_input(&self) -> bool {
        self.replaces_input
    }

    pub fn are_parts(&self) -> bool {
        self.files.len() > 1
    }

    pub fn are_regular(&self) -> bool {
        self.files.iter().all(AtomicFile::is_file)
    }

    /// Returns whether the output is a terminal. Always false for an output in parts.
    pub fn is_terminal(&self) -> bool {
        self.files.iter().any(AtomicFile::is_terminal)
    }

    /// Returns whether the output is a pipe. Always false for an output in parts.
    pub fn is_pipe(&self) -> bool {
        self.files.iter().any(AtomicFile::is_pipe)
    }

    /// Sets the total bytes of all records. Must be called before the first part is written.
    pub fn set_expected_bytes(&mut self, bytes: u64) {
        self.expected = bytes;
    }

    /// Continues in the file of the record that starts after `start` bytes of records.
    pub fn select_file_for(&mut self, start: u64) {
        let share = u128::from(start) * self.files.len() as u128 / u128::from(self.expected.max(1));
        self.at = self.at.max((share as usize).min(self.files.len() - 1));
    }

    /// Continues in the last file.
    pub fn select_last_file(&mut self) {
        self.at = self.files.len() - 1;
    }

    /// Assigns the next offset to `bytes`. The caller later writes these bytes there, unchanged.
    pub fn reserve(&mut self, bytes: &[u8]) -> FilePosition {
        let place = FilePosition { file: self.at, offset: self.bytes[self.at] };
        self.bytes[self.at] += bytes.len() as u64;
        if let Some(sum) = self.sums.get_mut(self.at) {
            sum.update(bytes);
        }
        place
    }

    /// Writes bytes at the current position of the file.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes);
        self.files[self.at].write(bytes)
    }

    /// Writes bytes after all parts that have an offset.
    pub fn write_last(&mut self, bytes: &[u8]) -> Result<()> {
        let end = self.bytes[self.at];
        self.files[self.at].move_to(end)?;
        self.write(bytes)
    }

    /// Returns handles for writing at any offset from any thread; `None` for a device or pipe.
    pub fn positioned_handles(&self) -> Option<Vec<PositionedFile>> {
        self.files.iter().map(AtomicFile::positioned_handle).collect()
    }

    /// Returns a reader of the only file, starting at `offset`.
    pub fn read_from(&self, offset: u64) -> Result<impl Read + Send + use<>> {
        self.files[0].read_from(offset, self.bytes[0] - offset)
    }

    /// Truncates the only file.
    pub fn truncate(&mut self) -> Result<()> {
        self.bytes[0] = 0;
        self.sums.iter_mut().for_each(Digest::reset);
        self.files[0].truncate()
    }

    /// Syncs all files to disk.
    pub fn sync(&self) -> Result<()> {
        self.files.iter().try_for_each(AtomicFile::sync)
    }

    /// Writes the MD5 of each file under a temporary name, if requested. Like Picard, writes only
    /// the hexadecimal digits.
    pub fn write_md5(&mut self) -> Result<Vec<AtomicFile>> {
        let mut targets = Vec::new();
        for (file, sum) in self.files.iter().zip(std::mem::take(&mut self.sums)) {
            let digits: String = sum.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            let mut target = AtomicFile::open_as(&md5_name(file.path()), self.replaces_input)?;
            target.write(digits.as_bytes())?;
            target.sync()?;
            targets.push(target);
        }
        Ok(targets)
    }

    /// Removes the surplus parts of an older output that had more parts, because `cat` would also
    /// join them. Returns a log note for each.
    fn remove_older_parts(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.are_parts() {
            for number in self.files.len() + 1..=MAX_PARTS {
                let stale = part_name(&self.path, number);
                if std::fs::remove_file(&stale).is_ok() {
                    notes.push(format!("removed {}, a part of an older output", stale.display()));
                }
            }
        }
        notes
    }

    /// Returns the parts with their sizes in bytes; empty if the output is a single file.
    pub fn parts(&self) -> Vec<(PathBuf, u64)> {
        let parts = self.files.iter().zip(&self.bytes).filter(|_| self.are_parts());
        parts.map(|(file, &bytes)| (file.path().to_path_buf(), bytes)).collect()
    }
}

/// A complete output whose files still have their temporary names.
pub struct CompleteOutput {
    pub(super) files: OutputFiles,
    pub(super) index: Option<(PathBuf, AtomicFile)>,
    pub(super) md5: Vec<AtomicFile>,
    pub(super) bytes: u64,
}

impl CompleteOutput {
    /// Returns the path as given by the user.
    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// Returns the parts with their sizes in bytes; empty if the output is a single file.
    pub fn parts(&self) -> Vec<(PathBuf, u64)> {
        self.files.parts()
    }

    /// Returns the index and the MD5 files with their sizes in bytes.
    pub fn side_files(&self) -> impl Iterator<Item = (&Path, Option<u64>)> {
        let index = self.index.iter().map(|(path, index)| (path.as_path(), index.bytes()));
        index.chain(self.md5.iter().map(|md5| (md5.path(), md5.bytes())))
    }

    /// Returns the total size of the files in bytes, without the index.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Renames the files and the index, either all or none, and removes older indexes. Returns
    /// notes about removed files. The caller must log them only when signals are no longer
    /// [deferred](readmill_process::signal::defer_signals), because the reader of the log may block.
    pub fn rename(self) -> Result<Vec<String>> {
        let (mut files, notes) = self.prepare_rename();
        AtomicFile::rename_all(&mut files)?;
        Ok(notes)
    }

    /// Removes older indexes. Returns all files, which must be renamed together, and notes about
    /// removed files.
    pub fn prepare_rename(self) -> (Vec<AtomicFile>, Vec<String>) {
        let CompleteOutput { files, index, md5, .. } = self;
        let Some(name) = files.name() else { return Default::default() };
        let own = index.as_ref().map(|(path, _)| path.as_path());
        let (mut removed, mut notes) = remove_indexes(files.path(), &name, own);
        if let Some(older) = index.as_ref().and_then(|(_, index)| index.name())
            && std::fs::remove_file(older).is_ok()
        {
            removed.push(older.to_path_buf());
        }
        // A new file must not exist together with an old index, even after a power failure.
        sync_directories(removed.iter().map(PathBuf::as_path));
        notes.extend(files.remove_older_parts());
        let index = index.map(|(_, index)| index);
        (files.files.into_iter().chain(index).chain(md5).collect(), notes)
    }
}

/// Writes the index that `placer` has collected for `file`, under a temporary name. Also returns
/// its final path.
pub fn write_index(
    placer: Box<dyn PartPlacer>,
    suffix: &str,
    file: &Path,
    replaces_input: bool,
) -> Result<(PathBuf, AtomicFile)> {
    let path = with_suffix(file, suffix);
    let mut target = AtomicFile::open_as(&path, replaces_input)?;
    target.write(&placer.into_index()?)?;
    target.sync()?;
    Ok((path, target))
}
