//! Reads random files with many threads, and compares the result with a simple reader.
//!
//! `READMILL_FUZZ_RECORDS` sets the number of records to read; the default takes seconds. A failure
//! prints its seed.
#![allow(clippy::unwrap_used)]

use crate::common;

use std::path::Path;

use common::{PACKINGS, Packing, Random, crew, oracle};
use std::sync::Arc;

use readmill_fastq::{BatchOptions, Claims, FastqInput, FastqLayout};

/// How a file deviates from four-line records.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Strict,
    /// Several lines, blank lines, records without qualities.
    Loose,
    Broken,
}

fn wrap(out: &mut Vec<u8>, letters: &[u8], random: &mut Random, end: &[u8]) {
    for line in letters.chunks(1 + random.below(40)) {
        out.extend_from_slice(line);
        out.extend_from_slice(end);
        if random.chance(5) {
            out.extend_from_slice(end);
        }
    }
}

fn record(out: &mut Vec<u8>, name: &str, shape: Shape, lens: &[usize], random: &mut Random, end: &[u8]) {
    let len = random.pick(lens);
    let bases: Vec<u8> = (0..len).map(|_| random.pick(b"ACGTN")).collect();
    let qualities: Vec<u8> = (0..len).map(|_| random.pick(b"@@++>>!I~#5")).collect();
    let loose = shape == Shape::Loose && random.chance(20);
    if loose && random.chance(20) {
        out.extend_from_slice(end);
    }
    let fasta = loose && random.chance(30);
    out.push(if fasta { b'>' } else { b'@' });
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(random.pick(&[&b""[..], b" 1:N:0:ACGT", b"\tx  y "]));
    out.extend_from_slice(end);
    if loose {
        wrap(out, &bases, random, end);
    } else {
        out.extend_from_slice(&bases);
        out.extend_from_slice(end);
    }
    if fasta {
        return;
    }
    out.push(b'+');
    if random.chance(20) {
        out.extend_from_slice(name.as_bytes());
    }
    out.extend_from_slice(end);
    if loose && len > 0 {
        wrap(out, &qualities, random, end);
    } else {
        out.extend_from_slice(&qualities);
        out.extend_from_slice(end);
    }
}

fn break_it(text: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(text.len().max(1));
    match random.below(5) {
        0 => text.truncate(at),
        1 if !text.is_empty() => text[at] = random.pick(b"\n\r@+> \0A"),
        2 if !text.is_empty() => drop(text.remove(at)),
        3 => text.insert(at.min(text.len()), random.pick(b"\n\n\n\r@+ ")),
        _ => {
            let cut = text[at.min(text.len())..].iter().position(|&b| b == b'\n').map_or(0, |n| n + 1);
            text.drain(at..at + cut);
        }
    }
}

/// Generates the texts of one or two files.
fn texts(files: usize, segments: usize, random: &mut Random) -> Vec<Vec<u8>> {
    let max_templates = random.pick(&[3, 40, 400, 1500]);
    let templates = random.below(max_templates);
    let shape = random.pick(&[Shape::Strict, Shape::Strict, Shape::Strict, Shape::Loose, Shape::Broken]);
    let end: &[u8] = if random.chance(20) { b"\r\n" } else { b"\n" };
    // With records of thousands of bytes, there is no room for all batches in flight.
    let long = random.chance(10);
    let lens: &[usize] = if long { &[0, 30, 700, 2000] } else { &[0, 1, 5, 30, 30, 30, 90, 150] };
    let templates = if long { templates.min(200) } else { templates };
    let suffixes = random.pick(&[["", ""], ["/1", "/2"], ["", "/2"]]);
    let mut texts = vec![Vec::new(); files];
    for template in 0..templates {
        for segment in 0..segments {
            let name = format!("run:{template}{}", suffixes[segment % 2]);
            record(&mut texts[segment % files], &name, shape, lens, random, end);
        }
    }
    for text in &mut texts {
        if random.chance(20) && text.ends_with(end) {
            text.truncate(text.len() - end.len());
        } else if random.chance(5) {
            text.extend_from_slice(end);
        }
        if random.chance(2) {
            text.splice(0..0, *b"\xef\xbb\xbf");
        }
    }
    if shape == Shape::Broken {
        let file = random.below(files);
        break_it(&mut texts[file], random);
    }
    texts
}

