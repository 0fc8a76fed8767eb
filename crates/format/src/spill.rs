//! The spill: data that does not fit into memory, in one file for each temporary directory.
//!
//! The file is unlinked as soon as it has been created, so nothing remains, however the program ends.
//! All spilled data is stored as extents of these few files, so the limit on open files does not matter.
//!
//! A job in stages (`readmill shard`) uses the same type with named files: the one that is being written
//! ([`Spill::into_file`]), and files of earlier stages, which are only read ([`Spill::adopt_file`]).

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::{Error, Result};
use serde::{Deserialize, Serialize};

use crate::{spill_codec, write_back};

static SPILLED_BYTES: AtomicU64 = AtomicU64::new(0);

/// Returns the number of bytes that all spills of this process have written so far, excluding named
/// files. The progress line shows it.
pub fn bytes_spilled_by_process() -> u64 {
    SPILLED_BYTES.load(Relaxed)
}

/// Interval in bytes at which data of a named file is sent to disk.
const WRITE_BACK_BYTES: u64 = 8 << 20;

/// Spill files in the given temporary directories, shared by all threads.
///
/// Writers begin an extent and append to it; readers read from any position of an extent. The caller's
/// `turn` spreads extents over the directories.
///
/// ```
/// use readmill_format::spill::Spill;
///
/// let spill = Spill::new(&[std::env::temp_dir()]);
/// let mut extent = spill.begin_extent(0)?;
/// spill.append_bytes(&mut extent, b"sorted ")?;
/// spill.append_bytes(&mut extent, b"records")?;
///
/// let mut bytes = [0; 7];
/// spill.read_bytes(&extent, extent.start + 7, &mut bytes)?;
/// assert_eq!(&bytes, b"records");
/// assert_eq!(spill.written_bytes(), 14);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub struct Spill {
    dirs: Vec<PathBuf>,
    files: OnceLock<Vec<File>>,
    /// Files of earlier stages, which are only read. Their numbers follow those of `files`.
    adopted: Vec<(PathBuf, File)>,
    written: AtomicU64,
    has_name: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Number of the file. It is not known in an extent that was read from a stage file until
    /// [`Spill::adopt_file`] sets it.
    #[serde(skip)]
    file: usize,
    pub start: u64,
    pub end: u64,
}

impl Spill {
    /// Returns a spill in the given directories. Its files are created when they are first needed.
    pub fn new(dirs: &[PathBuf]) -> Self {
        let (files, adopted, written, has_name) = Default::default();
        Spill { dirs: dirs.to_vec(), files, adopted, written, has_name }
    }

    /// Returns a spill that appends to `file` after its existing data. `path` is for messages.
    pub fn into_file(path: &Path, file: File) -> Self {
        Spill { files: OnceLock::from(vec![file]), has_name: true, ..Spill::new(&[path.to_path_buf()]) }
    }

    /// Adds a file that is only read, and makes `extents` refer to it. Later stages of a job use this to
    /// read the data of earlier ones.
    pub fn adopt_file(&mut self, path: &Path, file: File, extents: &mut [&mut Extent]) {
        let number = self.dirs.len() + self.adopted.len();
        self.adopted.push((path.to_path_buf(), file));
        extents.iter_mut().for_each(|extent| extent.file = number);
    }

    fn adopted_file(&self, file: usize) -> Option<&(PathBuf, File)> {
        self.adopted.get(file.checked_sub(self.dirs.len())?)
    }

    fn open_files(&self) -> Result<&[File]> {
        if let Some(files) = self.files.get() {
            return Ok(files);
        }
        let made =
            self.dirs.iter().map(|dir| create_unlinked_file(dir)).collect::<Result<Vec<File>>>()?;
        Ok(self.files.get_or_init(|| made))
    }

    /// Creates the files now, so that a missing or unwritable directory is reported at the start of a
    /// run.
    pub fn create_files(&self) -> Result<()> {
        self.open_files().map(drop)
    }

