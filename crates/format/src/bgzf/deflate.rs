//! Compresses payloads to BGZF blocks, one at a time, with the chosen codec.

use super::MAX_BLOCK;
use super::codec::{Codec, Compress};

/// A writer of BGZF blocks; each thread has its own.
///
/// The bytes of a block depend only on its payload, the codec and the level, never on earlier
/// payloads. So the file is the same for any number of threads.
///
/// ```
/// use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK, MAX_BLOCK};
///
/// let mut file = Vec::new();
/// Deflater::new(Codec::Libdeflate, 6).deflate_block(&[b'A'; 5000], &mut file);
/// assert!(file.len() < 100, "a payload of one letter compresses well");
/// assert_eq!(file[12..14], *b"BC", "the gzip extra field of BGZF");
///
/// file.extend_from_slice(&EOF_BLOCK); // completes the file
/// assert!(file.len() < MAX_BLOCK);
/// ```
pub struct Deflater {
    /// `None` at level 0, which stores payloads without compression.
    compressor: Option<Box<dyn Compress>>,
    block: Box<[u8]>,
}

/// The gzip header of a block up to BSIZE (SAM specification, section 4.1).
const HEADER: [u8; 16] = [0x1f, 0x8b, 0x08, 0x04, 0, 0, 0, 0, 0, 0xff, 0x06, 0, b'B', b'C', 0x02, 0];

/// Size of a block's header, which precedes the DEFLATE data, and of its footer (CRC-32 and ISIZE),
/// in bytes.
const HEADER_BYTES: usize = HEADER.len() + 2;
const FOOTER_BYTES: usize = 8;

/// Bytes that DEFLATE adds to a payload that is stored in one block.
const STORING_BYTES: usize = 5;

/// Bytes beyond the size of the payload that a compressor may write before it must report that the
/// output does not fit.
const MAX_SLACK_BYTES: usize = 64;

impl Deflater {
    /// Returns a deflater at `level` 0 (stored) to 12 (smallest). [`super::codec`] lists the
    /// corresponding levels of each codec. A level above 12 counts as 12.
    pub fn new(codec: Codec, level: u8) -> Self {
        match level.min(12) {
            0 => Self::with_compressor(None),
            level => Self::at_own_level(codec, codec.own_level(level)),
        }
    }

    /// Returns a deflater at one of the codec's own levels ([`Codec::own_levels`]), for the codec
    /// benchmark.
    pub fn at_own_level(codec: Codec, own_level: u8) -> Self {
        Self::with_compressor(Some(codec.new_compressor(own_level)))
    }

    fn with_compressor(compressor: Option<Box<dyn Compress>>) -> Self {
        Deflater { compressor, block: vec![0; MAX_BLOCK].into() }
    }

    /// Appends `payload` to `out` as one block. The payload may have up to [`super::BLOCK_PAYLOAD`]
    /// bytes. A larger one (up to 64 KiB) is allowed only if it is certain to compress, because it
    /// could not be stored. A payload that does not become smaller is stored.
    pub fn deflate_block(&mut self, payload: &[u8], out: &mut Vec<u8>) {
        let Some(compressor) = &mut self.compressor else { return store_block(payload, out) };
        let (before, data) = self.block.split_at_mut(HEADER_BYTES);
        let max_bytes = (payload.len() + MAX_SLACK_BYTES).min(data.len() - FOOTER_BYTES);
        let room = &mut data[..max_bytes];
        let n = match compressor.compress(payload, room) {
            Some(n) if n <= payload.len() + STORING_BYTES => n,
            _ => return store_block(payload, out),
        };
        let size = HEADER_BYTES + n + FOOTER_BYTES;
        before.copy_from_slice(&block_header(size));
        data[n..n + FOOTER_BYTES].copy_from_slice(&block_footer(payload));
        out.extend_from_slice(&self.block[..size]);
    }
}

fn block_header(size: usize) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..HEADER.len()].copy_from_slice(&HEADER);
    header[HEADER.len()..].copy_from_slice(&((size - 1) as u16).to_le_bytes());
    header
}

fn block_footer(payload: &[u8]) -> [u8; FOOTER_BYTES] {
    let mut footer = [0; FOOTER_BYTES];
    footer[..4].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    footer[4..].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    footer
}

