//! The general-purpose compression methods gzip, bzip2 and LZMA, which other libraries implement.

use std::io::Read;

use readmill_record::Result;

use crate::num::damaged_cram;

pub(super) const BZIP2_BYTES: usize = 4 << 20;

/// Memory limit for LZMA in KiB. Its highest level needs 65 MiB.
const MAX_LZMA_KIB: u32 = 80 << 10;

/// Gzip decompressor. It is created on first use and kept for later blocks.
#[derive(Default)]
pub struct Gunzip(Option<libdeflater::Decompressor>);

impl Gunzip {
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

pub fn decompress_bzip2(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    read_all(bzip2::read::MultiBzDecoder::new(data), size, out)
}

pub fn decompress_xz(data: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    read_all(lzma_rust2::XzReader::new_mem_limit(data, true, MAX_LZMA_KIB), size, out)
}

/// Appends all bytes of `reader`. More than `size` bytes are an error, so that a block cannot take
/// more memory than it announced.
pub fn read_all(mut reader: impl Read, size: usize, out: &mut Vec<u8>) -> Result<()> {
    let unreadable = |e| damaged_cram(format!("a block cannot be read ({e})"));
    out.reserve_exact(size); // not more, because a block may have more than it announces
    reader.by_ref().take(size as u64).read_to_end(out).map_err(unreadable)?;
    match reader.read(&mut [0]).map_err(unreadable)? {
        0 => Ok(()),
        _ => Err(damaged_cram("a block does not have its stated size")),
    }
}
