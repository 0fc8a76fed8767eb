//! Small commands on whole files. They need no plan and no pipeline: most only read headers, the
//! first records or the end of a file, or copy compressed bytes.
//!
//! | module | contents |
//! |---|---|
//! | [`quickcheck`] | checks whether a file looks complete |
//! | [`head`] | prints the header and the first records |
//! | [`cat`] | joins BAM files |
//! | [`reheader`] | replaces the header |
//! | [`dict`] | writes the sequence dictionary of a FASTA file |
//! | [`indexing`] | builds indexes: BAI, CSI, TBI, CRAI, FAI and GZI |
//! | [`compare`] | compares the records of two files |
//! | `blocks` | copies compressed BAM records |
//! | `output` | the output of these commands |
//!
//! A command takes its options, a [`FileOutput`] and the ledger of a [`CommandMemory`]. The root
//! crate contains the flags, in `src/cli/files.rs`, `src/cli/index.rs` and `src/cli/compare.rs`.

#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod blocks;
pub mod cat;
pub mod compare;
pub mod dict;
pub mod head;
pub mod indexing;
mod output;
pub mod quickcheck;
pub mod reheader;

use std::path::{Path, PathBuf};

use readmill_format::text::LineReader;
use readmill_process::limit::{self, PROGRAM_BYTES};
use readmill_record::{Charge, Ledger, Result};

pub use output::FileOutput;

/// Memory for the buffers of a small command, in bytes: chunks of blocks, a part of a file, the
/// output.
const BUFFERS: u64 = 6 << 20;

/// The memory of a small command. The shares of the program and its buffers are already charged.
pub struct CommandMemory {
    pub ledger: Ledger,
    _shares: [Charge; 2],
}

impl CommandMemory {
    /// Divides `bytes` bytes of memory.
    ///
    /// # Errors
    /// Fails if this is less than the program and its buffers need, or if it exceeds a limit of
    /// this process.
    pub fn divide(bytes: u64) -> Result<Self> {
        limit::check_address_space(bytes, 1)?;
        let ledger = Ledger::with_capacity(bytes);
        let shares = [ledger.charge("program", PROGRAM_BYTES)?, ledger.charge("buffers", BUFFERS)?];
        Ok(CommandMemory { ledger, _shares: shares })
    }
}

/// Returns the file names in a list with one name per line. Skips empty lines.
///
/// # Errors
/// Fails if the list cannot be read.
pub fn read_file_list(list: &Path, ledger: &Ledger) -> Result<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStrExt;
    let (mut reader, mut names) = (LineReader::open(list, ledger)?, Vec::new());
    let mut charge = ledger.empty_charge("names of files");
    while reader.advance_line()? {
        let name = reader.line().trim_ascii();
        if !name.is_empty() {
            // While the vector grows, its old and its new memory both exist.
            charge.grow((name.len() + 3 * size_of::<PathBuf>()) as u64)?;
            names.push(std::ffi::OsStr::from_bytes(name).into());
        }
    }
    Ok(names)
}