fn store_block(payload: &[u8], out: &mut Vec<u8>) {
    let length = payload.len() as u16;
    out.reserve(HEADER_BYTES + STORING_BYTES + payload.len() + FOOTER_BYTES);
    out.extend_from_slice(&block_header(HEADER_BYTES + STORING_BYTES + payload.len() + FOOTER_BYTES));
    out.push(1); // the last block, stored
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&(!length).to_le_bytes());
    out.extend_from_slice(payload);
    out.extend_from_slice(&block_footer(payload));
}

#[cfg(test)]
mod tests {
    use readmill_simulate::Rng;

    use super::*;
    use crate::bgzf::{BLOCK_PAYLOAD, BgzfBlock, Chunk, Inflater};

    /// Returns pseudo-random bytes with `alphabet` distinct values.
    fn noise(seed: u64, alphabet: u64, length: usize) -> Vec<u8> {
        let mut random = Rng::new(seed);
        (0..length).map(|_| random.below64(alphabet) as u8).collect()
    }

    /// Payloads that are easy and hard to compress, short and long.
    fn payloads() -> Vec<Vec<u8>> {
        let text: Vec<u8> =
            b"read:1:1101\t99\tchr1\t1000\t60\t".iter().cycle().take(40_000).copied().collect();
        let mut mixed = noise(3, 4, 30_000);
        mixed.extend_from_slice(&noise(4, 256, 20_000));
        mixed.extend_from_slice(&text[..BLOCK_PAYLOAD - 50_000]);
        vec![
            Vec::new(),
            vec![7],
            b"ACGT".to_vec(),
            vec![0; BLOCK_PAYLOAD],
            noise(1, 256, BLOCK_PAYLOAD),
            noise(2, 256, 300),
            noise(5, 40, BLOCK_PAYLOAD),
            text,
            mixed,
        ]
    }

    /// Runs `check` for every codec and level, including the codecs' own levels.
    fn with_all(check: impl Fn(&str, &dyn Fn() -> Deflater)) {
        for &codec in Codec::available() {
            for level in 0..=13 {
                check(&format!("{codec} {level}"), &|| Deflater::new(codec, level));
            }
            for level in codec.own_levels() {
                check(&format!("{codec}'s own {level}"), &|| Deflater::at_own_level(codec, level));
            }
        }
    }

    fn block(deflater: &mut Deflater, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        deflater.deflate_block(payload, &mut out);
        out
    }

    fn inflated(bytes: Vec<u8>, length: usize) -> Vec<u8> {
        let block = BgzfBlock {
            start: 0,
            header: HEADER_BYTES as u16,
            size: bytes.len() as u32,
            inflated: length as u32,
        };
        let chunk = Chunk { compressed: bytes, blocks: vec![block], offset: 0, inflated: length };
        let mut out = Vec::new();
        Inflater::default().append_chunk(&chunk, &mut out).unwrap();
        out
    }

    #[test]
    fn what_is_deflated_comes_back_and_fits_a_block() {
        with_all(|name, make| {
            let mut deflater = make();
            for payload in payloads() {
                let bytes = block(&mut deflater, &payload);
                assert!(
                    bytes.len() <= payload.len() + HEADER_BYTES + STORING_BYTES + FOOTER_BYTES,
                    "{name}: {}",
                    bytes.len()
                );
                assert!(bytes.len() <= MAX_BLOCK, "{name}: {}", bytes.len());
                assert!(inflated(bytes, payload.len()) == payload, "{name}");
            }
        });
    }

    #[test]
    fn a_block_depends_on_its_payload_alone() {
        with_all(|name, make| {
            let mut used = make();
            for payload in payloads().iter().chain(payloads().iter().rev()) {
                assert!(block(&mut used, payload) == block(&mut make(), payload), "{name}");
            }
        });
    }

    #[test]
    fn level_0_stores_the_same_bytes_whatever_the_codec() {
        let all: Vec<_> = Codec::available()
            .iter()
            .map(|&codec| block(&mut Deflater::new(codec, 0), b"read"))
            .collect();
        let expected = b"\x22\0\x01\x04\0\xfb\xffread";
        assert!(all.iter().all(|bytes| bytes[16..27] == *expected && bytes == &all[0]), "{all:x?}");
    }

    #[test]
    fn what_no_codec_makes_smaller_is_stored() {
        let payload = noise(1, 256, BLOCK_PAYLOAD);
        let stored = block(&mut Deflater::new(Codec::default(), 0), &payload);
        with_all(|name, make| assert!(block(&mut make(), &payload).len() <= stored.len(), "{name}"));
    }
}
