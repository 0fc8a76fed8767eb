//! zlib-rs. A stream is reset for every payload and finished in one call, so nothing is copied.

use flate2::{Compression, FlushCompress, Status};

use super::Compress;

pub(super) struct Zlib {
    stream: flate2::Compress,
    level: u8,
}

impl Zlib {
    pub(super) fn new(level: u8) -> Self {
        Zlib { stream: stream(level), level }
    }
}

fn stream(level: u8) -> flate2::Compress {
    let zlib_header = false;
    flate2::Compress::new(Compression::new(u32::from(level)), zlib_header)
}

impl Compress for Zlib {
    fn compress(&mut self, payload: &[u8], out: &mut [u8]) -> Option<usize> {
        self.stream.reset();
        match self.stream.compress(payload, out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => Some(self.stream.total_out() as usize),
            _ => {
                // To reset a stream that has not ended is not enough: zlib-rs 0.6.8 keeps its open block and where
                // its pending bytes were, and goes wrong in the next one.
                self.stream = stream(self.level);
                None
            }
        }
    }
}
