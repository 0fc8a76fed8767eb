//! `readmill quickcheck`: whether files look complete, by their first and last bytes.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use readmill_input::{ENDING, OpenOptions, Source, check_ending};
use readmill_record::{Error, ErrorKind, Limit, Result};

/// A fault of a file. The numbers are the bits of the exit code of `samtools quickcheck`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be opened or read.
    Unreadable = 2,
    /// It is none of SAM, BAM and CRAM.
    NotReads = 4,
    /// Its header is damaged, or has no reference sequences.
    Header = 8,
    /// It lacks its end-of-file marker.
    CutShort = 16,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Unreadable => "it cannot be read",
            Fault::NotReads => "it is none of SAM, BAM and CRAM",
            Fault::Header => {
                "its header has no reference sequences; -u accepts that for reads that are not aligned"
            }
            Fault::CutShort => {
                "its end-of-file marker is missing, so the file is truncated: get it again"
            }
        })
    }
}

/// The faults of a file, each with a sentence.
pub type Faults = Vec<(Fault, String)>;

/// Looks at the start and the end of the file at `path`. Reads that are not aligned need no reference sequences:
/// `is_unaligned`.
pub fn quickcheck(path: &Path, is_unaligned: bool) -> Faults {
    let mut faults = Faults::new();
    let told = |fault: Fault, why: &str| (fault, why.to_string());
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => {
            return vec![(Fault::Unreadable, Error::io("it cannot be opened", &error).to_string())];
        }
    };
    match ending(&mut file) {
        Ok(true) => {}
        Ok(false) => faults.push(told(Fault::CutShort, &Fault::CutShort.to_string())),
        Err(error) => return vec![(Fault::Unreadable, error.to_string())],
    }
    let options = OpenOptions {
        allow_missing_eof: true, // that is checked above
        most: Limit::NONE,
        container: Limit::NONE,
        ..OpenOptions::default()
    };
    match File::open(path).map(|file| Source::open(Box::new(file), &options)) {
        Ok(Ok(source)) if source.header().references().is_empty() && !is_unaligned => {
            faults.push(told(Fault::Header, &Fault::Header.to_string()));
        }
        Ok(Ok(_)) => {}
        Ok(Err(error)) if error.kind == ErrorKind::Io => {
            faults.push((Fault::Unreadable, error.to_string()));
        }
        Ok(Err(error)) => {
            let is_other = error.what.contains("none of BAM, SAM and CRAM");
            faults.push((if is_other { Fault::NotReads } else { Fault::Header }, error.to_string()));
        }
        Err(error) => {
            faults.push((Fault::Unreadable, Error::io("it cannot be opened", &error).to_string()))
        }
    }
    if faults.iter().any(|(fault, _)| *fault == Fault::NotReads) {
        faults.retain(|(fault, _)| *fault == Fault::NotReads); // no end was to be expected
    }
    faults
}

/// Whether a file ends as its first bytes say that it must. A pipe is not read.
fn ending(file: &mut File) -> Result<bool> {
    let failed = |e: &std::io::Error| Error::io("it cannot be read", e);
    let length = file.metadata().map_err(|e| failed(&e))?.len();
    let (mut start, mut end) = (Vec::new(), Vec::new());
    file.take(ENDING as u64).read_to_end(&mut start).map_err(|e| failed(&e))?;
    let last = length.saturating_sub(ENDING as u64);
    if file.seek(SeekFrom::Start(last)).is_err() {
        return Ok(true);
    }
    file.take(ENDING as u64).read_to_end(&mut end).map_err(|e| failed(&e))?;
    Ok(check_ending(&start, &end).is_ok())
}
