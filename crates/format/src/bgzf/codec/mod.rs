//! The compression libraries for blocks, behind one small trait.
//!
//! readmill uses libdeflate's levels, 0 to 12. They map to the levels of each library:
//! | level | libdeflate | zlib | igzip |
//! |---|---|---|---|
//! | 0 | stored | stored | stored |
//! | 1 | 1 | 1 | 1 |
//! | 2 to 6 | the same | the same | 2 |
//! | 7 to 9 | the same | the same | 3 |
//! | 10 to 12 | the same | 9 | 3 |
//!
//! Level 0 ("stored") gives the same bytes with every codec. igzip's own level 0 is not used: it is
//! a sixth faster than its level 1, but makes files a quarter larger. On much data, igzip's level 3
//! is both slower and larger than its level 2, so it is used only for levels that ask for small
//! files.

mod compress;
#[cfg(feature = "igzip")]
mod igzip;

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use readmill_record::Error;

pub use compress::Compress;
use compress::{Libdeflate, Zlib};

/// A library that compresses blocks (the option `--codec`). All libraries write valid BGZF, but
/// differ in speed and size.
///
/// ```
/// use readmill_format::bgzf::Codec;
///
/// let codec: Codec = "zlib".parse()?;
/// assert_eq!(codec, Codec::ZlibRs);
/// assert_eq!(codec.own_level(12), 9, "zlib has no higher level");
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// libdeflate: the smallest files for the time at most levels.
    #[default]
    Libdeflate,
    /// zlib-rs, a port of zlib-ng to Rust. It has the levels of zlib, but its output bytes differ
    /// from zlib's.
    ZlibRs,
    /// igzip of ISA-L: twice as fast as libdeflate at level 1. Its output may differ between
    /// processor types and versions of ISA-L.
    #[cfg(feature = "igzip")]
    Igzip,
}

const IGZIP: &str = "igzip";

impl Codec {
    pub const fn available() -> &'static [Codec] {
        &[
            Codec::Libdeflate,
            Codec::ZlibRs,
            #[cfg(feature = "igzip")]
            Codec::Igzip,
        ]
    }

    pub const fn name(self) -> &'static str {
        match self {
            Codec::Libdeflate => "libdeflate",
            Codec::ZlibRs => "zlib",
            #[cfg(feature = "igzip")]
            Codec::Igzip => IGZIP,
        }
    }

    /// Returns the library's own levels, except those that only store.
    pub const fn own_levels(self) -> RangeInclusive<u8> {
        match self {
            Codec::Libdeflate => 1..=12,
            Codec::ZlibRs => 1..=9,
            #[cfg(feature = "igzip")]
            Codec::Igzip => 0..=3,
        }
    }

    /// Maps `level` (1 to 12) to the library's own level, as the table of this module shows.
    pub fn own_level(self, level: u8) -> u8 {
        match self {
            Codec::Libdeflate | Codec::ZlibRs => {
                level.clamp(*self.own_levels().start(), *self.own_levels().end())
            }
            #[cfg(feature = "igzip")]
            Codec::Igzip => match level {
                0..=1 => 1,
                2..=6 => 2,
                _ => 3,
            },
        }
    }

    pub(super) fn new_compressor(self, own_level: u8) -> Box<dyn Compress> {
        match self {
            Codec::Libdeflate => Box::new(Libdeflate::new(own_level)),
            Codec::ZlibRs => Box::new(Zlib::new(own_level)),
            #[cfg(feature = "igzip")]
            Codec::Igzip => Box::new(igzip::Igzip::new(own_level)),
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Codec {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if let Some(codec) = Codec::available().iter().find(|codec| codec.name() == text) {
            return Ok(*codec);
        }
        if text == IGZIP {
            return Err(Error::usage("this build has no codec igzip").hint(
                "use libdeflate, or install ISA-L (libisal-dev) and build with --features igzip",
            ));
        }
        let names: Vec<&str> = Codec::available().iter().map(|codec| codec.name()).collect();
        Err(Error::usage(format!("unknown codec {text:?}; the codecs are {}", names.join(", "))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codecs_go_by_their_names() {
        for &codec in Codec::available() {
            assert_eq!(codec.to_string().parse::<Codec>().unwrap(), codec);
        }
        let error = "gzip".parse::<Codec>().unwrap_err().to_string();
        assert!(error.contains("libdeflate, zlib"), "{error}");
    }

    #[cfg(not(feature = "igzip"))]
    #[test]
    fn a_codec_that_is_not_built_in_says_how_to_get_it() {
        let error = "igzip".parse::<Codec>().unwrap_err();
        assert_eq!(error.kind, readmill_record::ErrorKind::Usage);
        assert!(error.to_string().contains("--features igzip"), "{error}");
    }

    #[test]
    fn levels_become_those_of_the_library() {
        let own = |codec: Codec| -> Vec<u8> { (1..=12).map(|level| codec.own_level(level)).collect() };
        assert_eq!(own(Codec::Libdeflate), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(own(Codec::ZlibRs), [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9]);
        #[cfg(feature = "igzip")]
        assert_eq!(own(Codec::Igzip), [1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3]);
    }
}
