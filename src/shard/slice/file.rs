//! Reading parts of a file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use readmill_record::{Error, Result};

/// The most bytes that are searched for a border. A slice of longer records has none there.
pub const MOST_SEARCHED: usize = 64 << 20;

/// Ledger name of what is read to find borders.
pub const BORDERS: &str = "borders of slices";

/// Fills `into` from an offset on; fewer bytes at the end of the file.
pub fn read_up_to(file: &File, into: &mut [u8], offset: u64) -> Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match file.read_at(&mut into[filled..], offset + filled as u64).map_err(|e| failed(&e))? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// The error of a file that cannot be read.
pub fn failed(error: &std::io::Error) -> Error {
    Error::io("reading failed", error)
}

/// Opens a file.
pub fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io(format!("{} cannot be read", path.display()), &e))
}
