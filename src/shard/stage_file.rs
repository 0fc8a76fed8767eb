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
use std::io::{ErrorKind as IoKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_record::{Charge, Error, Ledger, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::job::JobHash;
use super::names::{sync_directory, temporary_files, temporary_name};
use crate::outputs::exclusive::{self, FileId};
use crate::outputs::signal;

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

/// Returns the way out where a file is of another job.
fn empty_directory(path: &Path) -> String {
    let directory = path.parent().unwrap_or(path).display();
    format!("use another directory, or empty this one: readmill shard clean --work {directory}")
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
    /// Which file the name stood for when it was opened.
    pub id: FileId,
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
    /// Which file the name stands for.
    pub id: FileId,
    identity: u64,
    /// The files that it was made from.
    pub sources: Vec<Source>,
    footer: Vec<u8>,
    charge: Charge,
}

/// What lies under the name of a stage file.
pub enum Found {
    /// There is no such file.
    Missing,
    /// A stage file that was written to its end.
    Whole(UndecodedFile),
    /// A stage file that is cut short or damaged, or that of another stage.
    Damaged(FileId),
}

impl Found {
    /// Examines the file `path` of the job with this hash.
    ///
    /// # Errors
    /// It belongs to another job, or it is no stage file. Its footer does not fit into the memory.
    pub fn at(path: &Path, job: JobHash, ledger: &Ledger) -> Result<Self> {
        let failed = |e: &std::io::Error| Error::io(format!("{} cannot be read", path.display()), e);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == IoKind::NotFound => return Ok(Found::Missing),
            Err(error) => return Err(failed(&error)),
        };
        let meta = file.metadata().map_err(|e| failed(&e))?;
        let (size, id) = (meta.len(), FileId::from(&meta));
        let damaged = Found::Damaged(id);
        let mut start = [0; HEAD];
        let got = read_up_to(&file, &mut start, 0).map_err(|e| failed(&e))?;
        let is_of_a_stage = start.starts_with(MAGIC) || ends_with_magic(&file, size);
        // A loss of power may leave zeros.
        if !is_of_a_stage && got > MAGIC.len() && start.iter().any(|&byte| byte != 0) {
            return Err(Error::usage("the file is not of readmill, and has the name of a stage's file")
                .file(path)
                .hint("move it away, or use another directory for the stages"));
        }
        if got < HEAD || start[..MAGIC.len()] != *MAGIC {
            return Ok(damaged);
        }
        if start[MAGIC.len()..][..job.0.len()] != job.0 {
            return Err(Error::input("the file belongs to another job, or another version of readmill")
                .file(path)
                .hint(empty_directory(path)));
        }
        if start[..] != head(job, &name_of(path)) {
            return Ok(damaged); // it is the file of another stage
        }
        let (bytes, identity, charge) = match footer(&file, size, ledger) {
            Ok(footer) => footer,
            Err(FooterError::Damaged) => return Ok(damaged),
            Err(FooterError::Io(error)) => return Err(failed(&error)),
            Err(FooterError::Memory(error)) => return Err(error),
        };
        let Ok((sources, rest)) = postcard::take_from_bytes(&bytes) else { return Ok(damaged) };
        let footer = rest.to_vec();
        let path = path.to_path_buf();
        Ok(Found::Whole(UndecodedFile { path, file, id, identity, sources, footer, charge }))
    }

    /// Returns the file if it is whole; removes it if it is damaged: running its stage again writes it anew.
    pub fn whole(self, path: &Path) -> Result<Option<UndecodedFile>> {
        match self {
            Found::Missing => Ok(None),
            Found::Whole(file) => Ok(Some(file)),
            Found::Damaged(id) => Err(damaged(path, id)),
        }
    }
}

impl UndecodedFile {
    /// Decodes the footer.
    pub fn decode<T: DeserializeOwned>(self) -> Result<StageFile<T>> {
        let UndecodedFile { path, file, id, identity, footer, charge, .. } = self;
        let footer = postcard::from_bytes(&footer).map_err(|_| damaged(&path, id))?;
        Ok(StageFile { path, file, id, identity, footer, charge })
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
            (Ok(_), _) => Err(damaged(&self.path, self.id)),
            (Err(_), Some(error)) => Err(error),
            (Err(error), None) if error.kind() == IoKind::UnexpectedEof => {
                Err(damaged(&self.path, self.id))
            }
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

/// Fills `into` from an offset on; returns the bytes that are there.
fn read_up_to(file: &File, into: &mut [u8], offset: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match file.read_at(&mut into[filled..], offset + filled as u64)? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// Whether a file of this size ends as stage files do.
fn ends_with_magic(file: &File, size: u64) -> bool {
    let mut end = [0; MAGIC.len()];
    size.checked_sub(MAGIC.len() as u64).is_some_and(|at| file.read_exact_at(&mut end, at).is_ok())
        && end == *MAGIC
}

/// Removes the file `id`, which is damaged, and returns the error for it.
pub fn damaged(path: &Path, id: FileId) -> Error {
    discarded(path, id, "was damaged")
}

/// Removes the file `id`, which was made from other files than those that are there now, and returns the error for it.
pub fn stale(path: &Path, id: FileId) -> Error {
    discarded(path, id, "was made from files that have been made anew since")
}

/// Removes the file `id`, unless its name stands for another one by now, which another process has made.
fn discarded(path: &Path, id: FileId, why: &str) -> Error {
    if id.is_at(path) {
        let _ = std::fs::remove_file(path);
    }
    Error::temporary(format!("{} {why}, and has been removed", path.display()))
        .hint("run all stages that are missing: readmill shard run, or start the workflow again")
}
