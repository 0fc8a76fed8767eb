//! libdeflate, which compresses whole buffers only.

use libdeflater::{CompressionLvl, Compressor};

use super::compress::Compress;

pub(super) struct Libdeflate(Compressor);

impl Libdeflate {
    pub(super) fn new(level: u8) -> Self {
        Libdeflate(Compressor::new(CompressionLvl::new(i32::from(level)).unwrap_or_default()))
    }
}

impl Compress for Libdeflate {
    fn compress(&mut self, payload: &[u8], out: &mut [u8]) -> Option<usize> {
        self.0.deflate_compress(payload, out).ok()
    }
}
