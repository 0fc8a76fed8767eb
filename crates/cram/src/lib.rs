//! CRAM: reads as differences from the reference, series by series (CRAM specification 3.1).
//!
//! A container is claimed serially ([`Reader`]) and decoded on any thread ([`Decoder`]) to raw BAM records. An
//! [`Encoder`] makes containers from records alone; their record counters are set when the place of the containers
//! is known ([`Encoded::set_record_counters`]). References are never downloaded, and only a window of one is in
//! memory.
#![cfg_attr(test, allow(clippy::unwrap_used))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod bases;
mod block;
mod codec;
mod container;
mod crai;
mod decode;
mod encode;
mod encoding;
mod num;
mod places;
mod reader;
mod scheme;
#[cfg(test)]
mod tests;

pub use bases::{Cache, References, md5};
pub use codec::Profile;
pub use container::{ContainerHeader, EOF, ends_well, header_container};
pub use crai::{CraiBuilder, CraiEntry, CraiIndex};
pub use decode::{DECODER_BYTES, DecodeOptions, Decoder, Setup, Stop};
pub use encode::{Encoded, Encoder, EncoderOptions, encoder_bytes, partition_bytes};
pub use places::SliceScanner;
pub use reader::{Container, Reader};

/// The first bytes of every CRAM file.
pub const MAGIC: &[u8; 4] = b"CRAM";

/// Version of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 2 or 3.
    pub major: u8,
    /// 0 or 1.
    pub minor: u8,
}

impl Version {
    /// The version written by default.
    pub const DEFAULT: Version = Version { major: 3, minor: 0 };

    /// The version with codecs of its own.
    pub const V3_1: Version = Version { major: 3, minor: 1 };
}
