//! The spill: data that does not fit in memory, in one file for each temporary directory. The file is deleted as
//! soon as it is made, so that nothing is left behind however the program ends. All spilled data are extents of it,
//! so there is no limit of open files.
//!
//! The data of a job in stages are extents, too, of files that have a name: one that is written ([`Spill::into_file`]),
//! and those of earlier stages, which are only read ([`Spill::adopt`]).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::{spill_codec, write_back};

/// Bytes that this process has spilled, into files without a name.
static WRITTEN: AtomicU64 = AtomicU64::new(0);

/// Returns the bytes that all spills of this process have written so far, but for those into files with a name.
pub fn written_by_process() -> u64 {
    WRITTEN.load(Relaxed)
}

/// After so many bytes, data of a file with a name are sent to disk.
const WRITE_BACK: u64 = 8 << 20;

/// The files of the given directories.
pub struct Spill {
    dirs: Vec<PathBuf>,
    files: OnceLock<Vec<File>>,
    /// Files with a name, which are only read, by the numbers after those of `files`.
    adopted: Vec<(PathBuf, File)>,
    written: AtomicU64,
    /// Whether it is one file that has a name, which stands for the directory.
    has_name: bool,
}

/// A range of one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// The number of the file; not known where the extent was read from a file.
    #[serde(skip)]
    file: usize,
    /// Where it starts.
    pub start: u64,
    /// Where it ends.
    pub end: u64,
}

impl Spill {
    /// A spill that makes its files when they are first needed.
    pub fn new(dirs: &[PathBuf]) -> Self {
        let (files, adopted, written, has_name) = Default::default();
        Spill { dirs: dirs.to_vec(), files, adopted, written, has_name }
    }

    /// A spill into this file, after what it has already; errors name `path`.
    pub fn into_file(path: &Path, file: File) -> Self {
        Spill { files: OnceLock::from(vec![file]), has_name: true, ..Spill::new(&[path.to_path_buf()]) }
    }

    /// Adds a file, which is only read; `extents` become extents of it.
    pub fn adopt(&mut self, path: &Path, file: File, extents: &mut [&mut Extent]) {
        let number = self.dirs.len() + self.adopted.len();
        self.adopted.push((path.to_path_buf(), file));
        extents.iter_mut().for_each(|extent| extent.file = number);
    }

    /// Returns the adopted file of this number.
    fn adopted(&self, file: usize) -> Option<&(PathBuf, File)> {
        self.adopted.get(file.checked_sub(self.dirs.len())?)
    }

