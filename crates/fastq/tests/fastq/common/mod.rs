//! Shared parts of the tests: a serial FASTQ reader for comparison, files of every kind, and a crew
//! of threads.
#![allow(dead_code, clippy::unwrap_used, clippy::disallowed_methods)]

pub mod crew;
pub mod oracle;

use std::io::{self, Read, Write};
use std::path::Path;

use readmill_fastq::FastqInput;
use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};
use readmill_simulate::Rng;

#[derive(Clone)]
pub struct Random(Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(Rng::new(seed))
    }

    /// Draws a number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        self.0.index(n)
    }

    /// Returns true with a probability of `percent` percent.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0.pick(from)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    Plain,
    Pipe,
    Gzip,
    Bgzf,
    Zstd,
}

pub const PACKINGS: [Packing; 5] =
    [Packing::Plain, Packing::Pipe, Packing::Gzip, Packing::Bgzf, Packing::Zstd];

/// Returns a few bytes per read call, as a slow pipe does.
pub struct Trickle(pub io::Cursor<Vec<u8>>, pub Random);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.1.chance(1) {
            std::thread::yield_now();
        }
        let max_bytes = self.1.pick(&[1, 7, 100, 5000]);
        let n = into.len().min(1 + self.1.below(max_bytes));
        self.0.read(&mut into[..n])
    }
}

/// Compresses the text in independent pieces of at most some thousand bytes.
fn members(text: &[u8], random: &mut Random, max_bytes: usize, mut pack: impl FnMut(&[u8])) {
    let mut rest = text;
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(rest.len().min(1 + random.below(max_bytes)));
        pack(piece);
        rest = after;
    }
}

pub fn pack(text: &[u8], packing: Packing, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    match packing {
        Packing::Plain | Packing::Pipe => out.extend_from_slice(text),
        Packing::Gzip => members(text, random, 20_000, |piece| {
            let mut member = flate2::write::GzEncoder::new(&mut out, flate2::Compression::fast());
            member.write_all(piece).unwrap();
        }),
        Packing::Bgzf => {
            let mut deflater = Deflater::new(Codec::default(), 1);
            let max_bytes = if random.chance(50) { 40 } else { 4000 };
            members(text, random, max_bytes, |piece| deflater.deflate_block(piece, &mut out));
            out.extend_from_slice(&EOF_BLOCK);
        }
        Packing::Zstd => members(text, random, 20_000, |piece| {
            out.extend_from_slice(&zstd::encode_all(piece, 1).unwrap());
        }),
    }
    out
}

/// Returns the compressed text as an input: a file or a stream.
pub fn input(path: &Path, packed: Vec<u8>, as_stream: bool, random: &mut Random) -> FastqInput {
    if as_stream {
        let seed = random.below(1 << 30) as u64;
        let trickle = Trickle(io::Cursor::new(packed), Random::new(seed));
        return FastqInput::Stream(path.to_path_buf(), Box::new(trickle));
    }
    std::fs::write(path, packed).unwrap();
    FastqInput::Path(path.to_path_buf())
}
