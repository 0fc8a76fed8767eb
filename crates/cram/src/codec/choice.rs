//! Chooses the codec for a CRAM 3.1 block from the kind of its data, by trying codecs on its start.
//!
//! The choice depends only on the block, so a container does not depend on earlier ones.

use std::io::Write;

use libdeflater::{CompressionLvl, Compressor};

use super::arith_encode::ArithEncoder;
use super::fqzcomp_encode::{self, FqzcompEncoder, QualityRead};
use super::names_encode::{NameEncoder, StreamCodec};
use super::nx16_encode::Nx16Encoder;
use super::{Method, Profile};

#[derive(Clone, Copy, Debug)]
pub struct BlockContent<'a> {
    pub kind: ContentKind,
    /// Size of a value in bytes if all values have the same size; otherwise 1.
    pub width: usize,
    pub reads: &'a [QualityRead],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentKind {
    Names,
    Qualities,
    Statistical,
    Any,
}

const MIN_COMPRESSED_BYTES: usize = 24;

const SAMPLE_BYTES: usize = 1 << 16;

/// A slower codec is used only if it saves at least 1/100 of the size.
const MIN_SAVING_DIVISOR: usize = 100;

/// Minimum partition bytes per name token. Names with more tokens use other codecs, so that tokens
/// fit in the planned memory.
const MIN_BYTES_PER_TOKEN: usize = 10;

const BZIP2_BYTES: usize = 8 << 20;

pub struct Chooser {
    profile: Profile,
    gzip: Compressor,
    rans: Nx16Encoder,
    arith: ArithEncoder,
    names: NameEncoder,
    qualities: FqzcompEncoder,
    other: Vec<u8>,
}

impl Chooser {
    pub fn new(profile: Profile, level: u8) -> Self {
        let level = CompressionLvl::new(i32::from(level.max(1))).unwrap_or_default();
        Chooser {
            profile,
            gzip: Compressor::new(level),
            rans: Nx16Encoder::new(profile == Profile::Fast),
            arith: ArithEncoder::default(),
            names: NameEncoder::default(),
            qualities: FqzcompEncoder::default(),
            other: Vec::new(),
        }
    }

    /// Returns the maximum memory for compressing blocks of `batch` bytes in total, excluding the
    /// blocks and their compressed form: name tokens and their positions, qualities in sequencing
    /// direction, and codec tables.
    pub const fn max_memory_bytes(profile: Profile, batch: usize) -> usize {
        match profile {
            Profile::Fast => batch,
            Profile::Normal => 3 * batch,
            Profile::Small | Profile::Archive => {
                4 * batch + BZIP2_BYTES + fqzcomp_encode::MAX_MEMORY_BYTES
            }
        }
    }

    /// Replaces the content of `out` with compressed `raw`, or with `raw` itself if no codec makes
    /// it smaller. Returns the codec.
    pub fn compress(&mut self, raw: &[u8], content: BlockContent<'_>, out: &mut Vec<u8>) -> Method {
        out.clear();
        let method = if raw.len() < MIN_COMPRESSED_BYTES {
            Method::Raw
        } else {
            self.choose_codec(raw, content, out)
        };
        if method == Method::Raw || out.len() >= raw.len() {
            out.clear();
            out.extend_from_slice(raw);
            return Method::Raw;
        }
        method
    }

    fn choose_codec(&mut self, raw: &[u8], content: BlockContent<'_>, out: &mut Vec<u8>) -> Method {
        let slow = matches!(self.profile, Profile::Small | Profile::Archive);
        match content.kind {
            ContentKind::Names if self.profile != Profile::Fast => {
                let codec = match self.profile {
                    Profile::Archive => StreamCodec::Arith(&mut self.arith),
                    _ => StreamCodec::Rans(&mut self.rans),
                };
                let max_tokens = self.profile.partition_bytes() as usize / MIN_BYTES_PER_TOKEN;
                if self.names.encode(raw, max_tokens, codec, out) {
                    return Method::Names;
                }
                out.clear();
            }
            ContentKind::Qualities if slow => {
                if self.qualities.encode(raw, content.reads, out) {
                    return Method::Fqzcomp;
                }
                out.clear();
            }
            _ => {}
        }
        let methods: &[Method] = match (content.kind, self.profile) {
            (_, Profile::Archive) => &[Method::RansNx16, Method::Gzip, Method::Arith, Method::Bzip2],
            (_, Profile::Small) => &[Method::RansNx16, Method::Gzip, Method::Bzip2],
            (ContentKind::Qualities | ContentKind::Statistical, _) => &[Method::RansNx16],
            _ => &[Method::RansNx16, Method::Gzip],
        };
        let &[first, ref others @ ..] = methods else { return Method::Raw };
        let sample = &raw[..raw.len().min(SAMPLE_BYTES)];
        if others.is_empty() {
            self.compress_by(first, raw, content.width, out);
            return first;
        }
        let (mut best, mut other) = (first, std::mem::take(&mut self.other));
        self.compress_by(first, sample, content.width, out);
        for &method in others {
            other.clear();
            self.compress_by(method, sample, content.width, &mut other);
            let pays = if method == Method::Gzip { 0 } else { out.len() / MIN_SAVING_DIVISOR };
            if other.len() + pays < out.len() {
                best = method;
                std::mem::swap(out, &mut other);
            }
        }
        self.other = other;
        if sample.len() < raw.len() {
            out.clear();
            self.compress_by(best, raw, content.width, out);
        }
        best
    }

    fn compress_by(&mut self, method: Method, raw: &[u8], width: usize, out: &mut Vec<u8>) {
        match method {
            Method::RansNx16 => self.rans.encode(raw, width, out),
            Method::Arith => self.arith.encode_smallest(raw, width, out),
            Method::Gzip => {
                out.resize(self.gzip.gzip_compress_bound(raw.len()), 0);
                let n = self.gzip.gzip_compress(raw, out).unwrap_or(0);
                out.truncate(n);
                if n == 0 {
                    out.resize(raw.len(), 0); // gzip failed: larger than any other result
                }
            }
            Method::Bzip2 => {
                let mut bzip2 = bzip2::write::BzEncoder::new(out, bzip2::Compression::best());
                // Writing to memory does not fail.
                let _ = bzip2.write_all(raw).and_then(|()| bzip2.finish().map(drop));
            }
            _ => out.extend_from_slice(raw),
        }
    }
}
