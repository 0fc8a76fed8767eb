//! Positioned file reads for the formats that can be divided.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use readmill_record::{Error, Result};

/// Maximum number of bytes to search for a border. If no border is found because the records are
/// very long, the slices on both sides become one.
pub const MAX_SEARCHED_BYTES: usize = 64 << 20;

pub const BORDERS: &str = "borders of slices";

pub fn read_up_to(file: &File, into: &mut [u8], offset: u64) -> Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match file.read_at(&mut into[filled..], offset + filled as u64).map_err(|e| read_error(&e))? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

pub fn read_error(error: &std::io::Error) -> Error {
    Error::io("reading failed", error)
}

pub fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io(format!("{} cannot be read", path.display()), &e))
}