    /// Returns the number of bytes written to all files, including freed extents.
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Relaxed)
    }

    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Returns the free disk space for this user in bytes: the minimum over the directories times their
    /// number, because runs are written to the directories in turn. `None` if a file system does not
    /// report it.
    pub fn free_bytes(&self) -> Option<u64> {
        let free = |dir: &PathBuf| {
            let system = rustix::fs::statvfs(dir).ok()?;
            Some(system.f_bavail.saturating_mul(system.f_frsize))
        };
        let free: Option<Vec<u64>> = self.dirs.iter().map(free).collect();
        free?.into_iter().min().map(|min_free| min_free.saturating_mul(self.dirs.len() as u64))
    }

    /// Begins an empty extent at the end of the file that `turn` modulo the number of files selects.
    pub fn begin_extent(&self, turn: usize) -> Result<Extent> {
        let files = self.open_files()?;
        let file = turn % files.len();
        let meta = files[file].metadata().map_err(|e| self.io_error(file, "spilling", &e))?;
        Ok(Extent { file, start: meta.len(), end: meta.len() })
    }

    /// Appends `bytes` to an extent, which must be the last one begun in its file.
    pub fn append_bytes(&self, extent: &mut Extent, bytes: &[u8]) -> Result<()> {
        let file = &self.open_files()?[extent.file];
        file.write_all_at(bytes, extent.end).map_err(|e| self.io_error(extent.file, "spilling", &e))?;
        let before = extent.end;
        extent.end += bytes.len() as u64;
        self.written.fetch_add(bytes.len() as u64, Relaxed);
        if !self.has_name {
            SPILLED_BYTES.fetch_add(bytes.len() as u64, Relaxed);
        }
        // A named file is synced at the end, so its data is sent to disk while more is produced.
        if self.has_name && before / WRITE_BACK_BYTES != extent.end / WRITE_BACK_BYTES {
            let start = (before / WRITE_BACK_BYTES).saturating_sub(1) * WRITE_BACK_BYTES;
            write_back::start_write_back(file, start, extent.end - start);
        }
        Ok(())
    }

    /// Returns the disk space of an extent to the file system, if the system and the file system support
    /// holes; otherwise it stays in use until the file is closed. Errors are ignored.
    pub fn free_extent(&self, extent: &Extent) {
        let Some(file) = self.files.get().and_then(|files| files.get(extent.file)) else { return };
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            let _ = fallocate(file, hole, extent.start, extent.end - extent.start);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = file;
    }

    /// Fills `into` with the bytes from file offset `at` on. The range must lie inside the extent.
    pub fn read_bytes(&self, extent: &Extent, at: u64, into: &mut [u8]) -> Result<()> {
        debug_assert!(at >= extent.start && at + into.len() as u64 <= extent.end);
        if let Some((path, file)) = self.adopted_file(extent.file) {
            return file.read_exact_at(into, at).map_err(|e| match e.kind() {
                std::io::ErrorKind::UnexpectedEof => self.damaged_error(extent),
                _ => Error::io(format!("{} cannot be read", path.display()), &e),
            });
        }
        let file = &self.open_files()?[extent.file];
        file.read_exact_at(into, at).map_err(|e| self.io_error(extent.file, "reading spilled data", &e))
    }

    /// Returns the error for an extent whose data has changed since it was written. For a named file, it
    /// contains the path.
    pub fn damaged_error(&self, extent: &Extent) -> Error {
        match self.adopted_file(extent.file) {
            Some((path, _)) => Error::temporary("the file is damaged").file(path),
            None => spill_codec::damaged_spill_error("data"),
        }
    }

    fn io_error(&self, file: usize, doing: &str, error: &std::io::Error) -> Error {
        let error = Error::io(format!("{doing} in {} failed", self.dirs[file].display()), error);
        if self.has_name {
            return error;
        }
        error.hint("use temporary directories with more space (--temp-dir), or more memory (-m)")
    }
}

/// Creates an unnamed file: with `O_TMPFILE` if the file system supports it, otherwise with a random
/// name that is unlinked at once.
fn create_unlinked_file(dir: &Path) -> Result<File> {
    if dir.metadata().is_ok_and(|meta| !meta.is_dir()) {
        let what =
            format!("{} is not a directory, so no temporary file can be created there", dir.display());
        return Err(Error::usage(what).hint("set a directory with --temp-dir"));
    }
    tempfile::tempfile_in(dir).map_err(|e| {
        Error::io(format!("no temporary file can be created in {}", dir.display()), &e)
            .hint("set an existing, writable directory with --temp-dir")
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
            let mut extent = spill.begin_extent(i.into()).unwrap();
            spill.append_bytes(&mut extent, &vec![i; 1000]).unwrap();
            spill.append_bytes(&mut extent, &[i; 10]).unwrap();
            extents.push(extent);
        }
        for (i, extent) in extents.iter().enumerate() {
            let mut bytes = vec![99; 1010];
            spill.read_bytes(extent, extent.start, &mut bytes).unwrap();
            assert!(bytes.iter().all(|&b| usize::from(b) == i));
        }
        assert_eq!(spill.written_bytes(), 5050);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_directory_that_is_not_there_is_named() {
        let error = Spill::new(&["/nonexistent/dir".into()]).begin_extent(0).unwrap_err();
        assert!(error.to_string().contains("/nonexistent/dir"), "{error}");
    }
}
