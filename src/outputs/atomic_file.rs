//! A file that is complete under its name, or not there at all.

use std::fs::{File, Metadata};
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result, input_file};

use crate::outputs::signal;
use crate::process::streams;

/// A file that appears under its name only when it is complete; or a device or pipe.
pub struct AtomicFile {
    file: File,
    shown: PathBuf,
    /// The temporary and the final name of a regular file.
    names: Option<(PathBuf, PathBuf)>,
    /// Whether the file that has this name may be an input.
    replaces_input: bool,
}

/// Bytes that are written at once by [`AtomicFile::write_with`].
const PART_BYTES: usize = 64 << 10;

impl AtomicFile {
    /// Opens a file that will be named `path`, or the device or pipe at `path`.
    ///
    /// # Errors
    /// It cannot be written, or is an input.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_as(path, false)
    }

    /// The same, but if `replaces_input` is set, it may be an input. It is replaced when the new file is complete.
    pub fn open_as(path: &Path, replaces_input: bool) -> Result<Self> {
        let failed = |e: &std::io::Error| Error::io(format!("{} cannot be written", path.display()), e);
        if path.as_os_str() == "-" {
            let file = streams::stdout_file()?;
            // A file that is read while lines are added to it never ends.
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
                    .hint("give a file name with -o"));
            }
            Some(meta) if !meta.is_file() => {
                let file = File::options().write(true).open(path).map_err(|e| failed(&e))?;
                let shown = path.to_path_buf();
                return Ok(AtomicFile { file, shown, names: None, replaces_input });
            }
            _ => resolve_links(path),
        };
        let partial = with_suffix(&name, ".partial");
        let file = signal::create(&partial, path)?;
        let names = Some((partial, name));
        let target = AtomicFile { file, shown: path.to_path_buf(), names, replaces_input };
        if let Some(older) = older {
            target.file.set_permissions(older.permissions()).map_err(|e| failed(&e))?;
        }
        Ok(target)
    }

    /// The path as it was given.
    pub fn path(&self) -> &Path {
        &self.shown
    }

    /// The name of a regular file.
    pub fn name(&self) -> Option<&Path> {
        self.names.as_ref().map(|(_, name)| name.as_path())
    }

    /// Whether it is a regular file, with a name of its own.
    pub fn is_file(&self) -> bool {
        self.names.is_some()
    }

    /// Bytes of a regular file so far.
    pub fn bytes(&self) -> Option<u64> {
        let meta = self.file.metadata().ok().filter(|_| self.is_file());
        meta.map(|meta| meta.len())
    }

    /// Reads all that has been written to a regular file, which is short.
    pub fn read_all(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = self.read_from(0, u64::MAX)?;
        file.read_to_end(&mut bytes).map_err(|e| self.error(&e))?;
        Ok(bytes)
    }

    /// Whether it is a terminal.
    pub fn is_terminal(&self) -> bool {
        self.file.is_terminal()
    }

    /// Whether it is a pipe.
    pub fn is_pipe(&self) -> bool {
        self.file.metadata().is_ok_and(|meta| meta.file_type().is_fifo())
    }

    /// Writes bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(|e| self.error(&e))
    }

    /// Writes what `put` writes, a part at a time.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write_with(
        &mut self,
        put: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
    ) -> Result<()> {
        let mut out = std::io::BufWriter::with_capacity(PART_BYTES, &mut self.file);
        let written = put(&mut out).and_then(|()| std::io::Write::flush(&mut out));
        drop(out);
        written.map_err(|e| self.error(&e))
    }

    /// Returns the file for writing at any offset on any thread; `None` for devices and pipes.
    pub fn positioned(&self) -> Option<PositionedFile> {
        self.names.as_ref()?;
        let file = self.file.try_clone().ok()?;
        Some(PositionedFile { file, shown: self.shown.clone() })
    }

    /// Reads `n` bytes of what has been written to a regular file, from `offset` on. Nothing may be written
    /// meanwhile.
    pub fn read_from(&self, offset: u64, n: u64) -> Result<impl Read + Send + use<>> {
        let mut file = self.file.try_clone().map_err(|e| self.error(&e))?;
        file.seek(SeekFrom::Start(offset)).map_err(|e| self.error(&e))?;
        Ok(file.take(n))
    }

    /// Empties a regular file.
    pub fn restart(&mut self) -> Result<()> {
        self.file.set_len(0).map_err(|e| self.error(&e))?;
        self.move_to(0)
    }

    /// Continues writing at `offset`; does nothing for a device or pipe.
    pub fn move_to(&mut self, offset: u64) -> Result<()> {
        match self.names {
            Some(_) => self.file.seek(SeekFrom::Start(offset)).map(drop).map_err(|e| self.error(&e)),
            None => Ok(()),
        }
    }

    fn error(&self, error: &std::io::Error) -> Error {
        Error::io(format!("writing {} failed", self.shown.display()), error)
    }

    /// Syncs the bytes to disk; does nothing for a device or pipe.
    pub fn sync(&self) -> Result<()> {
        match self.names {
            Some(_) => self.file.sync_all().map_err(|e| self.error(&e)),
            None => Ok(()),
        }
    }

    /// Renames the complete file to its final name.
    pub fn rename(&mut self) -> Result<()> {
        AtomicFile::rename_all(std::slice::from_mut(self))
    }

    /// Renames complete files to their final names, all or none.
    ///
    /// # Errors
    /// One cannot be renamed, or would replace a file that was opened as an input after the output was.
    pub fn rename_all(targets: &mut [AtomicFile]) -> Result<()> {
        let named: Vec<&AtomicFile> = targets.iter().filter(|target| target.is_file()).collect();
        for target in named.iter().filter(|target| !target.replaces_input) {
            let older = target.name().and_then(|name| std::fs::metadata(name).ok());
            refuse_input(older.as_ref(), &target.shown)?;
        }
        let names: Vec<&(PathBuf, PathBuf)> =
            named.iter().filter_map(|target| target.names.as_ref()).collect();
        signal::rename_all(&names).map_err(|(number, e)| named[number].error(&e))?;
        sync_directories(names.iter().map(|(_, name)| name.as_path()));
        targets.iter_mut().for_each(|target| target.names = None);
        Ok(())
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.names {
            signal::remove(partial);
        }
    }
}

