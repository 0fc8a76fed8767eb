//! The file of a finished stage: complete under its name, or not there at all.
//!
//! ```text
//! magic (8 bytes) | hash of the job (16) | stage (16) | data | footer (postcard) | identity (8) | its length (8) | magic
//! ```
//!
//! The footer begins with the files that this one was made from: their names and identities. The identity of a file is the
//! XXH3 hash of its footer, in which all data have checksums. A file that was made from others than those that are there
//! now is stale: it may say that a record is where it is no more.
//!
//! Data are extents, as in the spill ([`readmill_format::spill`]); the footer says where they lie. A file is written under
//! a name that no other process uses, synced, and then linked to its own name. If that is taken, another process was
//! faster with the same bytes, and the copy is removed.

use std::fs::File;
use std::io::{ErrorKind as IoKind, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_format::spill::{Extent, Spill};
use readmill_record::{Charge, Error, Ledger, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::job::JobHash;
use super::names::{sync_directory, temporary_files, temporary_name};
use crate::outputs::{exclusive, signal};

/// The first and the last bytes of a file.
const MAGIC: &[u8; 8] = b"RMSTAGE\x01";

/// Bytes before the data.
const HEAD: usize = MAGIC.len() + size_of::<JobHash>() + STAGE;

/// Bytes of the name of the stage, with zeros behind it.
const STAGE: usize = 16;

/// Bytes after the footer.
const TAIL: usize = 8 + 8 + MAGIC.len();

/// Bytes that a checksum reads at a time.
const PIECE: usize = 1 << 20;

/// The ledger name of footers.
const FOOTERS: &str = "footers of stage files";

/// A file that another one was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Its name in the directory of the job.
    pub name: String,
    /// Its identity.
    pub identity: u64,
}

/// The first bytes of the file `name` of a job.
fn head(job: JobHash, name: &str) -> Vec<u8> {
    let mut head = [&MAGIC[..], &job.0, name.as_bytes()].concat();
    head.resize(HEAD, 0);
    head
}

/// The name of a file.
fn name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A file of a stage that is being written.
pub struct StageWriter {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    spill: Arc<Spill>,
}

/// Some data of a stage file, and their checksum.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Checked {
    start: u64,
    end: u64,
    crc: u32,
}

impl StageWriter {
    /// Begins the file `path` of the job with this hash.
    pub fn create(path: &Path, job: JobHash) -> Result<Self> {
        // What killed runs of this stage left behind would fill the disk in the end.
        for other in temporary_files(path) {
            exclusive::clean_up(&other);
        }
        let temporary = temporary_name(path);
        let failed = |e: &std::io::Error| Error::io(format!("{} cannot be written", path.display()), e);
        let mut file = signal::create(&temporary, path)?;
        file.write_all(&head(job, &name_of(path))).map_err(|e| failed(&e))?;
        let same = file.try_clone().map_err(|e| failed(&e))?;
        let spill = Arc::new(Spill::into_file(&temporary, same));
        Ok(StageWriter { path: path.to_path_buf(), temporary, file, spill })
    }

    /// Where data go.
    pub fn spill(&self) -> &Arc<Spill> {
        &self.spill
    }

    /// Bytes written so far.
    pub fn end(&self) -> Result<u64> {
        self.file.metadata().map(|meta| meta.len()).map_err(|e| self.failed(&e))
    }

    /// Returns the data from `start` to the end of what was written so far, with their checksum.
    pub fn check_from(&self, start: u64) -> Result<Checked> {
        let end = self.end()?;
        let crc = checksum(&self.file, start, end, |_| Ok(())).map_err(|e| self.failed(&e))?;
        Ok(Checked { start, end, crc })
    }

