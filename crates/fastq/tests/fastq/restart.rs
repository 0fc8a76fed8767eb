//! Files that are read again from restart points.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use crate::common;

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use common::oracle::Owned;
use common::{Packing, Random, crew};
use flate2::{Compression, write::GzEncoder};
use readmill_fastq::{BatchLinker, BatchOptions, Claims, FastqInput, FastqLayout, RestartPoint};
use readmill_record::ReadBatch;

const RECORDS: usize = 12_000;

fn text(mate: usize, random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    for at in 0..RECORDS {
        let len = 100 + random.below(60);
        let bases: Vec<u8> = (0..len).map(|_| random.pick(b"ACGT")).collect();
        let qualities: Vec<u8> = (0..len).map(|_| random.pick(b"#,:FFFFF")).collect();
        writeln!(out, "@r{at}/{mate}").unwrap();
        out.extend_from_slice(&bases);
        out.extend_from_slice(b"\n+\n");
        out.extend_from_slice(&qualities);
        out.push(b'\n');
    }
    out
}

fn gzip(text: &[u8], level: u32, member: usize) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in text.chunks(member) {
        let mut encoder = GzEncoder::new(&mut out, Compression::new(level));
        encoder.write_all(piece).unwrap();
        encoder.finish().unwrap();
    }
    out
}

fn options() -> BatchOptions {
    BatchOptions { templates: 1000, restartable: true, ..BatchOptions::default() }
}

/// Returns all reads from these points on. The first template has number `first`.
fn read_from(paths: [&Path; 2], points: &[RestartPoint], first: u64) -> Vec<Owned> {
    let [one, two] = [0, 1].map(|at| FastqInput::From(paths[at].into(), points[at].clone()));
    let options = BatchOptions { first_template: first, ..options() };
    let claims = Arc::new(Claims::open(FastqLayout::Paired(one, two), options).unwrap());
    let mut reads = ReadBatch::default();
    claims.take(0, &mut reads);
    assert_eq!(reads.first_template(), first);
    let outcome = crew::run(&claims, 2, 8, 1);
    assert_eq!(outcome.error, None);
    outcome.reads
}

fn check(packed: [Vec<u8>; 2], may_restart: bool) {
    let directory = tempfile::tempdir().unwrap();
    let paths = [1, 2].map(|mate| directory.path().join(format!("R{mate}")));
    for (path, packed) in paths.iter().zip(&packed) {
        std::fs::write(path, packed).unwrap();
    }
    let paths = [&*paths[0], &*paths[1]];
    let [one, two] = paths.map(FastqInput::from);
    let claims = Arc::new(Claims::open(FastqLayout::Paired(one, two), options()).unwrap());
    let (mut linker, mut reads) = (BatchLinker::new(&claims), ReadBatch::default());
    let all = read_from(paths, &[RestartPoint::Start, RestartPoint::Start], 0);
    assert_eq!(all.len(), 2 * RECORDS);
    let (mut inside, mut stored) = (0, 0);
    for ticket in 0.. {
        let places = linker.restart_places().unwrap().filter(|_| !claims.has_ended());
        let first = reads.first_template() + reads.template_count() as u64;
        if let Some(places) = &places {
            let points = claims.restart_points(places).unwrap();
            assert_eq!(points.is_some(), may_restart || first == 0, "template {first}");
            if let Some(points) = points {
                inside += usize::from(points.iter().all(|point| *point != RestartPoint::Start));
                assert!(claims.stored_bytes(places) >= stored, "it grows");
                stored = claims.stored_bytes(places);
                assert_eq!(stored, points.iter().map(RestartPoint::stored_bytes).sum::<u64>());
                let rest = read_from(paths, &points, first);
                assert!(rest == all[2 * first as usize..], "from template {first}");
            }
        }
        if claims.has_ended() {
            break;
        }
        let taken = claims.take(ticket, &mut reads);
        linker.link(taken, &mut reads).unwrap();
    }
    assert_eq!(inside >= 10, may_restart);
    assert!(stored <= packed.iter().map(|packed| packed.len() as u64).sum());
}

#[test]
fn files_are_read_again_from_the_start_of_each_batch() {
    let mut random = Random::new(5);
    let texts = [text(1, &mut random), text(2, &mut random)];
    for (level, member) in [(6, usize::MAX), (1, 500_000), (9, 1_234_567), (0, usize::MAX), (6, 20_000)]
    {
        check(texts.each_ref().map(|text| gzip(text, level, member.min(text.len()))), true);
    }
    for (packing, may) in [(Packing::Plain, true), (Packing::Bgzf, true), (Packing::Zstd, false)] {
        check(texts.each_ref().map(|text| common::pack(text, packing, &mut random)), may);
    }
}

