//! Compares depths of random reads, in pieces of 1 to 10,000 reads, with an array of all positions.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fmt::Write;

use readmill_coverage::{ReadOptions, ReportOptions};
use readmill_record::RecordRef;
use readmill_simulate::Rng;

use crate::support::Reads;

#[derive(Clone)]
struct Waiting {
    end: usize,
    bases: Vec<usize>,
    ops: usize,
}

/// Returns the depths of all bases by contig, counted read by read.
fn depths(reads: &Reads, options: &ReadOptions) -> Vec<Vec<i32>> {
    let mut depths: Vec<Vec<i32>> =
        reads.lengths().iter().map(|&length| vec![0; length as usize]).collect();
    let mut waiting: HashMap<(i32, Vec<u8>), Waiting> = HashMap::new();
    for raw in &reads.records {
        let record = RecordRef::new(raw);
        let flags = record.flags().0;
        let counts = record.mapq() >= options.min_mapq && flags & options.exclude_flags == 0;
        let counts = counts && (options.include_flags == 0 || flags & options.include_flags != 0);
        if record.ref_id() < 0 || !counts {
            continue;
        }
        let depth = &mut depths[record.ref_id() as usize];
        let start = record.pos() as usize;
        let (mut bases, mut at) = (Vec::new(), start);
        for (op, n) in record.cigar().ops() {
            let n = n as usize;
            match b"MIDNSHP=X"[op as usize] {
                b'M' | b'=' | b'X' => bases.extend(at..at + n),
                b'D' | b'N' => {}
                _ => continue,
            }
            at += n;
        }
        let end = if flags & 4 != 0 { start + 1 } else { at.max(start + 1) };
        if options.fast_mode {
            (start..end.min(depth.len())).for_each(|base| depth[base] += 1);
            continue;
        }
        let n_ops = if bases.is_empty() { 0 } else { record.cigar().ops().len() };
        bases.retain(|&base| base < depth.len());
        bases.iter().for_each(|&base| depth[base] += 1);
        if flags & 0x802 != 2 {
            continue;
        }
        let key = (record.ref_id(), record.qname().to_vec());
        let mate = record.next_pos() as usize;
        let mut found = waiting.get(&key).filter(|mate| mate.end > start).cloned();
        let near = record.ref_id() == record.next_ref_id() && end > mate;
        if near && (start < mate || start == mate && found.is_none()) {
            waiting.insert(key, Waiting { end, bases, ops: n_ops });
            continue;
        }
        if start >= mate {
            waiting.remove(&key);
        } else {
            found = None;
        }
        if let Some(Waiting { end: mate_end, bases: theirs, ops: their_ops }) = found {
            if n_ops == 1 && their_ops == 1 {
                (start..mate_end.min(depth.len())).for_each(|base| depth[base] -= 1);
            } else {
                bases.iter().filter(|base| theirs.contains(base)).for_each(|&base| depth[base] -= 1);
            }
        }
    }
    depths
}

/// Returns the same depths as lines of a BED file.
fn lines(reads: &Reads, options: &ReadOptions) -> String {
    let mut text = String::new();
    for (contig, depths) in reads.header.references().iter().zip(depths(reads, options)) {
        let name = String::from_utf8(contig.name.clone()).unwrap();
        let mut start = 0;
        for run in depths.chunk_by(|a, b| a == b) {
            let end = start + run.len();
            writeln!(text, "{name}\t{start}\t{end}\t{}", run[0]).unwrap();
            start = end;
        }
    }
    text
}

const CONTIGS: [u32; 5] = [700, 9_000, 120, 40_000, 300];

/// Returns sorted reads with many kinds of CIGAR, some with the same name.
fn sam(rng: &mut Rng, pairs: u32) -> String {
    let forms =
        ["60M", "30M2D30M", "5S40M", "20M3I37M", "10M90N50M", "20=1X4D2I20M1P9M", "50=", "3H25M", "9I"];
    let length = |form: &str| match form {
        "30M2D30M" => 62,
        "10M90N50M" => 150,
        "20M3I37M" => 57,
        "20=1X4D2I20M1P9M" => 54,
        "5S40M" => 40,
        "50=" => 50,
        "3H25M" => 25,
        _ => 60,
    };
    let mut records = Vec::new();
    for n in 0..pairs {
        let contig = [0, 1, 1, 3, 3, 3, 4][rng.index(7)];
        let [a, b] = [rng.pick(&forms), rng.pick(&forms)];
        let max_start = CONTIGS[contig] - 150;
        // Most reads of one contig are at a few positions.
        let first = rng.below(max_start) / [1, 1, 20][rng.index(3)];
        let second = (first + [0, 0, 1, 10, 40, 200, 2000][rng.index(7)]).min(max_start);
        let name = if rng.is_once_in(40) { rng.below(4) } else { 10 + n };
        for (of_pair, form, place, mate) in [(64, a, first, second), (128, b, second, first)] {
            let duplicate = if rng.is_once_in(15) { 0x400 } else { 0 };
            let proper = if rng.is_once_in(20) { 0 } else { 2 };
            let flags = 1 | proper | of_pair | duplicate;
            let mapq = rng.below(60);
            // Some programs move reads without updating the mate fields of their mates.
            let mate = if rng.is_once_in(10) { mate + rng.below(30) } else { mate };
            assert!(place + length(form) <= CONTIGS[contig]);
            records.push((
                contig,
                place,
                format!("n{name}\t{flags}\tc{contig}\t{}\t{mapq}\t{form}\t=\t{}", place + 1, mate + 1),
            ));
        }
        if rng.is_once_in(50) {
            records.push((
                contig,
                first,
                format!("n{name}\t73\tc{contig}\t{}\t0\t*\t=\t{}", first + 1, first + 1),
            ));
        }
    }
    records.sort_by_key(|(contig, place, _)| (*contig, *place));
    let mut text = String::new();
    for (number, length) in CONTIGS.iter().enumerate() {
        writeln!(text, "@SQ\tSN:c{number}\tLN:{length}").unwrap();
    }
    for (_, _, record) in records {
        writeln!(text, "{record}\t0\t*\t*").unwrap();
    }
    text
}