    /// Completes the file, which was made from `sources`, and gives it its name.
    pub fn finish(self, sources: &[Source], footer: &impl Serialize) -> Result<()> {
        let mut bytes = postcard::to_stdvec(&(sources, footer))
            .map_err(|error| Error::bug(format!("a footer cannot be encoded: {error}")))?;
        let (identity, length) = (xxh3_64(&bytes), bytes.len() as u64);
        bytes.extend_from_slice(&identity.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        let end = self.end()?;
        self.file.write_all_at(&bytes, end).map_err(|e| self.failed(&e))?;
        self.file.sync_all().map_err(|e| self.failed(&e))?;
        match std::fs::hard_link(&self.temporary, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == IoKind::AlreadyExists => {}
            // Some file systems have no links.
            Err(_) => std::fs::rename(&self.temporary, &self.path).map_err(|e| self.failed(&e))?,
        }
        sync_directory(&self.path);
        Ok(())
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::io(format!("writing {} failed", self.path.display()), error)
    }
}

impl Drop for StageWriter {
    fn drop(&mut self) {
        signal::remove(&self.temporary);
    }
}

/// The complete file of a stage.
pub struct StageFile<T> {
    /// Its path.
    pub path: PathBuf,
    /// The file.
    pub file: File,
    /// Its identity.
    pub identity: u64,
    /// Its footer.
    pub footer: T,
    /// Charge of the footer.
    pub charge: Charge,
}

/// A file whose footer is not decoded yet.
pub struct UndecodedFile {
    path: PathBuf,
    file: File,
    identity: u64,
    /// The files that it was made from.
    pub sources: Vec<Source>,
    footer: Vec<u8>,
    charge: Charge,
}

impl UndecodedFile {
    /// Opens the file `path` of the job with this hash; `None` if it is not there.
    ///
    /// # Errors
    /// It is damaged: then it has been removed, and running its stage again writes it anew. It belongs to another job. Its
    /// footer does not fit into the memory.
    pub fn open(path: &Path, job: JobHash, ledger: &Ledger) -> Result<Option<Self>> {
        let failed = |e: &std::io::Error| Error::io(format!("{} cannot be read", path.display()), e);
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == IoKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&error)),
        };
        let mut start = [0; HEAD];
        if let Err(error) = file.read_exact(&mut start) {
            return match error.kind() {
                IoKind::UnexpectedEof => Err(damaged(path)),
                _ => Err(failed(&error)),
            };
        }
        if start[..MAGIC.len()] != *MAGIC {
            return Err(damaged(path));
        }
        if start[MAGIC.len()..][..job.0.len()] != job.0 {
            return Err(Error::input("the file belongs to another job, or another version of readmill")
                .file(path)
                .hint("use another directory, or empty this one: readmill shard clean"));
        }
        if start[..] != head(job, &name_of(path)) {
            return Err(damaged(path)); // it is the file of another stage
        }
        let size = file.metadata().map_err(|e| failed(&e))?.len();
        let (bytes, identity, charge) = footer(&file, size, ledger).map_err(|error| match error {
            FooterError::Damaged => damaged(path),
            FooterError::Io(error) => failed(&error),
            FooterError::Memory(error) => error,
        })?;
        let (sources, rest) = postcard::take_from_bytes(&bytes).map_err(|_| damaged(path))?;
        let footer = rest.to_vec();
        Ok(Some(UndecodedFile { path: path.to_path_buf(), file, identity, sources, footer, charge }))
    }

    /// Decodes the footer.
    pub fn decode<T: DeserializeOwned>(self) -> Result<StageFile<T>> {
        let UndecodedFile { path, file, identity, footer, charge, .. } = self;
        let footer = postcard::from_bytes(&footer).map_err(|_| damaged(&path))?;
        Ok(StageFile { path, file, identity, footer, charge })
    }
}

/// Returns the identity of the complete file `path`, of whatever job; `None` if it is not there, or cut short.
pub fn identity(path: &Path) -> Option<u64> {
    let file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let mut tail = [0; TAIL];
    file.read_exact_at(&mut tail, size.checked_sub(TAIL as u64)?).ok()?;
    tail.first_chunk::<8>().map(|identity| u64::from_le_bytes(*identity))
}

impl<T> StageFile<T> {
    /// Compares data with their checksum.
    ///
    /// # Errors
    /// They differ: the file has been removed, and running its stage again writes it anew.
    pub fn verify(&self, data: &Checked) -> Result<()> {
        self.read(data, |_| Ok(()))
    }

