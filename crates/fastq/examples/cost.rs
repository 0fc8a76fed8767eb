//! Measures the CPU time of reading FASTQ in nanoseconds per read, from the file to the spans of
//! names, bases and qualities.
//!
//! `cargo run --release -p readmill-fastq --example cost -- DIRECTORY [PAIRS]` writes PAIRS
//! templates of 2x151 bases to the directory. It reads them in batches of 32 templates, once with a
//! byte-by-byte scan (B-parsing of Langmead et al. 2018) and once with this crate. Each figure is
//! the best of five runs on one thread, with the files in the page cache.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use readmill_fastq::{BatchLinker, BatchOptions, Claims, FastqInput, FastqLayout};
use readmill_format::bgzf::{BLOCK_PAYLOAD, Codec, Deflater, EOF_BLOCK};
use readmill_record::{ReadBatch, Result};

/// Returns the CPU time of this thread in nanoseconds.
fn cpu() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

fn write_reads(path: &Path, pairs: usize, mate: u8) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    let mut state = 7 + u64::from(mate);
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) % n) as usize
    };
    for pair in 0..pairs {
        let (tile, x, y) = (1101 + pair % 78, pair * 7919 % 30_011, pair * 104_729 % 30_013);
        writeln!(out, "@A00123:45:HXYZDSX2:1:{tile}:{x}:{y} {mate}:N:0:ACGTACGT").unwrap();
        let bases: Vec<u8> = (0..151).map(|_| b"ACGT"[draw(4)]).collect();
        let qualities: Vec<u8> = (0..151).map(|_| b"FFFFFFFF:,#"[draw(11)]).collect();
        out.write_all(&bases).unwrap();
        out.write_all(b"\n+\n").unwrap();
        out.write_all(&qualities).unwrap();
        out.write_all(b"\n").unwrap();
    }
}

/// Compresses `from` as BGZF or as single-member gzip.
fn pack(from: &Path, to: &Path, bgzf: bool) {
    let text = std::fs::read(from).unwrap();
    let mut out = Vec::new();
    if bgzf {
        let mut deflater = Deflater::new(Codec::default(), 4);
        text.chunks(BLOCK_PAYLOAD).for_each(|piece| deflater.deflate_block(piece, &mut out));
        out.extend_from_slice(&EOF_BLOCK);
    } else {
        let mut member = flate2::write::GzEncoder::new(&mut out, flate2::Compression::new(4));
        member.write_all(&text).unwrap();
        member.finish().unwrap();
    }
    std::fs::write(to, out).unwrap();
}

struct Bytes {
    file: File,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
}

impl Bytes {
    fn open(path: &Path) -> Self {
        Bytes { file: File::open(path).unwrap(), buffer: vec![0; 64 << 10], at: 0, filled: 0 }
    }

    fn next(&mut self) -> Option<u8> {
        if self.at == self.filled {
            self.filled = self.file.read(&mut self.buffer).unwrap();
            self.at = 0;
        }
        let byte = *self.buffer.get(self.at).filter(|_| self.at < self.filled)?;
        self.at += 1;
        Some(byte)
    }

    /// Appends the next record, up to and including its fourth newline. Returns false at the end of
    /// the file.
    fn record(&mut self, out: &mut Vec<u8>) -> bool {
        let mut newlines = 0;
        while newlines < 4 {
            let Some(byte) = self.next() else { return false };
            newlines += u8::from(byte == b'\n');
            out.push(byte);
        }
        true
    }
}

/// Returns the offsets of the name, bases and qualities of the record at `at`, and the offset of
/// the next record.
fn split(text: &[u8], at: usize) -> ([usize; 3], usize) {
    let (mut starts, mut at) = ([0; 3], at);
    for line in 0..4 {
        let end = at + text[at..].iter().position(|&b| b == b'\n').unwrap();
        match line {
            0 => starts[0] = at + 1,
            1 => starts[1] = at,
            3 => starts[2] = at,
            _ => {}
        }
        at = end + 1;
    }
    (starts, at)
}

