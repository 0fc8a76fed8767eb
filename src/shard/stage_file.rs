//! The file of a finished stage, which is either complete or absent.
//!
//! ```text
//! magic (8 bytes) | hash of the job (16) | stage (16) | data | footer (postcard) | identity (8) | its length (8) | magic
//! ```
//!
//! The footer begins with the names and identities of the files from which this file was made. The
//! identity of a file is the XXH3 hash of its footer, and the footer contains checksums of all
//! data. A file is stale if the identity of one of its sources has changed: the stale file may
//! refer to records at positions that are no longer valid.
//!
//! Data are stored in extents, as in the spill ([`readmill_format::spill`]), and the footer
//! contains their positions. A file is written under a temporary name that no other process uses,
//! synced, and then hard-linked to its final name. If the name already exists, another process has
//! already written the same bytes, and the copy is removed.

use std::fs::File;
use std::io::{ErrorKind as IoKind, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_format::spill::Spill;
use readmill_process::exclusive::{self, FileId};
use readmill_process::signal;
use readmill_record::{Charge, Error, Ledger, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::job::JobHash;
use super::names::{find_temporary_files, sync_parent_directory, temporary_name};

const MAGIC: &[u8; 8] = b"RMSTAGE\x01";

/// Bytes before the data: magic, job hash, and stage name.
const HEAD_BYTES: usize = MAGIC.len() + size_of::<JobHash>() + STAGE_NAME_BYTES;

const STAGE_NAME_BYTES: usize = 16;

/// Bytes after the footer: identity, length, magic.
const TAIL_BYTES: usize = 8 + 8 + MAGIC.len();

const CHECKSUM_PIECE_BYTES: usize = 1 << 20;

const FOOTER_MEMORY: &str = "footers of stage files";

/// A stage file from which another stage file was made. If its identity changes, the other file is
/// stale, and the stage of that file must run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageSource {
    pub name: String,
    /// The hash of its footer when it was read.
    pub identity: u64,
}

fn empty_directory_hint(path: &Path) -> String {
    let directory = path.parent().unwrap_or(path).display();
    format!("use another directory, or clear this one with readmill shard clean --work {directory}")
}

/// Returns the first [`HEAD_BYTES`] bytes of the file `name`. They contain the job and the name, so
/// that files of other jobs and stages are recognised.
fn file_head(job: JobHash, name: &str) -> Vec<u8> {
    let mut head = [&MAGIC[..], &job.0, name.as_bytes()].concat();
    head.resize(HEAD_BYTES, 0);
    head
}

fn file_name_of(path: &Path) -> String {
    path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
}

/// A stage file that is being written under a temporary name. Dropping it before
/// [`StageWriter::finish`] removes the temporary file.
pub struct StageWriter {
    path: PathBuf,
    temporary: PathBuf,
    file: File,
    spill: Arc<Spill>,
}

/// A range of bytes of a stage file, with its CRC-32. Footers contain such ranges for data without
/// their own checksums.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct ChecksummedRange {
    start: u64,
    end: u64,
    crc: u32,
}

impl StageWriter {
    /// Creates the temporary file for `path`, and writes its first bytes. Removes temporary files
    /// of killed runs of the same stage.
    pub fn create(path: &Path, job: JobHash) -> Result<Self> {
        // They would eventually fill the disk.
        for other in find_temporary_files(path) {
            exclusive::remove_leftover(&other);
        }
        let temporary = temporary_name(path);
        let failed = |e: &std::io::Error| Error::io(format!("{} cannot be written", path.display()), e);
        let mut file = signal::create_output_file(&temporary, path)?;
        file.write_all(&file_head(job, &file_name_of(path))).map_err(|e| failed(&e))?;
        let same = file.try_clone().map_err(|e| failed(&e))?;
        let spill = Arc::new(Spill::into_file(&temporary, same));
        Ok(StageWriter { path: path.to_path_buf(), temporary, file, spill })
    }

    pub fn spill(&self) -> &Arc<Spill> {
        &self.spill
    }

    /// Returns the number of bytes written so far, which is the offset of the next data.
    pub fn bytes_written(&self) -> Result<u64> {
        self.file.metadata().map(|meta| meta.len()).map_err(|e| self.failed(&e))
    }

    /// Returns the range from `start` to the current end of the file, with its checksum. Reads the
    /// data back from the file.
    pub fn checksum_since(&self, start: u64) -> Result<ChecksummedRange> {
        let end = self.bytes_written()?;
        let crc = checksum_range(&self.file, start, end, |_| Ok(())).map_err(|e| self.failed(&e))?;
        Ok(ChecksummedRange { start, end, crc })
    }

