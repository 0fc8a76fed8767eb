//! The compression methods of blocks: gzip, bzip2, LZMA, and CRAM's own codecs (CRAM codecs
//! specification 3.1).
//!
//! | method | decoder | encoder |
//! |---|---|---|
//! | gzip, bzip2, LZMA | `general` | `block_codec`, `choice` |
//! | rANS 4x8 | `rans` | `block_codec` |
//! | rANS Nx16 | `nx16`, `nx16_avx2` | `nx16_encode` |
//! | adaptive arithmetic coder | `arith` | `arith_encode` |
//! | fqzcomp | `fqzcomp` | `fqzcomp_encode` |
//! | name tokeniser | `names` | `names_encode` |
//!
//! [`Codecs`] calls the decoders. [`BlockCompressor`] chooses the encoder for a block.

mod alphabet;
mod arith;
mod arith_encode;
mod block_codec;
mod choice;
mod fqzcomp;
mod fqzcomp_encode;
mod general;
mod names;
mod names_encode;
mod nx16;
#[cfg(target_arch = "x86_64")]
mod nx16_avx2;
mod nx16_encode;
mod pack;
pub(super) mod rans;
mod rans_symbol;
#[cfg(test)]
mod tests;

use readmill_record::Result;

use crate::num::damaged_cram;
pub use block_codec::BlockCompressor;
pub use choice::{BlockContent, Chooser, ContentKind};
pub use fqzcomp_encode::QualityRead;
use general::BZIP2_BYTES;

/// The compression method of a block. The discriminant is the number stored in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    Raw = 0,
    Gzip = 1,
    Bzip2 = 2,
    /// LZMA in the xz container.
    Lzma = 3,
    /// Four interleaved rANS states, renormalised by bytes.
    Rans4x8 = 4,
    /// 4 or 32 interleaved rANS states, renormalised by 16-bit words.
    RansNx16 = 5,
    Arith = 6,
    /// Quality scores with mixed contexts.
    Fqzcomp = 7,
    /// Tokenised read names.
    Names = 8,
}

impl Method {
    /// Returns the method with this number, or an error if the number is unknown.
    pub fn from_byte(byte: u8) -> Result<Self> {
        Ok(match byte {
            0 => Method::Raw,
            1 => Method::Gzip,
            2 => Method::Bzip2,
            3 => Method::Lzma,
            4 => Method::Rans4x8,
            5 => Method::RansNx16,
            6 => Method::Arith,
            7 => Method::Fqzcomp,
            8 => Method::Names,
            other => return Err(damaged_cram(format!("the block compression {other} is unknown"))),
        })
    }
}

/// How much time CRAM 3.1 compression may take. The names are those of samtools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// rANS Nx16 and gzip.
    Fast,
    /// Adds the name tokeniser.
    #[default]
    Normal,
    /// Adds fqzcomp for qualities, and bzip2.
    Small,
    /// Adds the arithmetic coder, and uses the largest containers.
    Archive,
}

impl Profile {
    /// All profiles with their command-line names.
    pub const ALL: [(&str, Profile); 4] = [
        ("fast", Profile::Fast),
        ("normal", Profile::Normal),
        ("small", Profile::Small),
        ("archive", Profile::Archive),
    ];

    /// Returns the size of a container in bytes of BAM records. It holds about as many reads as a
    /// samtools slice with this profile.
    pub const fn partition_bytes(self) -> u64 {
        match self {
            Profile::Fast | Profile::Normal => 4 << 20,
            Profile::Small => 8 << 20,
            Profile::Archive => 16 << 20,
        }
    }

    /// Returns the default gzip level.
    pub const fn gzip_level(self) -> u8 {
        match self {
            Profile::Fast => 1,
            Profile::Normal => 6,
            Profile::Small => 7,
            Profile::Archive => 8,
        }
    }
}

/// Returns the maximum memory in bytes for decompressing `data` to `size` bytes, excluding the
/// output. Memory that a decoder keeps between blocks is charged once and not included.
pub fn scratch_bytes(method: Method, data: &[u8], size: usize) -> usize {
    match method {
        _ if size == 0 => 0,
        Method::Raw | Method::Gzip | Method::Rans4x8 => 0,
        Method::Bzip2 => BZIP2_BYTES,
        // The dictionary is at most as large as the output.
        Method::Lzma => size + (1 << 20),
        Method::RansNx16 => nx16::scratch_bytes(data, size),
        Method::Arith => arith::scratch_bytes(data, size),
        Method::Fqzcomp => fqzcomp::scratch_bytes(data, size),
        Method::Names => names::scratch_bytes(data, size),
    }
}

/// Decompresses blocks. Each thread has one, which keeps its tables between blocks.
#[derive(Default)]
pub struct Codecs {
    gzip: general::Gunzip,
    rans: rans::Rans4x8Decoder,
}

impl Codecs {
    /// Decompresses `data` into `out`, which must be empty, as `size` bytes.
    pub fn inflate(
        &mut self,
        method: Method,
        data: &[u8],
        size: usize,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        match method {
            Method::Raw => out.extend_from_slice(data),
            Method::Gzip => self.gzip.inflate(data, size, out)?,
            Method::Bzip2 => general::decompress_bzip2(data, size, out)?,
            Method::Lzma => general::decompress_xz(data, size, out)?,
            _ if size == 0 => {}
            Method::Rans4x8 => self.rans.decode(data, size, out)?,
            Method::RansNx16 => nx16::decode(data, size, out)?,
            Method::Arith => arith::decode(data, size, out)?,
            Method::Fqzcomp => fqzcomp::decode(data, size, out)?,
            Method::Names => names::decode(data, size, out)?,
        }
        Ok(())
    }
}
