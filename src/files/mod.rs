//! Small commands on whole files: they read headers and ends, or pass on compressed bytes.
//!
//! | file | contents |
//! |---|---|
//! | [`quickcheck`] | whether a file looks complete |
//! | [`head`] | the header, and the first records |
//! | [`cat`] | BAM files one after the other |
//! | [`reheader`] | another header |
//! | [`dict`] | the sequence dictionary of a FASTA |
//! | `blocks` | BAM records passed on as they are compressed |
//! | `output` | their output |

mod blocks;
pub mod cat;
pub mod dict;
pub mod head;
mod output;
pub mod quickcheck;
pub mod reheader;

use std::path::{Path, PathBuf};

use readmill_format::text::LineReader;
use readmill_record::{Charge, Ledger, Result};

use crate::process::limit;
use crate::run::memory::PROGRAM;

pub use blocks::read_header;
pub use output::FileOutput;

/// Bytes of the buffers of a small command: chunks of blocks, a piece of a file, the output.
const BUFFERS: u64 = 6 << 20;

/// The memory of a small command, of which the program and the buffers have their shares.
pub struct Memory {
    /// The rest is charged here.
    pub ledger: Ledger,
    _shares: [Charge; 2],
}

impl Memory {
    /// Divides so many bytes.
    ///
    /// # Errors
    /// They are too few.
    pub fn of(bytes: u64) -> Result<Self> {
        limit::check_address_space(bytes, 1)?;
        let ledger = Ledger::of(bytes);
        let shares = [ledger.charge("program", PROGRAM)?, ledger.charge("buffers", BUFFERS)?];
        Ok(Memory { ledger, _shares: shares })
    }
}

/// The names of files in a list, one a line.
///
/// # Errors
/// The list cannot be read.
pub fn lines(list: &Path, ledger: &Ledger) -> Result<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStrExt;
    let (mut reader, mut names) = (LineReader::open(list, ledger)?, Vec::new());
    let mut charge = ledger.empty("names of files");
    while reader.advance()? {
        let name = reader.line().trim_ascii();
        if !name.is_empty() {
            // (A list that grows has its old and its new place at once.)
            charge.grow((name.len() + 3 * size_of::<PathBuf>()) as u64)?;
            names.push(std::ffi::OsStr::from_bytes(name).into());
        }
    }
    Ok(names)
}