#[test]
fn damage_behind_the_place_is_found() {
    let mut random = Random::new(6);
    let text = text(1, &mut random);
    let packed = gzip(&text, 6, text.len());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("R1");
    std::fs::write(&path, &packed).unwrap();
    let claims = Claims::open(FastqLayout::Single(FastqInput::from(&*path)), options()).unwrap();
    let claims = Arc::new(claims);
    let (mut linker, mut reads) = (BatchLinker::new(&claims), ReadBatch::default());
    for ticket in 0..8 {
        let taken = claims.take(ticket, &mut reads);
        linker.link(taken, &mut reads).unwrap();
    }
    let points = claims.restart_points(&linker.restart_places().unwrap().unwrap()).unwrap().unwrap();
    let fault = |packed: &[u8]| {
        std::fs::write(&path, packed).unwrap();
        let input = FastqInput::From(path.clone(), points[0].clone());
        let claims = Arc::new(Claims::open(FastqLayout::Single(input), options()).unwrap());
        crew::run(&claims, 1, 4, 1).error.map(|error| error.what)
    };
    assert_eq!(fault(&packed), None);
    let end = packed.len();
    assert!(fault(&packed[..end - 4]).unwrap().contains("checksum"), "it is cut short");
    assert!(fault(&packed[..end - 100_000]).unwrap().contains("truncated"));
    let with = |at: usize, byte: u8| [&packed[..at], &[packed[at] ^ byte], &packed[at + 1..]].concat();
    assert!(fault(&with(end - 5, 1)).unwrap().contains("checksum"), "of the text");
    assert!(fault(&with(end - 1, 1)).unwrap().contains("checksum"), "of its size");
}

/// After a single read among pairs, no slice starts in the file, so its points are freed.
#[test]
fn no_points_are_kept_after_a_single_read() {
    let mut random = Random::new(7);
    let mut text: Vec<u8> = Vec::new();
    for at in 0..RECORDS {
        let bases: Vec<u8> = (0..150).map(|_| random.pick(b"ACGT")).collect();
        let qualities: Vec<u8> = (0..150).map(|_| random.pick(b"#,:FFFFF")).collect();
        for _ in 0..if at == RECORDS / 2 { 1 } else { 2 } {
            writeln!(text, "@r{at}").unwrap();
            text.extend_from_slice(&bases);
            text.extend_from_slice(b"\n+\n");
            text.extend_from_slice(&qualities);
            text.push(b'\n');
        }
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("reads.fq.gz");
    std::fs::write(&path, gzip(&text, 6, text.len())).unwrap();
    let options = BatchOptions { allow_singles_among_pairs: true, ..options() };
    let claims = Claims::open(FastqLayout::Interleaved(FastqInput::from(&*path)), options).unwrap();
    let claims = Arc::new(claims);
    let (mut linker, mut reads) = (BatchLinker::new(&claims), ReadBatch::default());
    let (mut last_places, mut after) = (None, 0);
    for ticket in 0.. {
        match linker.restart_places().unwrap() {
            Some(places) => {
                assert!(ticket < 2 || claims.stored_bytes(&places) > 0, "batch {ticket}");
                last_places = Some(places);
            }
            None => {
                after += 1;
                assert_eq!(claims.stored_bytes(last_places.as_ref().unwrap()), 0, "batch {ticket}");
            }
        }
        if claims.has_ended() {
            break;
        }
        let taken = claims.take(ticket, &mut reads);
        linker.link(taken, &mut reads).unwrap();
    }
    assert!(after > 4, "most batches follow the single read");
}

#[test]
fn single_reads_are_read_2_if_their_name_or_comment_says_so() {
    let names = ["a/1", "a/2", "b/2", "c 2:N:0:ACGT", "d", "e/1", "f 1:N:0", "g/1 2:N:0"];
    let text: String = names.iter().map(|name| format!("@{name}\nACGT\n+\nIIII\n")).collect();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("reads.fq");
    std::fs::write(&path, text).unwrap();
    let options = BatchOptions { allow_singles_among_pairs: true, ..options() };
    let claims = Claims::open(FastqLayout::Interleaved(FastqInput::from(&*path)), options).unwrap();
    let claims = Arc::new(claims);
    let mut reads = ReadBatch::default();
    let taken = claims.take(0, &mut reads);
    BatchLinker::new(&claims).link(taken, &mut reads).unwrap();
    let singles = &reads.singles().unwrap().reads;
    let segments: Vec<usize> = (0..singles.len()).map(|at| singles.segment_of(at)).collect();
    assert_eq!(segments, [1, 1, 0, 0, 0, 0]);
}