    /// Writes the footer, syncs the file, and gives it its final name. `sources` are the files that
    /// the stage has read.
    pub fn finish(self, sources: &[StageSource], footer: &impl Serialize) -> Result<()> {
        let mut bytes = postcard::to_stdvec(&(sources, footer))
            .map_err(|error| Error::bug(format!("a footer cannot be encoded: {error}")))?;
        let (identity, length) = (xxh3_64(&bytes), bytes.len() as u64);
        bytes.extend_from_slice(&identity.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(MAGIC);
        let end = self.bytes_written()?;
        self.file.write_all_at(&bytes, end).map_err(|e| self.failed(&e))?;
        self.file.sync_all().map_err(|e| self.failed(&e))?;
        match std::fs::hard_link(&self.temporary, &self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == IoKind::AlreadyExists => {}
            // Some file systems have no hard links.
            Err(_) => std::fs::rename(&self.temporary, &self.path).map_err(|e| self.failed(&e))?,
        }
        sync_parent_directory(&self.path);
        Ok(())
    }

    fn failed(&self, error: &std::io::Error) -> Error {
        Error::io(format!("writing {} failed", self.path.display()), error)
    }
}

impl Drop for StageWriter {
    fn drop(&mut self) {
        signal::remove_unfinished(&self.temporary);
    }
}

/// A complete stage file with its decoded footer. Its data are unverified until `verify_data` or
/// `read_verified` is called.
pub struct StageFile<T> {
    pub path: PathBuf,
    pub file: File,
    /// Device and inode of the file. A damaged file is removed only if its name still refers to
    /// them, because another process may have replaced it.
    pub id: FileId,
    pub identity: u64,
    pub footer: T,
    pub charge: Charge,
}

/// A complete stage file whose footer is not decoded yet. Its sources are known, so the state of
/// any stage can be examined without knowing the type of its footer.
pub struct UndecodedFile {
    path: PathBuf,
    file: File,
    pub id: FileId,
    identity: u64,
    pub sources: Vec<StageSource>,
    footer: Vec<u8>,
    charge: Charge,
}

pub enum StageFileState {
    Missing,
    /// A complete stage file of this job and stage. Its data are not verified.
    Whole(UndecodedFile),
    /// A stage file that is truncated or damaged, or that belongs to another stage.
    Damaged(FileId),
}

impl StageFileState {
    /// Examines file `path` of the job with hash `job`. Removes nothing.
    ///
    /// # Errors
    /// Fails if the file belongs to another job or was not written by readmill, if it cannot be
    /// read, or if its footer does not fit into memory.
    pub fn examine(path: &Path, job: JobHash, ledger: &Ledger) -> Result<Self> {
        let failed = |e: &std::io::Error| Error::io(format!("{} cannot be read", path.display()), e);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == IoKind::NotFound => return Ok(StageFileState::Missing),
            Err(error) => return Err(failed(&error)),
        };
        let meta = file.metadata().map_err(|e| failed(&e))?;
        let (size, id) = (meta.len(), FileId::from(&meta));
        let damaged = StageFileState::Damaged(id);
        let mut start = [0; HEAD_BYTES];
        let got = read_up_to(&file, &mut start, 0).map_err(|e| failed(&e))?;
        let is_of_a_stage = start.starts_with(MAGIC) || ends_with_magic(&file, size);
        // After a power failure, a file may consist of zeros.
        if !is_of_a_stage && got > MAGIC.len() && start.iter().any(|&byte| byte != 0) {
            return Err(Error::usage("has the name of a stage file, but was not written by readmill")
                .file(path)
                .hint("move the file, or use another directory for the stages"));
        }
        if got < HEAD_BYTES || start[..MAGIC.len()] != *MAGIC {
            return Ok(damaged);
        }
        if start[MAGIC.len()..][..job.0.len()] != job.0 {
            return Err(Error::input("the file belongs to a different job or version of readmill")
                .file(path)
                .hint(empty_directory_hint(path)));
        }
        if start[..] != file_head(job, &file_name_of(path)) {
            return Ok(damaged); // the file of another stage
        }
        let (bytes, identity, charge) = match read_footer(&file, size, ledger) {
            Ok(footer) => footer,
            Err(FooterError::Damaged) => return Ok(damaged),
            Err(FooterError::Io(error)) => return Err(failed(&error)),
            Err(FooterError::Memory(error)) => return Err(error),
        };
        let Ok((sources, rest)) = postcard::take_from_bytes(&bytes) else { return Ok(damaged) };
        let footer = rest.to_vec();
        let path = path.to_path_buf();
        Ok(StageFileState::Whole(UndecodedFile { path, file, id, identity, sources, footer, charge }))
    }

    /// Returns the file if it is complete, or `None` if it does not exist. Removes a damaged file;
    /// the error then asks the user to run its stage again.
    pub fn into_whole_or_remove(self, path: &Path) -> Result<Option<UndecodedFile>> {
        match self {
            StageFileState::Missing => Ok(None),
            StageFileState::Whole(file) => Ok(Some(file)),
            StageFileState::Damaged(id) => Err(remove_damaged(path, id)),
        }
    }
}

impl UndecodedFile {
    pub fn decode<T: DeserializeOwned>(self) -> Result<StageFile<T>> {
        let UndecodedFile { path, file, id, identity, footer, charge, .. } = self;
        let footer = postcard::from_bytes(&footer).map_err(|_| remove_damaged(&path, id))?;
        Ok(StageFile { path, file, id, identity, footer, charge })
    }
}

