//! The compression methods of blocks: gzip, bzip2, LZMA, and the codecs of CRAM itself (CRAM codecs specification
//! 3.1).

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

use crate::num::damaged;
pub use block_codec::BlockCompressor;
pub use choice::{Chooser, Content, ContentKind};
pub use fqzcomp_encode::QualityRead;
use general::BZIP2;

/// The compression method of a block, by its number in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    /// Not at all.
    Raw = 0,
    /// gzip.
    Gzip = 1,
    /// bzip2.
    Bzip2 = 2,
    /// xz.
    Lzma = 3,
    /// The range variant of asymmetric numeral systems, four states, renormalised by bytes.
    Rans4x8 = 4,
    /// The same with 4 or 32 states, renormalised by 16 bits.
    RansNx16 = 5,
    /// An adaptive arithmetic coder.
    Arith = 6,
    /// Quality scores by context mixing.
    Fqzcomp = 7,
    /// Read names by tokens.
    Names = 8,
}

impl Method {
    /// The method of that number.
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
            other => return Err(damaged(format!("there is no block compression {other}"))),
        })
    }
}

/// How much work compressing CRAM 3.1 is, by the names that samtools has for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The codecs of 3.0, with faster ones of its own.
    Fast,
    /// Names by their tokens.
    #[default]
    Normal,
    /// Qualities by their contexts, and bzip2.
    Small,
    /// All codecs, in large slices.
    Archive,
}

impl Profile {
    /// All, and their names.
    pub const ALL: [(&str, Profile); 4] = [
        ("fast", Profile::Fast),
        ("normal", Profile::Normal),
        ("small", Profile::Small),
        ("archive", Profile::Archive),
    ];

    /// The bytes of BAM records that make a container: about the reads that a slice of samtools has at this profile.
    pub const fn partition(self) -> u64 {
        match self {
            Profile::Fast | Profile::Normal => 4 << 20,
            Profile::Small => 8 << 20,
            Profile::Archive => 16 << 20,
        }
    }

    /// The usual level of gzip.
    pub const fn level(self) -> u8 {
        match self {
            Profile::Fast => 1,
            Profile::Normal => 6,
            Profile::Small => 7,
            Profile::Archive => 8,
        }
    }
}

/// The most bytes that uncompressing `data` to `size` bytes takes besides these. Memory that is kept from block to
/// block belongs to the decoder.
pub fn scratch(method: Method, data: &[u8], size: usize) -> usize {
    match method {
        _ if size == 0 => 0,
        Method::Raw | Method::Gzip | Method::Rans4x8 => 0,
        Method::Bzip2 => BZIP2,
        // The dictionary is no larger than the output.
        Method::Lzma => size + (1 << 20),
        Method::RansNx16 => nx16::scratch(data, size),
        Method::Arith => arith::scratch(data, size),
        Method::Fqzcomp => fqzcomp::scratch(data, size),
        Method::Names => names::scratch(data, size),
    }
}

/// Uncompresses blocks, one for each thread.
#[derive(Default)]
pub struct Codecs {
    gzip: general::Gunzip,
    rans: rans::Rans4x8Decoder,
}

impl Codecs {
    /// Uncompresses `data` to `size` bytes in `out`, which is empty.
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
            Method::Bzip2 => general::bunzip2(data, size, out)?,
            Method::Lzma => general::unxz(data, size, out)?,
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
