//! Checksums of files, computed while they are read from start to end: 128-bit XXH3, as `xxh128sum`
//! prints it. The report of a run (`--json`) contains them.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use xxhash_rust::xxh3::Xxh3;

/// The checksum of the bytes of a stream so far. Clones share the checksum.
#[derive(Clone, Default)]
pub struct StreamSum(Arc<Mutex<(Xxh3, u64)>>);

impl StreamSum {
    pub fn add_bytes(&self, bytes: &[u8]) {
        let mut sum = lock_ignoring_poison(&self.0);
        sum.0.update(bytes);
        sum.1 += bytes.len() as u64;
    }

    /// Returns the checksum as 32 hexadecimal digits if exactly `bytes` bytes were added; `None` if
    /// the file was not read completely.
    pub fn digest_if_complete(&self, bytes: u64) -> Option<String> {
        let sum = lock_ignoring_poison(&self.0);
        (sum.1 == bytes).then(|| format!("{:032x}", sum.0.digest128()))
    }
}

pub struct SummedReader<R>(pub R, pub StreamSum);

impl<R: Read> Read for SummedReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(into)?;
        self.1.add_bytes(&into[..n]);
        Ok(n)
    }
}

/// The checksums of the input files of a run. Clones share the list.
#[derive(Clone, Default)]
pub struct InputSums(Arc<Mutex<Vec<(PathBuf, StreamSum)>>>);

impl InputSums {
    pub fn begin_file(&self, path: &Path) -> StreamSum {
        let sum = StreamSum::default();
        self.set_sum(path, sum.clone());
        sum
    }

    pub fn set_sum(&self, path: &Path, sum: StreamSum) {
        let mut list = lock_ignoring_poison(&self.0);
        list.retain(|(other, _)| other != path);
        list.push((path.to_path_buf(), sum));
    }

    /// Returns the checksum of a file of `bytes` bytes; `None` if not all of them were read in
    /// order.
    pub fn checksum_of(&self, path: &Path, bytes: u64) -> Option<String> {
        let list = lock_ignoring_poison(&self.0);
        list.iter().find(|(other, _)| other == path).and_then(|(_, sum)| sum.digest_if_complete(bytes))
    }
}

fn lock_ignoring_poison<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_xxh128sum_once_all_is_read() {
        let sums = InputSums::default();
        let path = Path::new("reads.bam");
        let mut stream = SummedReader(&b"readmill"[..], sums.begin_file(path));
        let mut start = [0; 3];
        stream.read_exact(&mut start).unwrap();
        assert_eq!(sums.checksum_of(path, 8), None);
        stream.read_to_end(&mut Vec::new()).unwrap();
        let whole = format!("{:032x}", xxhash_rust::xxh3::xxh3_128(b"readmill"));
        assert_eq!(sums.checksum_of(path, 8), Some(whole));
        assert_eq!(sums.checksum_of(Path::new("other"), 8), None);
    }
}