/// Reads the identity of file `path` from its last bytes, without any other check. `None` if the
/// file does not exist or is too short.
pub fn read_identity(path: &Path) -> Option<u64> {
    let file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    let mut tail = [0; TAIL_BYTES];
    file.read_exact_at(&mut tail, size.checked_sub(TAIL_BYTES as u64)?).ok()?;
    tail.first_chunk::<8>().map(|identity| u64::from_le_bytes(*identity))
}

impl<T> StageFile<T> {
    /// Compares data with their checksum.
    ///
    /// # Errors
    /// If they differ, removes the file and returns an error that asks the user to run its stage
    /// again.
    pub fn verify_data(&self, data: &ChecksummedRange) -> Result<()> {
        self.read_verified(data, |_| Ok(()))
    }

    /// Reads data, passes them to `each` in pieces of up to 1 MiB, and compares them with their
    /// checksum at the end.
    pub fn read_verified(
        &self,
        data: &ChecksummedRange,
        mut each: impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        let mut refused = None;
        let crc = checksum_range(&self.file, data.start, data.end, |piece| {
            each(piece).map_err(|error| {
                refused = Some(error);
                std::io::Error::other("refused")
            })
        });
        match (crc, refused) {
            (Ok(crc), _) if crc == data.crc => Ok(()),
            (Ok(_), _) => Err(remove_damaged(&self.path, self.id)),
            (Err(_), Some(error)) => Err(error),
            (Err(error), None) if error.kind() == IoKind::UnexpectedEof => {
                Err(remove_damaged(&self.path, self.id))
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

/// Reads the footer and checks its hash. Returns its bytes, the identity of the file, and the
/// charge for the memory of the bytes and of the decoded footer.
fn read_footer(file: &File, size: u64, ledger: &Ledger) -> Result<(Vec<u8>, u64, Charge), FooterError> {
    let min_size = (HEAD_BYTES + TAIL_BYTES) as u64;
    let room = size.checked_sub(min_size).ok_or(FooterError::Damaged)?;
    let mut tail = [0; TAIL_BYTES];
    file.read_exact_at(&mut tail, size - TAIL_BYTES as u64).map_err(FooterError::Io)?;
    let (identity, rest) = tail.split_first_chunk::<8>().ok_or(FooterError::Damaged)?;
    let (length, magic) = rest.split_first_chunk::<8>().ok_or(FooterError::Damaged)?;
    let length = u64::from_le_bytes(*length);
    if magic != MAGIC || length > room {
        return Err(FooterError::Damaged);
    }
    // A decoded integer takes up to eight bytes, but may be encoded in a single byte.
    let charge = ledger.charge(FOOTER_MEMORY, 9 * length).map_err(FooterError::Memory)?;
    let mut bytes = vec![0; length as usize];
    file.read_exact_at(&mut bytes, size - TAIL_BYTES as u64 - length).map_err(FooterError::Io)?;
    let identity = u64::from_le_bytes(*identity);
    if xxh3_64(&bytes) != identity {
        return Err(FooterError::Damaged);
    }
    Ok((bytes, identity, charge))
}

/// Computes the CRC-32 of the bytes from `start` to `end`. Also passes each piece that is read to
/// `each`.
fn checksum_range(
    file: &File,
    start: u64,
    end: u64,
    mut each: impl FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<u32> {
    let (mut hasher, mut at) = (crc32fast::Hasher::new(), start);
    let mut bytes = vec![0; CHECKSUM_PIECE_BYTES.min((end - start) as usize)];
    while at < end {
        let piece = &mut bytes[..CHECKSUM_PIECE_BYTES.min((end - at) as usize)];
        file.read_exact_at(piece, at)?;
        hasher.update(piece);
        each(piece)?;
        at += piece.len() as u64;
    }
    Ok(hasher.finalize())
}

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

fn ends_with_magic(file: &File, size: u64) -> bool {
    let mut end = [0; MAGIC.len()];
    size.checked_sub(MAGIC.len() as u64).is_some_and(|at| file.read_exact_at(&mut end, at).is_ok())
        && end == *MAGIC
}

pub fn remove_damaged(path: &Path, id: FileId) -> Error {
    remove_and_report(path, id, "was damaged")
}

/// Removes a file whose sources were replaced after it was made, and returns the error for it.
pub fn remove_stale(path: &Path, id: FileId) -> Error {
    remove_and_report(path, id, "was made from files that were replaced later")
}

/// Removes the file `id`, and returns the temporary error for it. Keeps the file if another process
/// has replaced it in the meantime.
fn remove_and_report(path: &Path, id: FileId, why: &str) -> Error {
    if id.is_at(path) {
        let _ = std::fs::remove_file(path);
    }
    Error::temporary(format!("{} {why} and has been removed", path.display()))
        .hint("to run all missing stages, use readmill shard run, or start the workflow again")
}
