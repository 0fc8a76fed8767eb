//! A range of a file as an independent stream, so that several threads can read the same file.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// A reader of the bytes between two offsets of a file. It uses `pread`, so it does not move the
/// shared file position.
#[derive(Clone, Debug)]
pub struct FileSlice {
    file: Arc<File>,
    at: u64,
    end: u64,
}

impl FileSlice {
    pub fn new(file: &Arc<File>, start: u64, end: u64) -> Self {
        FileSlice { file: Arc::clone(file), at: start, end }
    }
}

impl Read for FileSlice {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let max_bytes = into.len().min(left);
        let n = self.file.read_at(&mut into[..max_bytes], self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}
