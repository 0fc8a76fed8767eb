//! The trait of all compressors.

/// A compressor of whole payloads, one for each thread. The output depends on the payload alone, not on those
/// before.
pub trait Compress: Send {
    /// Writes `payload` as raw DEFLATE to the start of `out` and returns its length; `None` if it does not fit.
    fn compress(&mut self, payload: &[u8], out: &mut [u8]) -> Option<usize>;
}
