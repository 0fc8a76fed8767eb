//! A file that appears under its name only when it is complete.
//!
//! It is written as `NAME.partial` and renamed at the end. A signal or an error removes it. Devices
//! and pipes are written directly.

use std::fs::{File, Metadata};
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result, input_file};

use crate::signal;
use crate::streams;

/// An output file under a temporary name, or a device or pipe. Dropping it without
/// [`AtomicFile::rename`] removes the temporary file.
pub struct AtomicFile {
    file: File,
    /// The path as the user gave it.
    shown: PathBuf,
    /// The temporary and the final path; `None` for a device or pipe.
    names: Option<(PathBuf, PathBuf)>,
    /// Whether an existing file with the final name may be an input of the run.
    replaces_input: bool,
}

/// Size of the buffer in [`AtomicFile::write_with`].
const PART_BYTES: usize = 64 << 10;

impl AtomicFile {
    /// Opens the temporary file for `path`, or the device or pipe at `path`.
    ///
    /// # Errors
    /// Fails if the file cannot be written, or if it is an input of the run.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_as(path, false)
    }

    /// Like [`AtomicFile::open`]. If `replaces_input` is set, `path` may be an input of the run,
    /// which is replaced when the new file is complete.
    pub fn open_as(path: &Path, replaces_input: bool) -> Result<Self> {
        let failed = |e: &std::io::Error| Error::io(format!("{} cannot be written", path.display()), e);
        if path.as_os_str() == "-" {
            let file = streams::stdout_file()?;
            // Reading a file while its own output is appended would never end.
            if file.metadata().is_ok_and(|meta| input_file::is_input(&meta)) {
                let what = "standard output is a file that is also an input";
                return Err(Error::usage(what).hint("redirect the output to another file"));
            }
            let shown = "standard output".into();
            return Ok(AtomicFile { file, shown, names: None, replaces_input });
        }
        let older = std::fs::metadata(path).ok();
        if !replaces_input {
            refuse_input(older.as_ref(), path)?;
        }
        let name = match &older {
            Some(meta) if meta.is_dir() => {
                return Err(Error::usage(format!("{} is a directory", path.display()))
                    .hint("give the name of a file"));
            }
            Some(meta) if !meta.is_file() => {
                let file = File::options().write(true).open(path).map_err(|e| failed(&e))?;
                let shown = path.to_path_buf();
                return Ok(AtomicFile { file, shown, names: None, replaces_input });
            }
            _ => resolve_links(path),
        };
        let partial = with_suffix(&name, ".partial");
        let file = signal::create_output_file(&partial, path)?;
        let names = Some((partial, name));
        let target = AtomicFile { file, shown: path.to_path_buf(), names, replaces_input };
        if let Some(older) = older {
            target.file.set_permissions(older.permissions()).map_err(|e| failed(&e))?;
        }
        Ok(target)
    }

    /// Returns the path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.shown
    }

    /// Returns the final path, with links resolved; `None` for a device or pipe.
    pub fn name(&self) -> Option<&Path> {
        self.names.as_ref().map(|(_, name)| name.as_path())
    }

    /// Returns whether this is a regular file that has not been renamed yet.
    pub fn is_file(&self) -> bool {
        self.names.is_some()
    }

    /// Returns the current size in bytes; `None` for a device or pipe.
    pub fn bytes(&self) -> Option<u64> {
        let meta = self.file.metadata().ok().filter(|_| self.is_file());
        meta.map(|meta| meta.len())
    }

    pub fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    pub fn is_pipe(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| self.write_error(&e))
    }

    /// Calls `put` with a buffered writer for this file, then flushes the writer.
    pub fn write_with(
        &mut self,
        put: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
    ) -> Result<()> {
        let mut out = std::io::BufWriter::with_capacity(PART_BYTES, &mut self.file);
        let written = put(&mut out).and_then(|()| std::io::Write::flush(&mut out));
        drop(out);
        written.map_err(|e| self.write_error(&e))
    }

    /// Returns a handle for writing at any offset from any thread; `None` for a device or pipe.
    pub fn positioned_handle(&self) -> Option<PositionedFile> {
        self.names.as_ref()?;
        let file = self.file.try_clone().ok()?;
        Some(PositionedFile { file, shown: self.shown.clone() })
    }

    /// Returns a reader of up to `n` bytes of a regular file, from `offset`. The reader shares the
    /// file position with this handle, so nothing may be written while it is in use.
    pub fn read_from(&self, offset: u64, n: u64) -> Result<impl Read + Send + use<>> {
        let mut file = self.file.try_clone().map_err(|e| self.write_error(&e))?;
        file.seek(SeekFrom::Start(offset)).map_err(|e| self.write_error(&e))?;
        Ok(file.take(n))
    }

    /// Truncates a regular file to zero bytes.
    pub fn truncate(&mut self) -> Result<()> {
        self.file.set_len(0).map_err(|e| self.write_error(&e))?;
        self.move_to(0)
    }

    /// Continues writing at `offset`. Does nothing for a device or pipe.
    pub fn move_to(&mut self, offset: u64) -> Result<()> {
        match self.names {
            Some(_) => {
                self.file.seek(SeekFrom::Start(offset)).map(drop).map_err(|e| self.write_error(&e))
            }
            None => Ok(()),
        }
    }

    fn write_error(&self, error: &std::io::Error) -> Error {
        Error::io(format!("writing {} failed", self.shown.display()), error)
    }

    /// Syncs the file to disk. Does nothing for a device or pipe.
    pub fn sync(&self) -> Result<()> {
        match self.names {
            Some(_) => self.file.sync_all().map_err(|e| self.write_error(&e)),
            None => Ok(()),
        }
    }

    /// Renames the complete file to its final name.
    pub fn rename(&mut self) -> Result<()> {
        AtomicFile::rename_all(std::slice::from_mut(self))
    }

    /// Renames complete files to their final names, all or none, and syncs their directories.
    ///
    /// # Errors
    /// Fails if one of them cannot be renamed, or would replace a file that was opened as an input
    /// after this output was created.
    pub fn rename_all(targets: &mut [AtomicFile]) -> Result<()> {
        let named: Vec<&AtomicFile> = targets.iter().filter(|target| target.is_file()).collect();
        for target in named.iter().filter(|target| !target.replaces_input) {
            let older = target.name().and_then(|name| std::fs::metadata(name).ok());
            refuse_input(older.as_ref(), &target.shown)?;
        }
        let names: Vec<&(PathBuf, PathBuf)> =
            named.iter().filter_map(|target| target.names.as_ref()).collect();
        signal::rename_all(&names).map_err(|(number, e)| named[number].write_error(&e))?;
        sync_directories(names.iter().map(|(_, name)| name.as_path()));
        targets.iter_mut().for_each(|target| target.names = None);
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.names {
            signal::remove_unfinished(partial);
        }
    }
}