    fn files(&self) -> Result<&[File]> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let made = self.dirs.iter().map(|dir| unlinked_file(dir)).collect::<Result<Vec<File>>>()?;
        Ok(self.files.get_or_init(|| made))
    }

    /// Fails if a file cannot be created in one of the directories.
    pub fn check(&self) -> Result<()> {
        self.files().map(drop)
    }

    /// Bytes written to all files.
    pub fn written(&self) -> u64 {
        self.written.load(Relaxed)
    }

    /// The directories.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Bytes that the file systems of the directories have free for this user: the least of them times their
    /// number, because runs go to each in turn. `None` if a system does not report it.
    pub fn available(&self) -> Option<u64> {
        let free = |dir: &PathBuf| {
            let system = rustix::fs::statvfs(dir).ok()?;
            Some(system.f_bavail.saturating_mul(system.f_frsize))
        };
        let free: Option<Vec<u64>> = self.dirs.iter().map(free).collect();
        free?.into_iter().min().map(|least| least.saturating_mul(self.dirs.len() as u64))
    }

    /// An empty extent at the end of a file; `turn` selects the file.
    pub fn begin(&self, turn: usize) -> Result<Extent> {
        let files = self.files()?;
        let file = turn % files.len();
        let meta = files[file].metadata().map_err(|e| self.error(file, "spilling", &e))?;
        Ok(Extent { file, start: meta.len(), end: meta.len() })
    }

    /// Appends to an extent, which must be the last one begun in its file.
    pub fn append(&self, extent: &mut Extent, bytes: &[u8]) -> Result<()> {
        let file = &self.files()?[extent.file];
        file.write_all_at(bytes, extent.end).map_err(|e| self.error(extent.file, "spilling", &e))?;
        let before = extent.end;
        extent.end += bytes.len() as u64;
        self.written.fetch_add(bytes.len() as u64, Relaxed);
        if !self.has_name {
            WRITTEN.fetch_add(bytes.len() as u64, Relaxed);
        }
        // A file with a name will be synced: its data go to disk while more are made.
        if self.has_name && before / WRITE_BACK != extent.end / WRITE_BACK {
            let start = (before / WRITE_BACK).saturating_sub(1) * WRITE_BACK;
            write_back::begin(file, start, extent.end - start);
        }
        Ok(())
    }

    /// Frees the disk space of an extent, if the file system can.
    pub fn free(&self, extent: &Extent) {
        use rustix::fs::{FallocateFlags, fallocate};
        let Some(file) = self.files.get().and_then(|files| files.get(extent.file)) else { return };
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let _ = fallocate(file, hole, extent.start, extent.end - extent.start);
    }

    /// Fills `into` from position `at`; all of it must lie in the extent.
    pub fn read(&self, extent: &Extent, at: u64, into: &mut [u8]) -> Result<()> {
        debug_assert!(at >= extent.start && at + into.len() as u64 <= extent.end);
        if let Some((path, file)) = self.adopted(extent.file) {
            return file.read_exact_at(into, at).map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => self.damaged(extent),
                _ => Error::io(format!("{} cannot be read", path.display()), &e),
            });
        }
        let file = &self.files()?[extent.file];
        file.read_exact_at(into, at)
            .map_err(|e| self.error(extent.file, "reading back what was spilled", &e))
    }

    /// Returns the error for data of an extent that came back changed. It names the file if that has a name.
    pub fn damaged(&self, extent: &Extent) -> Error {
        match self.adopted(extent.file) {
            Some((path, _)) => Error::temporary("the file is damaged").file(path),
            None => spill_codec::damaged("data"),
        }
    }

    fn error(&self, file: usize, doing: &str, error: &std::io::Error) -> Error {
        let error = Error::io(format!("{doing} in {} failed", self.dirs[file].display()), error);
        if self.has_name {
            return error;
        }
        error.hint("give temporary directories with more space by --temp-dir, or more memory by -m")
    }
}

/// `O_TMPFILE` if the file system has it; otherwise a file with a random name, unlinked at once.
fn unlinked_file(dir: &Path) -> Result<File> {
    if dir.metadata().is_ok_and(|meta| !meta.is_dir()) {
        let what =
            format!("{} is not a directory, so no temporary file can be made there", dir.display());
        return Err(Error::usage(what).hint("give a directory by --temp-dir"));
    }
    tempfile::tempfile_in(dir).map_err(|e| {
        Error::io(format!("no temporary file can be made in {}", dir.display()), &e)
            .hint("give a directory that is there and can be written to by --temp-dir")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_keep_their_bytes_and_the_directory_stays_empty() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(&[dir.path().to_path_buf()]);
        let mut extents = Vec::new();
        for i in 0..5u8 {
            let mut extent = spill.begin(i.into()).unwrap();
            spill.append(&mut extent, &vec![i; 1000]).unwrap();
            spill.append(&mut extent, &[i; 10]).unwrap();
            extents.push(extent);
        }
        for (i, extent) in extents.iter().enumerate() {
            let mut bytes = vec![99; 1010];
            spill.read(extent, extent.start, &mut bytes).unwrap();
            assert!(bytes.iter().all(|&b| usize::from(b) == i));
        }
        assert_eq!(spill.written(), 5050);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let error = Spill::new(&["/nonexistent/dir".into()]).begin(0).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/dir"), "{error}");
    }
}
