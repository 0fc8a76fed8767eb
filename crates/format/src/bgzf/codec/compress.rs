//! The trait of all compressors, and its implementations for libdeflate and zlib-rs.

use flate2::{Compression, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor};

/// A compressor of whole payloads; each thread has its own. The output must depend only on the
/// payload and the level, not on earlier payloads, because threads process payloads in any order.
pub trait Compress: Send {
    /// Writes `payload` as a raw DEFLATE stream to the start of `out`. Returns its length in bytes,
    /// or `None` if it does not fit.
    fn compress(&mut self, payload: &[u8], out: &mut [u8]) -> Option<usize>;
}

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

/// zlib-rs. The stream is reset before each payload and finished in one call, so the library makes
/// no copies of its own.
pub(super) struct Zlib {
    stream: flate2::Compress,
    level: u8,
}

impl Zlib {
    pub(super) fn new(level: u8) -> Self {
        Zlib { stream: new_stream(level), level }
    }
}

fn new_stream(level: u8) -> flate2::Compress {
    let zlib_header = false;
    flate2::Compress::new(Compression::new(u32::from(level)), zlib_header)
}

impl Compress for Zlib {
    fn compress(&mut self, payload: &[u8], out: &mut [u8]) -> Option<usize> {
        self.stream.reset();
        match self.stream.compress(payload, out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Some(self.stream.total_out() as usize),
            _ => {
                // It is not enough to reset a stream that has not ended: zlib-rs 0.6.8 keeps its
                // open block and the position of its pending bytes, and corrupts the next payload.
                self.stream = new_stream(self.level);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(zlib: &mut Zlib, payload: &[u8]) -> Vec<u8> {
        let mut out = [0; 100];
        let n = zlib.compress(payload, &mut out).unwrap();
        out[..n].to_vec()
    }

    /// Guards against a former defect of zlib-rs and zlib-ng, which read bytes of the previous
    /// payload in the window.
    #[test]
    fn the_window_of_the_payload_before_is_not_looked_at() {
        for level in 1..=9 {
            let (payload, mut used) = (b"\0AAAA\0AAAAAAAA", Zlib::new(level));
            compressed(&mut used, &[b'B'; 15]);
            assert_eq!(
                compressed(&mut used, payload),
                compressed(&mut Zlib::new(level), payload),
                "{level}"
            );
        }
    }

    /// In zlib-rs 0.6.8, a stream that had not ended corrupted the next one, or panicked.
    #[test]
    fn a_payload_that_did_not_fit_leaves_nothing_behind() {
        let mut state = 1u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1664525).wrapping_add(1013904223);
            (state >> 24) as u8
        })
        .take(60_000)
        .collect();
        for level in 1..=9 {
            let mut used = Zlib::new(level);
            for room in [20_000, 50_000, 59_000] {
                assert_eq!(used.compress(&noise, &mut vec![0; room]), None);
                let (mut one, mut other) = (vec![0; 70_000], vec![0; 70_000]);
                let n = used.compress(&noise, &mut one);
                assert_eq!(n, Zlib::new(level).compress(&noise, &mut other), "{level}, {room}");
                assert!(one == other, "{level}, {room}");
            }
        }
    }
}
