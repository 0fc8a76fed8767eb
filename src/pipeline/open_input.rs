//! Opens read files, and checks them before a run begins.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use readmill_cram as cram;
use readmill_format::summed::SummedReader;
use readmill_input::OpenOptions;
use readmill_record::{Error, Result, input_file};

use crate::plan::check_index_mark;

/// Opens a file or pipe as a stream; `-` is standard input. Also returns its size in bytes, or
/// `None` for a pipe.
pub fn open_stream(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    if path.as_os_str() == "-" {
        let stdin =
            input_file::open_stdin().map_err(|e| Error::io("standard input cannot be read", &e))?;
        return Ok((Box::new(stdin), None));
    }
    check_index_mark(path)?;
    let failed = |e: std::io::Error| Error::io(format!("{} cannot be read", path.display()), &e);
    let file = input_file::open_input(path).map_err(failed)?;
    let meta = file.metadata().map_err(failed)?;
    if meta.is_dir() {
        return Err(Error::usage(format!("{} is a directory", path.display()))
            .hint("give a SAM, BAM or CRAM file"));
    }
    Ok((Box::new(file), meta.is_file().then_some(meta.len())))
}

/// Opens a file or pipe like [`open_stream`]. If the options request checksums of the inputs,
/// updates the checksum while the bytes are read.
pub fn open_summed(path: &Path, rules: &OpenOptions) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    let (stream, size) = open_stream(path)?;
    Ok(match &rules.sums {
        Some(sums) => (Box::new(SummedReader(stream, sums.begin_file(path))), size),
        None => (stream, size),
    })
}

/// Returns an error if the same regular file is given twice, even under different names (links),
/// because its reads would be counted twice.
pub fn check_no_file_twice<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<()> {
    let mut seen: HashMap<(u64, u64), &Path> = HashMap::new();
    for path in paths {
        let meta = std::fs::metadata(path).ok().filter(Metadata::is_file);
        let Some(other) = meta.and_then(|meta| seen.insert((meta.dev(), meta.ino()), path)) else {
            continue;
        };
        let what = match other == path {
            true => format!("{} is given twice", path.display()),
            false => format!("{} and {} are the same file", other.display(), path.display()),
        };
        return Err(Error::usage(format!("{what}, so each read would occur twice"))
            .hint("give the file only once, or add --allow-same-input"));
    }
    Ok(())
}

pub fn options_for_file(path: &Path, rules: &OpenOptions) -> OpenOptions {
    let name = path.file_name().unwrap_or(path.as_os_str()).as_encoded_bytes().to_vec();
    OpenOptions { name, ..rules.clone() }
}

/// Returns whether any of the files is CRAM. Does not examine pipes, because bytes that are read
/// from a pipe cannot be put back.
pub fn is_any_cram(paths: &[PathBuf]) -> bool {
    paths.iter().any(|path| {
        let mut start = [0; 4];
        let is_file = std::fs::metadata(path).is_ok_and(|meta| meta.is_file());
        let read = is_file.then(|| File::open(path).and_then(|mut file| file.read_exact(&mut start)));
        read.is_some_and(|read| read.is_ok()) && start == *cram::MAGIC
    })
}
