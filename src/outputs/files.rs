//! The file of an output, or its parts, which `cat` joins; an output that is complete under its temporary name.
//!
//! A part is a contiguous range of the records in order, and all parts hold about the same number of record bytes. A
//! partition goes to the part in which its first record belongs, so parts end where partitions end: at a record and
//! BGZF block border that threads, memory and spills do not change.

use std::io::Read;
use std::path::{Path, PathBuf};

use md5::{Digest, Md5};
use readmill_record::{Error, Result};

use crate::formats::PartPlacer;
use crate::outputs::atomic_file::{AtomicFile, PositionedFile, sync_directories, with_suffix};
use crate::plan::{MAX_PARTS, Output, md5_name, part_name};

/// The files of an output, in their order.
pub struct OutputFiles {
    /// The path as the user gave it.
    path: PathBuf,
    files: Vec<AtomicFile>,
    /// Bytes of each file, including those with a reserved offset.
    bytes: Vec<u64>,
    /// The index of the current file.
    at: usize,
    /// Bytes of all records to come, as BAM.
    expected: u64,
    /// The MD5 of each file so far, if it is wanted. (Parts of files are written on all threads; they are counted here
    /// in their order, when they get their places.)
    sums: Vec<Md5>,
    /// Whether the output may replace an input.
    replaces_input: bool,
}

/// A file and an offset in it.
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
            return Err(Error::usage(what).hint("remove it, or give another name with -o"));
        }
        let files: Vec<AtomicFile> = output
            .files()
            .iter()
            .map(|path| AtomicFile::open_as(path, output.in_place))
            .collect::<Result<_>>()?;
        if let Some(other) = files.iter().find(|file| output.is_in_parts() && !file.is_file()) {
            let what = format!("{} is not a file", other.path().display());
            return Err(Error::usage(what).hint("remove it, or give another name with -o"));
        }
        if let Some(other) = files.iter().find(|file| output.md5 && !file.is_file()) {
            let what = format!("{} is not a file, so its MD5 cannot be written", other.path().display());
            return Err(Error::usage(what).hint("omit --md5"));
        }
        let sums = vec![Md5::new(); if output.md5 { files.len() } else { 0 }];
        let (bytes, replaces_input) = (vec![0; files.len()], output.in_place);
        Ok(OutputFiles { path, bytes, files, at: 0, expected: 0, sums, replaces_input })
    }

    /// Returns the path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the final name; `None` for devices and pipes.
    pub fn name(&self) -> Option<PathBuf> {
        match &self.files[..] {
            [one] => one.name().map(Path::to_path_buf),
            _ => Some(self.path.clone()),
        }
    }

    /// Whether the output, and what is written beside it, may replace an input.
    pub fn replaces_input(&self) -> bool {
        self.replaces_input
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

    /// Sets how many bytes all records together will have, before the first of them comes.
    pub fn expect(&mut self, bytes: u64) {
        self.expected = bytes;
    }

    /// Continues in the file of the record that `start` bytes of records precede.
    pub fn go_to(&mut self, start: u64) {
        let share = u128::from(start) * self.files.len() as u128 / u128::from(self.expected.max(1));
        self.at = self.at.max((share as usize).min(self.files.len() - 1));
    }

    /// Continues in the last file.
    pub fn go_to_last(&mut self) {
        self.at = self.files.len() - 1;
    }

    /// Reserves the offset of the next bytes, which are as they will be written.
    pub fn reserve(&mut self, bytes: &[u8]) -> FilePosition {
        let place = FilePosition { file: self.at, offset: self.bytes[self.at] };
        self.bytes[self.at] += bytes.len() as u64;
        if let Some(sum) = self.sums.get_mut(self.at) {
            sum.update(bytes);
        }
        place
    }

    /// Writes bytes after the last ones.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes);
        self.files[self.at].write(bytes)
    }

    /// Writes bytes after all reserved offsets.
    pub fn write_last(&mut self, bytes: &[u8]) -> Result<()> {
        let end = self.bytes[self.at];
        self.files[self.at].move_to(end)?;
        self.write(bytes)
    }

    /// Returns the files for writing at any offset on any thread; `None` for devices and pipes.
    pub fn positioned(&self) -> Option<Vec<PositionedFile>> {
        self.files.iter().map(AtomicFile::positioned).collect()
    }

    /// Reads the only file from `offset` on.
    pub fn read_from(&self, offset: u64) -> Result<impl Read + Send + use<>> {
        self.files[0].read_from(offset, self.bytes[0] - offset)
    }

    /// Empties the only file.
    pub fn restart(&mut self) -> Result<()> {
        self.bytes[0] = 0;
        self.sums.iter_mut().for_each(Digest::reset);
        self.files[0].restart()
    }

    /// Syncs all bytes to disk.
    pub fn sync(&self) -> Result<()> {
        self.files.iter().try_for_each(AtomicFile::sync)
    }

    /// Writes the MD5 of each file, if it is wanted, under temporary names: the hexadecimal digits alone, as Picard does.
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

    /// Removes parts of an older output that had more parts, because `cat` would join them; returns notes about that.
    fn remove_older_parts(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.are_parts() {
            for number in self.files.len() + 1..=MAX_PARTS {
                let stale = part_name(&self.path, number);
                if std::fs::remove_file(&stale).is_ok() {
                    notes.push(format!(
                        "removed {}, which was a part of an older output",
                        stale.display()
                    ));
                }
            }
        }
        notes
    }

    /// Returns the parts and their bytes; empty where there is one file.
    pub fn parts(&self) -> Vec<(PathBuf, u64)> {
        let parts = self.files.iter().zip(&self.bytes).filter(|_| self.are_parts());
        parts.map(|(file, &bytes)| (file.path().to_path_buf(), bytes)).collect()
    }
}

