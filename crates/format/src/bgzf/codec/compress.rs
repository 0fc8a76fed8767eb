//! What every codec does.

/// One thread's compressor of whole payloads. What comes out depends on the payload alone, not on those before.
pub trait Compress: Send {
    /// Writes `payload` as raw DEFLATE to the start of `out` and gives its length; nothing where it does not
    /// fit.
    fn compress(&mut self, payload: &[u8], out: &mut [u8]) -> Option<usize>;
}
