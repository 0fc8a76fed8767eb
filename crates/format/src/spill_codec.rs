//! Codecs of the spill. Data is written once and read once, so speed matters more than size.
//!
//! A frame that a codec does not make smaller is stored uncompressed. Its length shows this, so no
//! flag is needed.

use std::fmt;
use std::str::FromStr;

use readmill_record::{Error, Result};
use serde::{Deserialize, Serialize};
use zstd::bulk::Compressor;

/// A codec for spilled data (the option `--spill-codec`).
///
/// ```
/// use readmill_format::spill_codec::{FrameCompressor, SpillCodec};
///
/// let frame = b"read:1:1101 99 chr1 1000 60 ".repeat(100);
/// let mut packed = Vec::new();
/// let mut compressor = FrameCompressor::new("zstd".parse()?);
/// compressor.compress(&frame, &mut packed);
/// assert!(packed.len() < frame.len());
///
/// let mut back = vec![0; frame.len()];
/// SpillCodec::Zstd.decompress(&packed, &mut back)?;
/// assert_eq!(back, frame);
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpillCodec {
    /// LZ4: the fastest, as long as the disk keeps up.
    #[default]
    Lz4,
    /// Zstandard at level 1: two thirds of the size of LZ4, in one and a half times the time.
    Zstd,
    /// No compression: twice the size of LZ4, and almost no time.
    None,
}

/// Maximum size in bytes of the buffer that a compressor keeps between frames, enough for frames
/// without long reads.
const MAX_KEPT_BYTES: usize = 3 << 19;

/// Higher levels save a few percent of the size each; lower ones save little time.
const ZSTD_LEVEL: i32 = 1;

impl SpillCodec {
    pub const ALL: [SpillCodec; 3] = [SpillCodec::Lz4, SpillCodec::Zstd, SpillCodec::None];

    pub const fn name(self) -> &'static str {
        match self {
            SpillCodec::Lz4 => "lz4",
            SpillCodec::Zstd => "zstd",
            SpillCodec::None => "none",
        }
    }

    /// Decompresses `input` into `into`, which must have the length of the original frame.
    ///
    /// Zstandard allocates 94 KiB per call; keeping the memory would save a twentieth of the time.
    ///
    /// # Errors
    /// Fails if the data is damaged.
    pub fn decompress(self, input: &[u8], into: &mut [u8]) -> Result<()> {
        if input.len() == into.len() {
            into.copy_from_slice(input);
            return Ok(());
        }
        let n = match self {
            SpillCodec::Lz4 => lz4_flex::block::decompress_into(input, into).ok(),
            SpillCodec::Zstd => zstd::bulk::decompress_to_buffer(input, into).ok(),
            SpillCodec::None => None,
        };
        if n == Some(into.len()) { Ok(()) } else { Err(damaged_spill_error("data")) }
    }
}

pub fn damaged_spill_error(what: &str) -> Error {
    let error = std::io::Error::other(format!("the spilled {what} changed on disk"));
    Error::io("reading spilled data failed", &error).hint("check the disk of the temporary directory")
}

impl fmt::Display for SpillCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SpillCodec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let named = SpillCodec::ALL.into_iter().find(|codec| codec.name() == text);
        named.ok_or_else(|| {
            Error::usage(format!("unknown spill codec {text:?}; the codecs are lz4, zstd, none"))
        })
    }
}

/// A compressor of frames; each thread has its own. The compressed bytes of a frame depend only on
/// its contents.
pub struct FrameCompressor {
    codec: SpillCodec,
    zstd: Option<Compressor<'static>>,
    packed: Vec<u8>,
}

impl FrameCompressor {
    pub fn new(codec: SpillCodec) -> Self {
        let zstd = match codec {
            SpillCodec::Zstd => Compressor::new(ZSTD_LEVEL).ok(),
            SpillCodec::Lz4 | SpillCodec::None => None,
        };
        FrameCompressor { codec, zstd, packed: Vec::new() }
    }

    pub fn codec(&self) -> SpillCodec {
        self.codec
    }