/// Every name under which readers look for an index of `bam`.
pub fn index_names(bam: &Path) -> Vec<PathBuf> {
    let mut names = vec![with_suffix(bam, ".bai"), with_suffix(bam, ".csi"), with_suffix(bam, ".crai")];
    if bam.extension().is_some_and(|extension| extension == "bam") {
        names.extend([bam.with_extension("bai"), bam.with_extension("csi")]);
    }
    names
}

/// Removes the indexes of an older file, but `own`: an output is about to get its name, `name`, and it was given as `given`,
/// which may be a link. Returns their names, and a note for each that no new index replaces.
pub fn remove_indexes(given: &Path, name: &Path, own: Option<&Path>) -> (Vec<PathBuf>, Vec<String>) {
    let (mut removed, mut notes) = (Vec::new(), Vec::new());
    for stale in index_names(given).into_iter().chain(index_names(name)) {
        let replaced = own.is_some_and(|own| std::path::absolute(&stale).is_ok_and(|it| it == own));
        if Some(stale.as_path()) != own && std::fs::remove_file(&stale).is_ok() {
            if !replaced {
                notes.push(format!("removed {}, which was an index of an older file", stale.display()));
            }
            removed.push(stale);
        }
    }
    (removed, notes)
}

/// An output that is complete but for its name.
pub struct CompleteOutput {
    pub(super) files: OutputFiles,
    pub(super) index: Option<(PathBuf, AtomicFile)>,
    pub(super) md5: Vec<AtomicFile>,
    pub(super) bytes: u64,
}

impl CompleteOutput {
    /// Returns the path as the user gave it.
    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// Returns the parts and their bytes; empty where there is one file.
    pub fn parts(&self) -> Vec<(PathBuf, u64)> {
        self.files.parts()
    }

    /// The index, and the files with an MD5: their paths and bytes.
    pub fn beside(&self) -> impl Iterator<Item = (&Path, Option<u64>)> {
        let index = self.index.iter().map(|(path, index)| (path.as_path(), index.bytes()));
        index.chain(self.md5.iter().map(|md5| (md5.path(), md5.bytes())))
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Renames the files and the index, or none, and removes older indexes. Returns notes about removed files, to be logged
    /// once no signal is [held off](crate::signal::hold_off): the reader of the log may block.
    pub fn rename(self) -> Result<Vec<String>> {
        let (mut files, notes) = self.prepare();
        AtomicFile::rename_all(&mut files)?;
        Ok(notes)
    }

    /// Removes older indexes. Returns all files, to be renamed together, and notes about removed files.
    pub fn prepare(self) -> (Vec<AtomicFile>, Vec<String>) {
        let CompleteOutput { files, index, md5, .. } = self;
        let Some(name) = files.name() else { return Default::default() };
        let own = index.as_ref().map(|(path, _)| path.as_path());
        let (mut removed, mut notes) = remove_indexes(files.path(), &name, own);
        if let Some(older) = index.as_ref().and_then(|(_, index)| index.name())
            && std::fs::remove_file(older).is_ok()
        {
            removed.push(older.to_path_buf());
        }
        // No new file beside an old index, not for a moment, nor after a loss of power.
        sync_directories(removed.iter().map(PathBuf::as_path));
        notes.extend(files.remove_older_parts());
        let index = index.map(|(_, index)| index);
        (files.files.into_iter().chain(index).chain(md5).collect(), notes)
    }
}

/// Writes the index that `placer` has gathered for `file` under its temporary name; also returns its path.
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