/// A handle for writing to a regular file at given offsets, from any thread.
pub struct PositionedFile {
    file: File,
    shown: PathBuf,
}

impl PositionedFile {
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|e| Error::io(format!("writing {} failed", self.shown.display()), &e))
    }
}

/// Syncs the directories of `files`, so that created and removed names survive a power failure.
/// Errors are ignored, because not every file system supports this.
pub fn sync_directories<'a>(files: impl IntoIterator<Item = &'a Path>) {
    let mut dirs: Vec<&Path> = files.into_iter().filter_map(Path::parent).collect();
    dirs.dedup();
    for dir in dirs {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
    }
}

/// Returns `path` with `suffix` appended to its file name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Resolves symbolic links, even if the target does not exist.
fn resolve_links(path: &Path) -> PathBuf {
    if let Ok(found) = std::fs::canonicalize(path) {
        return found;
    }
    let mut path = path.to_path_buf();
    for _ in 0..40 {
        let Ok(next) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}

/// Returns an error if `older`, the existing file at the path of an output, is an input of the run.
fn refuse_input(older: Option<&Metadata>, path: &Path) -> Result<()> {
    match older {
        Some(meta) if input_file::is_input(meta) => Err(output_is_input_error(path)),
        _ => Ok(()),
    }
}

/// Returns the error for an output that is also an input.
pub fn output_is_input_error(path: &Path) -> Error {
    let what = format!("{} is an input, so it cannot be an output", path.display());
    Error::usage(what).hint("give the output another name")
}

/// Returns whether the path is a device such as /dev/null, which several outputs may share.
pub fn is_device(path: &Path) -> bool {
    path.as_os_str() != "-" && std::fs::metadata(path).is_ok_and(|meta| !meta.is_file())
}

/// Returns an error if the temporary file of `output` (its name and `.partial`) would overwrite `input`.
/// [`ensure_output_is_not_input`](crate::same_file::ensure_output_is_not_input) also compares `output` itself.
pub fn ensure_temporary_is_not_input(input: &Path, output: &Path) -> Result<()> {
    let id = |path: &Path| std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
    let partial = with_suffix(&resolve_links(output), ".partial");
    match id(input) {
        Some(file) if id(&partial) == Some(file) => {
            let what = format!("{} has the name of the temporary file of the output", input.display());
            Err(Error::usage(what).hint("rename the input, or choose another name for the output"))
        }
        _ => Ok(()),
    }
}
