//! `readmill index`, `faidx`, `dict`, and the small commands on whole files.
#![allow(clippy::unwrap_used)]

mod bam;
mod files;
mod text;

use std::path::Path;

use readmill_format::bam as bam_format;
use readmill_format::bgzf::{Codec, Deflater, EOF_BLOCK};
use readmill_format::sam::LineParser;
use readmill_record::Header;

use crate::support::{TestDir, arg, readmill, split_header};

/// Runs `readmill index` on a file; returns what it wrote.
fn index(path: &Path, flags: &[&str]) -> Vec<u8> {
    let dir = TestDir::new();
    let index = arg(&dir.path("index"));
    let path = arg(path);
    let args = ["index", &path, "-o", &index, "-q"].into_iter().chain(flags.iter().copied());
    let done = readmill(args);
    assert_eq!((done.code, &done.stderr[..]), (Some(0), ""), "{flags:?}");
    assert_eq!(dir.names(), ["index"]);
    std::fs::read(index).unwrap()
}

/// Asserts that `readmill index` fails with this exit code and these words, and leaves no file.
fn refused(dir: &TestDir, args: &[&str], code: i32, words: &[&str]) {
    let before = dir.names();
    let done = readmill(args);
    assert_eq!(done.code, Some(code), "{args:?}: {}", done.stderr);
    for word in words {
        assert!(done.stderr.contains(word), "{args:?}: {:?} lacks {word:?}", done.stderr);
    }
    assert_eq!(dir.names(), before, "{args:?}");
}

/// Bytes as stored BGZF blocks of so many bytes: the file does not depend on a compression library.
fn stored(bytes: &[u8], block: usize) -> Vec<u8> {
    let (mut deflater, mut out) = (Deflater::new(Codec::default(), 0), Vec::new());
    bytes.chunks(block).for_each(|piece| deflater.deflate_block(piece, &mut out));
    out.extend_from_slice(&EOF_BLOCK);
    out
}

/// The inflated bytes of the BAM file of SAM text.
fn raw_bam(text: &str) -> Vec<u8> {
    let (header, records) = split_header(text);
    let header = Header::parse(header.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    bam_format::header::write_header(&header, &mut bytes).unwrap();
    let mut parser = LineParser::new(&header);
    records.lines().for_each(|line| parser.parse(line.as_bytes(), &mut bytes).unwrap());
    bytes
}

/// A generator of numbers that a script can have, too: the expected indexes are those of samtools for the same reads.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// Sorted reads of these contigs as SAM text, and some without a place.
fn reads(n: usize, contigs: &[u32], unplaced: usize) -> String {
    let mut random = Numbers(n as u64 + 1);
    let mut places: Vec<(usize, u32)> = (0..n)
        .map(|_| {
            let contig = random.below(contigs.len());
            (contig, 1 + random.below(contigs[contig] as usize - 400) as u32)
        })
        .collect();
    places.sort_unstable();
    let mut text = "@HD\tVN:1.6\tSO:coordinate\n".to_string();
    for (i, length) in contigs.iter().enumerate() {
        text += &format!("@SQ\tSN:c{i}\tLN:{length}\n");
    }
    for (i, (contig, pos)) in places.into_iter().enumerate() {
        let length = 50 + random.below(100);
        let skip = [0, 10, 30_000][random.below(3)];
        let (flag, cigar) = match random.below(10) {
            0 => (4, "*".to_string()),
            1 => (16, format!("20M{}N{}M", skip + 1, length - 20)),
            _ => (0, format!("{length}M")),
        };
        let (bases, quals) = ("ACGTA".repeat(length)[..length].to_string(), "I".repeat(length));
        text += &format!("r{i}\t{flag}\tc{contig}\t{pos}\t60\t{cigar}\t*\t0\t0\t{bases}\t{quals}\n");
    }
    for i in 0..unplaced {
        text += &format!("u{i}\t4\t*\t0\t0\t*\t*\t0\t0\tACGT\tIIII\n");
    }
    text
}
