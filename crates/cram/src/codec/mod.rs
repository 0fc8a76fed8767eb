//! The compression methods of blocks: gzip, bzip2, LZMA, and the codecs of CRAM itself (CRAM codecs
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

/// The compression method of a block. The number is the one in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    /// Not compressed.
    Raw = 0,
    Gzip = 1,
    Bzip2 = 2,
    /// LZMA in the xz container.
    Lzma = 3,
    /// Four interleaved range variants of asymmetric numeral systems, renormalised by bytes.
    Rans4x8 = 4,
    /// The same with 4 or 32 states, renormalised by 16 bits.
    RansNx16 = 5,
    Arith = 6,
    /// Quality scores, by mixed contexts.
    Fqzcomp = 7,
    /// Read names, token by token.
    Names = 8,
}

impl Method {
    /// Returns the method of this number. An unknown number is an error.
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

/// How much time compression of CRAM 3.1 may take. The names are those of samtools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// rANS Nx16 and gzip.
    Fast,
    /// Also the name tokeniser.
    #[default]
    Normal,
    /// Also fqzcomp for qualities, and bzip2.
    Small,
    /// Also the arithmetic coder, and the largest containers.
    Archive,
}

impl Profile {
    /// All profiles with their names on the command line.
    pub const ALL: [(&str, Profile); 4] = [
        ("fast", Profile::Fast),
        ("normal", Profile::Normal),
        ("small", Profile::Small),
        ("archive", Profile::Archive),
    ];

    /// Returns how many bytes of BAM records make a container: about as many reads as a slice of
    /// samtools has with this profile.
    pub const fn partition_bytes(self) -> u64 {
        match self {
            Profile::Fast | Profile::Normal => 4 << 20,
            Profile::Small => 8 << 20,
            Profile::Archive => 16 << 20,
        }
    }

    /// Returns the level of gzip that is used unless another one is given.
    pub const fn gzip_level(self) -> u8 {
        match self {
            Profile::Fast => 1,
            Profile::Normal => 6,
            Profile::Small => 7,
            Profile::Archive => 8,
        }
    }
}

/// Returns the maximum bytes that decompressing `data` to `size` bytes takes in addition to its
/// output. Memory that a decoder keeps from block to block is not included, because it is charged
/// once.
pub fn scratch_bytes(method: Method, data: &[u8], size: usize) -> usize {
    match method {
        _ if size == 0 => 0,
        Method::Raw | Method::Gzip | Method::Rans4x8 => 0,
        Method::Bzip2 => BZIP2_BYTES,
        // The dictionary takes no more than the output.
        Method::Lzma => size + (1 << 20),
        Method::RansNx16 => nx16::scratch_bytes(data, size),
        Method::Arith => arith::scratch_bytes(data, size),
        Method::Fqzcomp => fqzcomp::scratch_bytes(data, size),
        Method::Names => names::scratch_bytes(data, size),
    }
}

/// Decompresses blocks. Each thread has one, which keeps tables for the next block.
#[derive(Default)]
pub struct Codecs {
    gzip: general::Gunzip,
    rans: rans::Rans4x8Decoder,
}

impl Codecs {
    /// Decompresses `data` to `size` bytes in `out`, which must be empty.
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