/// Reads batches of 32 templates with a byte-by-byte scan. Returns the number of reads and the
/// nanoseconds of the scan alone, during which a parallel program would hold the lock.
fn by_bytes(paths: &[&Path; 2]) -> (u64, u64) {
    let mut files = paths.map(Bytes::open);
    let (mut texts, mut reads, mut scanned) = ([Vec::new(), Vec::new()], 0, 0);
    loop {
        let start = Instant::now();
        let mut templates = 0;
        texts.iter_mut().for_each(Vec::clear);
        while templates < 32 && files[0].record(&mut texts[0]) && files[1].record(&mut texts[1]) {
            templates += 1;
        }
        scanned += start.elapsed().as_nanos() as u64;
        let mut at = [0; 2];
        for _ in 0..templates {
            for (text, at) in texts.iter().zip(&mut at) {
                let (starts, next) = split(text, *at);
                std::hint::black_box(starts);
                *at = next;
                reads += 1;
            }
        }
        if templates < 32 {
            return (reads, scanned);
        }
    }
}

/// Reads batches with this crate. Returns the number of reads and the nanoseconds of linking alone,
/// which is serial.
fn by_claims(paths: &[&Path; 2], block_bytes: usize, is_unusual: bool) -> Result<(u64, u64)> {
    let layout = FastqLayout::Paired(FastqInput::from(paths[0]), FastqInput::from(paths[1]));
    let claims =
        Arc::new(Claims::open(layout, BatchOptions { block_bytes, ..BatchOptions::default() })?);
    let (mut order, mut reads, mut total, mut serial) =
        (BatchLinker::new(&claims), ReadBatch::default(), 0, 0);
    for ticket in 0.. {
        let taken = claims.take(ticket, &mut reads);
        let start = Instant::now();
        order.link(taken, &mut reads)?;
        serial += start.elapsed().as_nanos() as u64;
        total += reads.len() as u64;
        std::hint::black_box(reads.spans());
        if claims.has_ended() {
            break;
        }
    }
    assert_eq!(order.reread_count() > 0, is_unusual);
    Ok((total, serial))
}

fn best_of_five(what: &str, mut run: impl FnMut() -> (u64, u64)) {
    let mut best = [f64::INFINITY; 2];
    for _ in 0..5 {
        let start = cpu();
        let (reads, serial) = run();
        best[0] = best[0].min((cpu() - start) as f64 / reads as f64);
        best[1] = best[1].min(serial as f64 / reads as f64);
    }
    let [all, serial] = best;
    println!("{what:<28} {all:8.1} ns a read, of which serial {serial:8.3}");
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().expect("a directory to write to");
    let pairs = arguments.next().map_or(500_000, |n| n.parse().expect("a number of pairs"));
    let path = |name: &str| Path::new(&directory).join(name);
    let files = ["R1.fastq", "R2.fastq"].map(path);
    let packed = |kind: &str| ["R1", "R2"].map(|name| path(&format!("{name}.fastq.{kind}")));
    for (number, file) in files.iter().enumerate() {
        write_reads(file, pairs, number as u8 + 1);
        pack(file, &packed("gz")[number], false);
        pack(file, &packed("bgz")[number], true);
        // A blank line at the start shifts all records, so every batch is read serially.
        std::fs::write(&packed("blank")[number], [b"\n", &std::fs::read(file).unwrap()[..]].concat())
            .unwrap();
    }
    let plain = [&*files[0], &*files[1]];
    best_of_five("byte by byte, batches of 32", || by_bytes(&plain));
    for kib in [128, 256, 512, 1024, 4096] {
        best_of_five(&format!("claims, blocks of {kib} KiB"), || {
            by_claims(&plain, kib << 10, false).unwrap()
        });
    }
    for kind in ["gz", "bgz", "blank"] {
        let [one, two] = packed(kind);
        best_of_five(&format!("claims, {kind}"), || {
            by_claims(&[&one, &two], 512 << 10, kind == "blank").unwrap()
        });
    }
    Ok(())
}
