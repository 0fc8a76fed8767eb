//! CRAM 2.0 to 3.1: reads stored as differences from a reference, by data series.
//!
//! Reading and writing each have a cheap serial part and a part that any thread can run:
//!
//! ```text
//! file ─► Reader::claim ─► Container ─► Decoder::open ─► BAM records
//!          serial                        any thread
//!
//! Batch ─► Encoder::partition ─► bytes, Encoded ─► Encoded::set_record_counters ─► file
//!           any thread                              serial
//! ```
//!
//! An [`Encoder`] builds containers from their records alone. Only the record counters depend on
//! earlier containers, so they are filled in when the offset of a container in the file is known.
//! References are never downloaded, and only a window of each is in memory.
//!
//! # Example
//!
//! An unmapped read is written and read back:
//!
//! ```
//! use std::io::Cursor;
//! use std::sync::Arc;
//!
//! use readmill_cram::{Cache, Decoder, EOF, Encoder, EncoderOptions, Reader, References, Setup, Version};
//! use readmill_format::{chain::OpenedChunk, sam::LineParser};
//! use readmill_record::{Batch, Detail, Header, Ledger, Limit, Stamp};
//!
//! # fn main() -> readmill_record::Result<()> {
//! let (header, ledger) = (Header::parse(b"@HD\tVN:1.6\n")?, Ledger::unlimited());
//! let (mut raw, mut batch) = (Vec::new(), Batch::default());
//! LineParser::new(&header).parse(b"r1\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII", &mut raw)?;
//! batch.push(&raw, Stamp::default())?;
//!
//! // Without references, all bases are stored.
//! let options = EncoderOptions::new(&header, Version::DEFAULT, None, 6, &ledger);
//! let mut containers = Vec::new();
//! let encoded = Encoder::new(&options).encode_partition(&batch, &mut containers)?;
//! encoded.set_record_counters(&mut containers, 0);
//! let mut file = readmill_cram::header_container(&header, Version::DEFAULT)?;
//! file.extend_from_slice(&containers);
//! file.extend_from_slice(&EOF);
//!
//! let mut reader = Reader::open(Box::new(Cursor::new(file)), false, Limit::of_bytes(1 << 28), &ledger)?;
//! let references = References::new(reader.header(), None, &Cache::default(), &ledger)?;
//! let setup = Setup::new(reader.version(), reader.header(), references, b"r.cram")?;
//! let mut opened = OpenedChunk::reuse(Batch::default());
//! let container = reader.claim(Vec::new())?.expect("the file has one container");
//! Decoder::new(Arc::new(setup)).open(&container, Detail::Whole, &mut opened);
//! assert_eq!(opened.into_batch()?.len(), 1);
//! # Ok(())
//! # }
//! ```
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

pub use bases::{Cache, References, contig_md5};
pub use codec::Profile;
pub use container::{ContainerHeader, EOF, has_valid_end, header_container};
pub use crai::{CraiBuilder, CraiEntry, CraiIndex};
pub use decode::{DECODER_BYTES, DecodeOptions, Decoder, Setup, Stop};
pub use encode::{Encoded, Encoder, EncoderOptions, max_encoder_bytes, partition_bytes};
pub use places::SliceIndexer;
pub use reader::{Container, Reader};

/// The first bytes of every CRAM file. The major and minor version follow.
pub const MAGIC: &[u8; 4] = b"CRAM";

/// The format version from the file definition. Versions 2.0, 2.1, 3.0 and 3.1 can be read; 3.0 and
/// 3.1 can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u8,
    pub minor: u8,
}

impl Version {
    pub const DEFAULT: Version = Version { major: 3, minor: 0 };

    /// Adds codecs for names, qualities and numbers: rANS Nx16, an adaptive arithmetic coder,
    /// fqzcomp and the name tokeniser.
    pub const V3_1: Version = Version { major: 3, minor: 1 };
}
