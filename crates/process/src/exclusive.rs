//! Creates a file that belongs to this run only. Symbolic links are not followed, and a file that
//! another program is writing is not touched.

use std::fs::{File, Metadata, TryLockError};
use std::io::{Error as IoError, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use readmill_record::{Error, Result, input_file};

/// Number of attempts to create a file while other programs create and remove it.
const ATTEMPTS: usize = 20;

/// The identity of a file, independent of its name: device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

impl FileId {
    /// Returns the identity of an open file.
    pub fn of(file: &File) -> std::io::Result<Self> {
        file.metadata().map(|meta| Self::from(&meta))
    }

    /// Returns whether `path` is this file. A symbolic link to the file counts as a different file.
    pub fn is_at(self, path: &Path) -> bool {
        path.symlink_metadata().is_ok_and(|meta| Self::from(&meta) == self)
    }
}

impl From<&Metadata> for FileId {
    fn from(meta: &Metadata) -> Self {
        FileId(meta.dev(), meta.ino())
    }
}

/// Creates `partial`, the temporary file for the output `shown`, and locks it until it is closed.
///
/// An existing regular file with this name was left by a killed run and is removed first. Its
/// contents survive under any other hard link.
///
/// # Errors
/// Fails if another run holds the lock, or if the name belongs to something else, such as a
/// symbolic link.
pub fn create_and_lock(partial: &Path, shown: &Path) -> Result<File> {
    let failed = |e: &IoError| Error::io(format!("{} cannot be written", shown.display()), e);
    let not_created = |e: IoError| {
        let is_missing = e.kind() == ErrorKind::NotFound;
        let error = failed(&input_file::explain_url_error(e, shown));
        match partial.parent() {
            Some(directory)
                if is_missing && !directory.exists() && !shown.to_string_lossy().contains("://") =>
            {
                let name = directory.display();
                error.hint(format!("the directory {name} does not exist; create it: mkdir -p {name}"))
            }
            _ => error,
        }
    };
    let busy = || {
        failed(&IoError::other("another run is writing this file"))
            .hint("wait for that run, or choose another output name")
    };
    for _ in 0..ATTEMPTS {
        let file = match File::options().read(true).write(true).create_new(true).open(partial) {
            Ok(file) => file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                match remove_unless_locked(partial).map_err(|e| failed(&e))? {
                    ExistingFile::Nothing => continue,
                    ExistingFile::Locked => return Err(busy()),
                    ExistingFile::Other(what) => {
                        let what = format!("{} is {what}", partial.display());
                        return Err(failed(&IoError::other(what))
                            .hint("remove it, or choose another output name"));
                    }
                }
            }
            Err(e) => return Err(not_created(e)),
        };
        // Between creation and lock, another run may have removed this file as a leftover.
        let is_locked = !matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if is_locked && FileId::of(&file).is_ok_and(|id| id.is_at(partial)) {
            return Ok(file);
        }
    }
    Err(busy())
}

/// What exists at the path of a file to be created.
enum ExistingFile {
    /// Nothing: the file was removed or has disappeared.
    Nothing,
    /// Another run is writing the file.
    Locked,
    /// Something other than a regular file; the value names its type.
    Other(&'static str),
}

/// Removes the temporary file of a killed run. Does nothing if a run is still writing the file or
/// if the file cannot be removed.
pub fn remove_leftover(path: &Path) {
    let _ = remove_unless_locked(path);
}

/// Removes the regular file at `path`, unless a run is writing it. Returns what exists at `path`
/// now.
fn remove_unless_locked(path: &Path) -> std::io::Result<ExistingFile> {
    let gone = |e: IoError| match e.kind() {
        ErrorKind::NotFound => Ok(ExistingFile::Nothing),
        _ => Err(e),
    };
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(e) => return gone(e),
    };
    if let Some(other) = file_type_name(&meta) {
        return Ok(ExistingFile::Other(other));
    }
    // Over NFS, only a file that is open for writing can be locked. A read-only file can still be
    // removed.
    let open = |write| File::options().read(true).write(write).open(path);
    let file = open(true).or_else(|e| match e.kind() {
        ErrorKind::PermissionDenied => open(false),
        _ => Err(e),
    });
    let file = match file {
        Ok(file) => file,
        Err(e) => return gone(e),
    };
    if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
        return Ok(ExistingFile::Locked);
    }
    let id = FileId::from(&meta);
    if FileId::of(&file)? == id && id.is_at(path) {
        std::fs::remove_file(path).map(|()| ExistingFile::Nothing).or_else(gone)
    } else {
        Ok(ExistingFile::Nothing) // the file changed meanwhile, so the caller tries again
    }
}

/// Returns the type of a file for messages; `None` for a regular file.
fn file_type_name(meta: &Metadata) -> Option<&'static str> {
    let kind = meta.file_type();
    let kinds = [
        (kind.is_file(), None),
        (kind.is_symlink(), Some("a symbolic link")),
        (kind.is_dir(), Some("a directory")),
        (kind.is_fifo(), Some("a named pipe")),
        (kind.is_socket(), Some("a socket")),
    ];
    kinds.into_iter().find(|(is, _)| *is).map_or(Some("a device"), |(_, name)| name)
}