    /// Compresses `frame` and appends it to `out`. Never appends more bytes than the frame has.
    pub fn compress(&mut self, frame: &[u8], out: &mut Vec<u8>) {
        let room = match self.codec {
            SpillCodec::Lz4 => lz4_flex::block::get_maximum_output_size(frame.len()),
            SpillCodec::Zstd => zstd::zstd_safe::compress_bound(frame.len()),
            SpillCodec::None => 0,
        };
        if self.packed.len() < room {
            self.packed.resize(room, 0);
        }
        let n = match (self.codec, &mut self.zstd) {
            (SpillCodec::Lz4, _) => lz4_flex::block::compress_into(frame, &mut self.packed).ok(),
            (_, Some(zstd)) => zstd.compress_to_buffer(frame, &mut self.packed[..]).ok(),
            (_, None) => None,
        };
        let packed = n.filter(|n| *n < frame.len()).map(|n| &self.packed[..n]);
        let bytes = packed.unwrap_or(frame);
        if bytes.len() > MAX_KEPT_BYTES {
            out.reserve_exact(bytes.len()); // doubling would take more memory
        }
        out.extend_from_slice(bytes);
        self.packed.truncate(MAX_KEPT_BYTES);
        self.packed.shrink_to(MAX_KEPT_BYTES);
    }
}

#[cfg(test)]
mod tests {
    use readmill_simulate::Rng;

    use super::*;

    fn frames() -> Vec<Vec<u8>> {
        let mut random = Rng::new(1);
        let noise = std::iter::repeat_with(|| random.below(256) as u8);
        let text = b"read:1:1101 99 chr1 1000 60 ".repeat(3000);
        vec![Vec::new(), vec![1], text, noise.take(70_000).collect(), vec![0; 200_000]]
    }

    #[test]
    fn frames_come_back_and_never_grow() {
        for codec in SpillCodec::ALL {
            let (mut compressor, mut out) = (FrameCompressor::new(codec), vec![9; 5]);
            let mut ends = Vec::new();
            for frame in frames() {
                let before = out.len();
                compressor.compress(&frame, &mut out);
                assert!(out.len() - before <= frame.len(), "{codec}");
                ends.push(out.len());
            }
            let mut start = 5;
            for (frame, end) in frames().iter().zip(ends) {
                let mut back = vec![7; frame.len()];
                codec.decompress(&out[start..end], &mut back).unwrap();
                assert!(back == *frame, "{codec}");
                start = end;
            }
        }
    }

    #[test]
    fn a_frame_depends_on_its_bytes_alone() {
        for codec in SpillCodec::ALL {
            let mut used = FrameCompressor::new(codec);
            for frame in frames().iter().chain(frames().iter().rev()) {
                let (mut one, mut other) = (Vec::new(), Vec::new());
                used.compress(frame, &mut one);
                FrameCompressor::new(codec).compress(frame, &mut other);
                assert!(one == other, "{codec}");
            }
        }
    }

    #[test]
    fn damage_is_an_error_and_never_a_panic() {
        for codec in SpillCodec::ALL {
            let (text, mut out) = (&frames()[2], Vec::new());
            FrameCompressor::new(codec).compress(text, &mut out);
            let mut back = vec![0; text.len()];
            assert!(codec.decompress(&out[..out.len() - 1], &mut back).is_err(), "{codec}");
            assert!(codec.decompress(&[], &mut back).is_err(), "{codec}");
            assert!(codec.decompress(&out, &mut back[1..]).is_err(), "{codec}");
            for at in 0..out.len() {
                let mut bad = out.clone();
                bad[at] ^= 0x55;
                let _ = codec.decompress(&bad, &mut back); // right length or an error
            }
        }
    }

    #[test]
    fn codecs_go_by_their_names() {
        for codec in SpillCodec::ALL {
            assert_eq!(codec.to_string().parse::<SpillCodec>().unwrap(), codec);
        }
        assert!("gzip".parse::<SpillCodec>().unwrap_err().to_string().contains("lz4, zstd, none"));
    }
}
