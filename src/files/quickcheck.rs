//! `readmill quickcheck`: whether files look complete, by their first and last bytes.

use std::path::Path;

use readmill_input::check_file_ending;
use readmill_record::{Error, Ledger, Result, input_file};

use super::head;

/// Returns the faults of the file at `path`, as its start and its end show them; of a pipe, only the start is read. Reads that
/// are not aligned need no reference sequences: `is_unaligned`.
pub fn quickcheck(path: &Path, is_unaligned: bool, ledger: &Ledger) -> Vec<Error> {
    let ending = check_end(path).err();
    let header = check_header(path, is_unaligned, ledger).err();
    // A file that cannot be read has one fault.
    let same = ending.as_ref().is_some_and(|ending| header.as_ref() == Some(ending));
    ending.into_iter().chain(header.filter(|_| !same)).collect()
}

/// Fails if a file does not end as its first bytes say that it must. A pipe is not opened: its bytes can be read only once.
fn check_end(path: &Path) -> Result<()> {
    if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file()) || path.as_os_str() == "-" {
        return Ok(());
    }
    let file = input_file::open(path).map_err(|e| Error::io("it cannot be opened", &e).file(path))?;
    let size = file.metadata().map_err(|e| Error::io("it cannot be read", &e).file(path))?.len();
    check_file_ending(&file, size).map_err(|e| e.file(path))
}

fn check_header(path: &Path, is_unaligned: bool, ledger: &Ledger) -> Result<()> {
    if head::open(path, None, ledger)?.header().references().is_empty() && !is_unaligned {
        return Err(Error::input("its header has no reference sequences")
            .hint("-u accepts that for reads that are not aligned")
            .file(path));
    }
    Ok(())
}
