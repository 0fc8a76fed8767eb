//! `readmill quickcheck`: checks from their first and last bytes whether files look complete.

use std::path::Path;

use readmill_input::check_file_ending;
use readmill_record::{Error, Ledger, Result, input_file};

use crate::head;

/// Returns the errors found at the start and the end of a file. Reads only the start of a pipe.
/// With `is_unaligned`, accepts a header without reference sequences.
pub fn find_faults(path: &Path, is_unaligned: bool, ledger: &Ledger) -> Vec<Error> {
    let ending = check_file_end(path).err();
    let header = check_header(path, is_unaligned, ledger).err();
    // A file that cannot be read has only one error.
    let same = ending.as_ref().is_some_and(|ending| header.as_ref() == Some(ending));
    ending.into_iter().chain(header.filter(|_| !same)).collect()
}

/// Returns an error if the end of a file does not match its first bytes. Does not open a pipe,
/// because it can be read only once.
fn check_file_end(path: &Path) -> Result<()> {
    if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) || path.as_os_str() == "-" {
        return Ok(());
    }
    let file = input_file::open_input(path).map_err(|e| Error::io("cannot be opened", &e).file(path))?;
    let size = file.metadata().map_err(|e| Error::io("cannot be read", &e).file(path))?.len();
    check_file_ending(&file, size).map_err(|e| e.file(path))
}

fn check_header(path: &Path, is_unaligned: bool, ledger: &Ledger) -> Result<()> {
    if head::open_reads(path, None, ledger)?.header().references().is_empty() && !is_unaligned {
        return Err(Error::input("the header has no reference sequences")
            .hint("if the reads are not aligned, use -u")
            .file(path));
    }
    Ok(())
}