fn layout(mut inputs: Vec<FastqInput>, segments: usize) -> FastqLayout {
    let last = inputs.pop().unwrap();
    match inputs.pop() {
        Some(first) => FastqLayout::Paired(first, last),
        None if segments == 2 => FastqLayout::Interleaved(last),
        None => FastqLayout::Single(last),
    }
}

#[derive(Default)]
struct FuzzCounts {
    records: u64,
    batches: u64,
    faults: u64,
    refilled: u64,
    reread: u64,
}

fn case(seed: u64, directory: &Path, seen: &mut FuzzCounts) {
    let mut random = Random::new(seed);
    let (files, segments) = random.pick(&[(2, 2), (2, 2), (2, 2), (1, 1), (1, 2)]);
    let texts = texts(files, segments, &mut random);
    let truth = oracle::read(&texts, segments);
    let options = BatchOptions {
        templates: 1 + random.below(40),
        batch_bytes: random.pick(&[1, 300, 5000, 20_000, 1 << 20]),
        block_bytes: random.pick(&[7, 8, 13, 50, 200, 1000, 4096]),
        max_in_flight: 1 + random.below(12),
        record_bytes: 1 << 20,
        max_spins: random.pick(&[0, 0, 3, 1000]),
        ..BatchOptions::default()
    };
    let mut names = Vec::new();
    let mut open = |(file, text): (usize, &Vec<u8>)| {
        let packing = random.pick(&PACKINGS);
        // An empty file is neither gzip nor zstd.
        let packing = if text.is_empty() { Packing::Plain } else { packing };
        let path = directory.join(format!("{file}.fastq"));
        let packed = common::pack(text, packing, &mut random);
        names.push(path.clone());
        let as_stream = packing == Packing::Pipe || packing != Packing::Plain && random.chance(30);
        common::input(&path, packed, as_stream, &mut random)
    };
    let inputs: Vec<FastqInput> = texts.iter().enumerate().map(&mut open).collect();
    let claims = Claims::open(layout(inputs, segments), options);
    let claims = Arc::new(claims.unwrap_or_else(|error| panic!("seed {seed}: {error:?}")));
    let threads = 1 + random.below(8);
    let outcome = crew::run(&claims, threads, options.max_in_flight as u64, seed);

    let place = outcome.error.as_ref().map(|error| {
        let file = error.place.file.clone().unwrap_or_default();
        let file = names.iter().position(|name| *name == file);
        (file.unwrap_or(9), error.place.record.unwrap_or(0))
    });
    assert_eq!(place, truth.fault, "seed {seed}: {:?}", outcome.error);
    let (mut batches, full) = truth.batches(options.templates, options.batch_bytes);
    if truth.fault.is_some() && !full {
        batches.pop(); // the batch with the fault is not returned
    }
    let linked = batches.iter().sum::<usize>() * segments;
    assert!(outcome.reads == truth.reads[..linked], "seed {seed}: other reads");
    assert_eq!(outcome.batches, batches, "seed {seed}");
    assert!(!outcome.misnumbered, "seed {seed}: templates have other numbers");
    seen.records += outcome.reads.len() as u64;
    seen.batches += outcome.batches.len() as u64;
    seen.faults += u64::from(truth.fault.is_some());
    seen.refilled += claims.refilled_blocks();
    seen.reread += outcome.reread_batches;
}

#[test]
fn many_threads_read_what_one_reads() {
    let wanted = std::env::var("READMILL_FUZZ_RECORDS").ok().and_then(|n| n.parse().ok());
    let first = std::env::var("READMILL_FUZZ_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let directory = tempfile::tempdir().unwrap();
    let (mut seen, mut seed) = (FuzzCounts::default(), first);
    while seen.records < wanted.unwrap_or(150_000) {
        case(seed, directory.path(), &mut seen);
        seed += 1;
    }
    let FuzzCounts { records, batches, faults, refilled, reread } = seen;
    println!(
        "{} cases, {records} records, {batches} batches of which {reread} serially, {faults} faults, {refilled} blocks filled twice",
        seed - first
    );
    assert!(faults > 0 && reread > 0 && reread < batches);
}