#[test]
fn depths_do_not_depend_on_where_pieces_begin() {
    let report = ReportOptions::default();
    for seed in 0..24 {
        let mut rng = Rng::new(seed);
        let pairs = rng.pick(&[1, 5, 50, 400, 6000]);
        let reads = Reads::of(&sam(&mut rng, pairs));
        let fast_mode = seed % 6 == 5;
        let mapq = if seed % 4 == 3 { 20 } else { 0 };
        let options = ReadOptions { fast_mode, min_mapq: mapq, ..ReadOptions::default() };
        let expected = lines(&reads, &options);
        for max_reads in [1, 2, 7, 100, 10_000] {
            let files = reads.files(&options, &report, None, || 1 + rng.index(max_reads));
            let given = &files[".per-base.bed.gz"];
            let other = given.lines().zip(expected.lines()).find(|(given, expected)| given != expected);
            assert_eq!(
                (other, given.len()),
                (None, expected.len()),
                "seed {seed}, pieces up to {max_reads}"
            );
        }
        let file = |size: usize| reads.files(&options, &report, None, || size);
        assert_eq!(file(13), file(usize::MAX));
    }
}

/// Mates whose CIGAR is a single insertion or clip once subtracted a base that neither covers: its depth
/// was -1.
#[test]
fn mates_that_align_no_base_take_nothing_back() {
    let pair = |name: &str, first: (u32, &str), second: (u32, &str)| -> String {
        let line = |flags: u32, (place, cigar): (u32, &str), mate: u32| {
            format!("{name}\t{flags}\ta\t{place}\t9\t{cigar}\t=\t{mate}\t0\t*\t*\n")
        };
        [line(99, first, second.0), line(147, second, first.0)].concat()
    };
    let pairs = [
        pair("insertions", (11, "1I"), (11, "1I")),
        pair("clip", (21, "9M"), (25, "9S")),
        pair("deletions", (41, "5D"), (42, "5D")),
        pair("overlap", (61, "9M"), (65, "9M")),
    ];
    let reads = Reads::of(&["@SQ\tSN:a\tLN:90\n", &pairs.concat()].concat());
    let files = reads.files(&ReadOptions::default(), &ReportOptions::default(), None, || 2);
    let expected = "a\t0\t20\t0\na\t20\t29\t1\na\t29\t60\t0\na\t60\t73\t1\na\t73\t90\t0\n";
    assert_eq!(files[".per-base.bed.gz"], expected);
}

#[test]
fn reads_that_are_not_sorted_are_refused() {
    let head = "@SQ\tSN:a\tLN:900\n@SQ\tSN:b\tLN:900\n";
    let read = |contig: &str, place: u32| format!("r\t0\t{contig}\t{place}\t9\t9M\t*\t0\t0\t*\t*\n");
    let reads = Reads::of(&[head, &read("a", 50), &read("a", 40)].concat());
    let error = reads.pieces(&ReadOptions::default(), || 2).unwrap_err();
    assert!(error.what.contains("is before the previous one"), "{error}");
    for (first, second) in [(read("a", 50), read("a", 40)), (read("b", 1), read("a", 1))] {
        let reads = Reads::of(&[head, &first, &second].concat());
        let pieces = reads.pieces(&ReadOptions::default(), || 1).unwrap();
        let mut join = readmill_coverage::CoverageJoin::new(&reads.lengths());
        let mut ends = pieces.into_iter().map(|piece| join.add_piece(piece, &mut Nothing));
        assert!(ends.next().unwrap().is_ok());
        let error = ends.next().unwrap().unwrap_err();
        assert!(error.what.contains("not sorted"), "{error}");
    }
}

struct Nothing;

impl readmill_coverage::DepthReceiver for Nothing {
    fn begin_contig(&mut self, _: u32) -> readmill_record::Result<()> {
        Ok(())
    }

    fn add_run(&mut self, _: readmill_coverage::DepthRun) -> readmill_record::Result<()> {
        Ok(())
    }

    fn end_contig(&mut self) -> readmill_record::Result<()> {
        Ok(())
    }

    fn skip_contig(&mut self, _: u32) -> readmill_record::Result<()> {
        Ok(())
    }
}