    /// Passes data, piece by piece, to `each`, and compares them with their checksum.
    pub fn read(&self, data: &Checked, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut refused = None;
        let crc = checksum(&self.file, data.start, data.end, |piece| {
            each(piece).map_err(|error| {
                refused = Some(error);
                std::io::Error::other("refused")
            })
        });
        match (crc, refused) {
            (Ok(crc), _) if crc == data.crc => Ok(()),
            (Ok(_), _) => Err(damaged(&self.path)),
            (Err(_), Some(error)) => Err(error),
            (Err(error), None) if error.kind() == IoKind::UnexpectedEof => Err(damaged(&self.path)),
            (Err(error), None) => {
                Err(Error::io(format!("{} cannot be read", self.path.display()), &error))
            }
        }
    }
}

enum FooterError {
    Damaged,
    Io(std::io::Error),
    Memory(Error),
}

/// Reads and checks the bytes of a footer; also returns the identity of the file, and the charge of the bytes and of the
/// footer itself.
fn footer(file: &File, size: u64, ledger: &Ledger) -> Result<(Vec<u8>, u64, Charge), FooterError> {
    let least = (HEAD + TAIL) as u64;
    let room = size.checked_sub(least).ok_or(FooterError::Damaged)?;
    let mut tail = [0; TAIL];
    file.read_exact_at(&mut tail, size - TAIL as u64).map_err(FooterError::Io)?;
    let (identity, rest) = tail.split_first_chunk::<8>().ok_or(FooterError::Damaged)?;
    let (length, magic) = rest.split_first_chunk::<8>().ok_or(FooterError::Damaged)?;
    let length = u64::from_le_bytes(*length);
    if magic != MAGIC || length > room {
        return Err(FooterError::Damaged);
    }
    // Its integers take one byte and more here, and up to eight in memory.
    let charge = ledger.charge(FOOTERS, 9 * length).map_err(FooterError::Memory)?;
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, size - TAIL as u64 - length).map_err(FooterError::Io)?;
    let identity = u64::from_le_bytes(*identity);
    if xxh3_64(&bytes) != identity {
        return Err(FooterError::Damaged);
    }
    Ok((bytes, identity, charge))
}

/// Returns the CRC-32 of a part of a file, whose pieces go to `each`.
fn checksum(
    file: &File,
    start: u64,
    end: u64,
    mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<u32> {
    let (mut hasher, mut at) = (crc32fast::Hasher::new(), start);
    let mut bytes = vec![0; PIECE.min((end - start) as usize)];
    while at < end {
        let piece = &mut bytes[..PIECE.min((end - at) as usize)];
        file.read_exact_at(piece, at)?;
        hasher.update(piece);
        each(piece)?;
        at += piece.len() as u64;
    }
    Ok(hasher.finalize())
}

/// Removes a damaged file, and returns the error for it.
pub fn damaged(path: &Path) -> Error {
    let _ = std::fs::remove_file(path);
    Error::temporary(format!("{} was damaged, and has been removed", path.display()))
        .hint("run its stage again, or all that are missing: readmill shard run")
}

/// Removes a file that was made from other files than those that are there now.
pub fn stale(path: &Path) -> Error {
    let _ = std::fs::remove_file(path);
    let what = format!(
        "{} was made from files that have been made anew since, and has been removed",
        path.display()
    );
    Error::temporary(what).hint("run its stage again, or all that are missing: readmill shard run")
}

/// Makes the extents of a stage file extents of a spill, which takes the file.
pub fn adopt<T>(spill: &mut Spill, file: &StageFile<T>, extents: &mut [&mut Extent]) -> Result<()> {
    spill.adopt(&file.path, same_file(&file.file, &file.path)?, extents);
    Ok(())
}

/// Opens a file once more.
pub fn same_file(file: &File, path: &Path) -> Result<File> {
    file.try_clone().map_err(|e| Error::io(format!("{} cannot be read", path.display()), &e))
}
