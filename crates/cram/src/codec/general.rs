//! The general methods of compression, by other libraries: gzip, bzip2 and LZMA.

use std::io::Read;

use readmill_record::Result;

use crate::num::damaged;

/// The most memory of bzip2.
pub(super) const BZIP2: usize = 4 << 20;

/// The most KiB that LZMA may take: its highest level needs 65 MiB.
const MOST_DICTIONARY: u32 = 80 << 10;

/// Uncompresses gzip; keeps its tables for the next block.
#[derive(Default)]
pub struct Gunzip(Option<libdeflater::Decompressor>);

impl Gunzip {
    /// Uncompresses `data` to `size` bytes in `out`, which is empty.
    pub fn inflate(&mut self, data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
        out.resize(size, 0);
        let gzip = self.0.get_or_insert_with(libdeflater::Decompressor::new);
        if gzip.gzip_decompress(data, out) == Ok(size) {
            return Ok(());
        }
        out.clear(); // several members, or a wrong size
        read_all(flate2::read::MultiGzDecoder::new(data), size, out)
    }
}

/// Appends the bytes of `data` in bzip2.
pub fn bunzip2(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    read_all(bzip2::read::MultiBzDecoder::new(data), size, out)
}

/// Appends the bytes of `data` in xz.
pub fn unxz(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    read_all(lzma_rust2::XzReader::new_mem_limit(data, true, MOST_DICTIONARY), size, out)
}

/// Appends the bytes of `reader`; more than `size` are an error.
pub fn read_all(mut reader: impl Read, size: usize, out: &mut Vec<u8>) -> Result<()> {
    let unreadable = |e| damaged(format!("a block is not readable ({e})"));
    out.reserve_exact(size); // and no more: a block may claim less than it has
    reader.by_ref().take(size as u64).read_to_end(out).map_err(unreadable)?;
    match reader.read(&mut [0]).map_err(unreadable)? {
        0 => Ok(()),
        _ => Err(damaged("a block has not the size it claims")),
    }
}
