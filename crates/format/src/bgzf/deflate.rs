//! Deflating one block at a time by libdeflate.

use libdeflater::{CompressionLvl, Compressor};

use super::MAX_BLOCK;

/// One thread's compressor.
pub struct Deflater {
    compressor: Compressor,
}

/// BGZF's gzip header up to BSIZE.
const HEADER: [u8; 16] = [0x1f, 0x8b, 0x08, 0x04, 0, 0, 0, 0, 0, 0xff, 0x06, 0, b'B', b'C', 0x02, 0];

impl Deflater {
    /// A compressor of `level` 0 (stored) to 12 (smallest); a level outside means the nearest.
    pub fn new(level: u8) -> Self {
        let level = CompressionLvl::new(i32::from(level.min(12))).unwrap_or_default();
        Deflater { compressor: Compressor::new(level) }
    }

    /// Appends `payload`, of at most [`super::BLOCK_PAYLOAD`] bytes, to `out` as one block.
    pub fn block(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        let room = HEADER.len() + 2 + self.compressor.deflate_compress_bound(payload.len()) + 8;
        out.resize(start + room, 0);
        let data = &mut out[start + 18..];
        // libdeflate fails only when the room is smaller than its own bound.
        let n = self.compressor.deflate_compress(payload, data).unwrap_or_default();
        debug_assert!(n > 0);
        out.truncate(start + 18 + n);
        out.extend_from_slice(&crc32fast::hash(payload).to_le_bytes());
        out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        let size = out.len() - start;
        debug_assert!(size <= MAX_BLOCK);
        out[start..start + 16].copy_from_slice(&HEADER);
        out[start + 16..start + 18].copy_from_slice(&((size - 1) as u16).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bgzf::BLOCK_PAYLOAD;

    #[test]
    fn bytes_that_cannot_be_compressed_still_fit_a_block() {
        let mut state = 1u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        })
        .take(BLOCK_PAYLOAD)
        .collect();
        for level in 0..=12 {
            let mut out = Vec::new();
            Deflater::new(level).block(&noise, &mut out);
            assert!(out.len() <= MAX_BLOCK, "level {level}: {}", out.len());
        }
    }
}
