//! Padded FASTQ (Langmead et al. 2018): spaces bring every N-th record to the end of a block, so that the same block of two
//! files has the mates of the same pairs.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use super::fault::wrong;

/// Bytes of a block, as in the paper.
pub const BLOCK_BYTES: usize = 12_288;

/// How files are padded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Padding {
    /// Records in each block but the last.
    pub records: usize,
}

impl Padding {
    /// The padding with which as many records as possible are in a block of any of the files.
    ///
    /// # Errors
    /// If a file cannot be read, or has a record that is longer than a block.
    pub fn fit(files: [&Path; 2]) -> io::Result<Self> {
        let mut longest = 1;
        for file in files {
            each(file, |record| {
                longest = longest.max(record.len());
                Ok(())
            })?;
        }
        // As many as fit whatever they are: records of one run are nearly of one length.
        match BLOCK_BYTES / longest {
            0 => Err(wrong("a record is longer than a block")),
            records => Ok(Padding { records }),
        }
    }

    /// Writes a padded copy of a file.
    ///
    /// # Errors
    /// If a file cannot be read or written, or so many records do not fit into a block.
    pub fn pad(self, from: &Path, to: &Path) -> io::Result<()> {
        let mut out = BufWriter::new(File::create(to)?);
        let (mut block, mut records) = (Vec::with_capacity(BLOCK_BYTES), 0);
        let mut end = |block: &mut Vec<u8>| {
            if block.len() > BLOCK_BYTES {
                return Err(wrong("the records of a block do not fit into it"));
            }
            block.resize(BLOCK_BYTES, b' ');
            out.write_all(block)?;
            block.clear();
            Ok(())
        };
        each(from, |record| {
            block.extend_from_slice(record);
            records += 1;
            if records % self.records == 0 { end(&mut block) } else { Ok(()) }
        })?;
        if !block.is_empty() {
            end(&mut block)?;
        }
        out.flush()
    }
}

/// Calls with each record of four lines.
fn each(file: &Path, mut with: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let (mut lines, mut record, mut count) = (BufReader::new(File::open(file)?), Vec::new(), 0);
    while lines.read_until(b'\n', &mut record)? > 0 {
        count += 1;
        if count % 4 == 0 {
            with(&record)?;
            record.clear();
        }
    }
    Ok(())
}