/// A regular file that is written at given offsets.
pub struct PositionedFile {
    file: File,
    shown: PathBuf,
}

impl PositionedFile {
    /// Writes `bytes` at `offset`.
    pub fn write_at(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let written = self.file.write_all_at(bytes, offset);
        written.map_err(|e| Error::io(format!("writing {} failed", self.shown.display()), &e))
    }
}

/// Syncs the directories of files, so that their names survive a loss of power, and names that were removed do not.
pub fn sync_directories<'a>(files: impl IntoIterator<Item = &'a Path>) {
    let mut dirs: Vec<&Path> = files.into_iter().filter_map(Path::parent).collect();
    dirs.dedup();
    for dir in dirs {
        let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let _ = File::open(dir).and_then(|dir| dir.sync_all()); // not every file system can
    }
}

/// `path` with `suffix` after its whole name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Resolves a symbolic link, or a chain of them, even if its target does not exist.
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

/// Refuses to replace `older`, the file that has the path of an output, if it is an input.
fn refuse_input(older: Option<&Metadata>, path: &Path) -> Result<()> {
    match older {
        Some(meta) if input_file::is_input(meta) => Err(is_an_input(path)),
        _ => Ok(()),
    }
}

/// The error of an output that is an input.
pub fn is_an_input(path: &Path) -> Error {
    let what = format!("{} is an input, so it cannot be an output", path.display());
    Error::usage(what).hint("give the output another name")
}

/// Whether the path is a device such as /dev/null, which several outputs may share.
pub fn is_device(path: &Path) -> bool {
    path.as_os_str() != "-" && std::fs::metadata(path).is_ok_and(|meta| !meta.is_file())
}

/// Refuses an input that the output's temporary file would overwrite.
pub fn check_distinct(input: &Path, output: &Path) -> Result<()> {
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
