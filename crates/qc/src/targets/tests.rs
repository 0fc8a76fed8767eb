//! Depths of targets of random reads, in pieces of any size, compared with a model that handles one
//! base at a time.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use readmill_format::intervals::NamedIntervals;
use readmill_format::sam::LineParser;
use readmill_record::{Batch, Header, Ledger, OrderedTally, PieceMaker, Stamp};

use super::clip::Clip;
use super::counting::TargetCounting;
use super::coverage_files::{per_base_text, put_per_target};
use super::rules::{HS, TargetFiles, TargetRules};
use crate::levels::{Level, Levels};
use crate::options::QcOptions;

const HEADER: &[u8] = b"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:3000\n@SQ\tSN:c2\tLN:900\n\
    @RG\tID:a\tSM:s\tLB:l\tPU:p\n@RG\tID:b\tSM:t\tLB:m\tPU:q\n";

/// Targets that touch, overlap, and are on both contigs.
const TARGETS: [(usize, u32, u32); 6] =
    [(0, 290, 330), (0, 330, 345), (0, 360, 420), (0, 400, 700), (0, 1200, 1201), (1, 0, 500)];

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A read of the model: its aligned bases as positions with qualities.
struct ModelRead {
    contig: usize,
    start: u32,
    is_second: bool,
    cigar: String,
    quals: Vec<u8>,
    aligned: Vec<(u32, u8)>,
}

fn reads(random: &mut Random, count: usize) -> Vec<ModelRead> {
    let mut reads: Vec<ModelRead> = (0..count).map(|_| read(random)).collect();
    reads.sort_by_key(|read| (read.contig, read.start));
    reads
}

fn read(random: &mut Random) -> ModelRead {
    let contig = usize::from(random.below(5) == 0);
    let start = match random.below(4) {
        0 => random.below(800) as u32,
        1 => 300 + random.below(3) as u32,
        _ => 300 + 2 * random.below(60) as u32,
    };
    let start = if contig == 0 { start } else { start.min(400) };
    let length = 20 + random.below(40) as u32;
    let (gap, n) =
        [("N", 1 + random.below(900) as u32), ("D", 3), ("I", 2), ("", 0)][random.below(4) as usize];
    let quals: Vec<u8> =
        (0..length).map(|_| [2, 3, 11, 19, 20, 30, 40][random.below(7) as usize]).collect();
    let (first, last) = (8, length - 8 - if gap == "I" { n } else { 0 });
    let cigar = if n == 0 { format!("{length}M") } else { format!("{first}M{n}{gap}{last}M") };
    let behind = if "ND".contains(gap) && n > 0 { n } else { 0 };
    let at = |offset: u32| match (gap, offset) {
        (_, offset) if offset < first => Some(start + offset),
        ("I", offset) if offset < first + n => None,
        ("I", offset) => Some(start + offset - n),
        (_, offset) => Some(start + offset + behind),
    };
    let aligned = (0..length).filter_map(|offset| Some((at(offset)?, quals[offset as usize])));
    let aligned = aligned.collect();
    ModelRead { contig, start, is_second: random.below(3) == 0, cigar, quals, aligned }
}

impl ModelRead {
    fn line(&self, number: usize) -> String {
        let quals: String = self.quals.iter().map(|qual| char::from(qual + 33)).collect();
        let (contig, start) = (self.contig + 1, self.start + 1);
        let (group, bases) = (if self.is_second { "b" } else { "a" }, "A".repeat(quals.len()));
        format!(
            "r{number}\t0\tc{contig}\t{start}\t60\t{}\t*\t0\t0\t{bases}\t{quals}\tRG:Z:{group}",
            self.cigar
        )
    }
}

fn batch(header: &Header, reads: &[ModelRead]) -> Batch {
    let (mut parser, mut batch) = (LineParser::new(header), Batch::default());
    for (number, read) in reads.iter().enumerate() {
        let mut raw = Vec::new();
        parser.parse(read.line(number).as_bytes(), &mut raw).unwrap();
        batch.push(&raw, Stamp::default()).unwrap();
    }
    batch
}

/// Returns the depths by target and position, and the qualities of bases up to the cap, as text.
fn model(reads: &[&ModelRead], cap: u32) -> String {
    let mut called: HashMap<(usize, u32), u32> = HashMap::new();
    let mut good: HashMap<(usize, u32), u32> = HashMap::new();
    let (mut quals, mut all_quals) = (vec![0_u64; 127], vec![0_u64; 127]);
    let is_inside =
        |contig, at: u32| TARGETS.iter().any(|it| it.0 == contig && (it.1..it.2).contains(&at));
    for read in reads {
        for &(at, qual) in
            read.aligned.iter().filter(|(at, qual)| is_inside(read.contig, *at) && *qual > 2)
        {
            let depth = called.entry((read.contig, at)).or_default();
            *depth += 1;
            quals[usize::from(qual)] += u64::from(*depth <= cap);
            all_quals[usize::from(qual)] += 1;
            if qual >= 20 {
                *good.entry((read.contig, at)).or_default() += 1;
            }
        }
    }
    let mut by_depth = vec![0_u64; cap as usize + 1];
    called.values().for_each(|&depth| by_depth[depth.min(cap) as usize] += 1);
    let bases: u64 = good.values().map(|&depth| u64::from(depth)).sum();
    let max_depth = good.values().max().copied().unwrap_or_default();
    format!("{by_depth:?} {quals:?} {all_quals:?} {bases} {} {max_depth}", good.len())
}

fn named(header: &Header, lines: &str) -> NamedIntervals {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.bed");
    std::fs::write(&path, lines).unwrap();
    NamedIntervals::read_files(&[path], header, &Ledger::unlimited()).unwrap()
}

fn files(header: &Header) -> TargetFiles {
    let line = |&(contig, start, end): &(usize, u32, u32)| format!("c{}\t{start}\t{end}\n", contig + 1);
    let targets = named(header, &TARGETS.iter().map(line).collect::<String>());
    TargetFiles { baits: Some(targets.clone()), amplicons: None, targets: Some(targets) }
}

#[test]
fn depths_are_those_of_a_model_wherever_pieces_begin() {
    let header = Header::parse(HEADER).unwrap();
    let levels = Arc::new(Levels::new(&header, &[Level::AllReads, Level::Sample]));
    let files = files(&header);
    let mut random = Random(7);
    for (round, cap) in [200, 10, 3, 1, 25].into_iter().cycle().take(20).enumerate() {
        let reads = reads(&mut random, [30, 250, 600][round % 3]);
        let mut options = QcOptions { coverage_cap: Some(cap), ..QcOptions::default() };
        options.targets.per_target_coverage = true;
        options.targets.per_base_coverage = true;
        options.targets.bait_intervals = vec![PathBuf::from("b")];
        let rules = TargetRules::for_program(&HS, &options, &files).unwrap();
        let all: Vec<&ModelRead> = reads.iter().collect();
        let [first, second] = [false, true]
            .map(|second| Vec::from_iter(all.iter().copied().filter(|it| it.is_second == second)));
        let wanted = [&all, &first, &second, &Vec::new()].map(|reads| model(reads, cap));
        let longest = 60 + 900;
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for pieces in [1, 2, 7, 50, reads.len()] {
            let counting = TargetCounting::new(vec![rules.clone()], &levels);
            let mut maker = counting.new_maker();
            for is_trimmed in [false, true] {
                for part in reads.chunks(reads.len().div_ceil(pieces)) {
                    let mut charge = Ledger::unlimited().empty_charge("targets");
                    let mut piece = maker.make(&batch(&header, part), &mut charge).unwrap();
                    if is_trimmed {
                        maker.trim(&mut piece, longest);
                    }
                    counting.add(piece).unwrap();
                }
                let mut found = counting.take_totals();
                let rows = &mut found[0];
                for (row, wanted) in rows.iter().zip(&wanted) {
                    let bases: u64 = row.targets.iter().map(|it| it.bases).sum();
                    let covered: u32 = row.targets.iter().map(|it| it.covered).sum();
                    let shown = format!(
                        "{:?} {:?} {:?} {bases} {covered} {}",
                        row.called, row.quals, row.all_quals, row.deepest
                    );
                    assert_eq!(shown, *wanted, "round {round}, {pieces} pieces, {is_trimmed}");
                }
                assert_eq!(rows.len(), wanted.len());
                let contigs = [(b"c1".to_vec(), 3000), (b"c2".to_vec(), 900)];
                let mut text = Vec::new();
                put_per_target(&mut text, &rules, &rows[0], &[0.5; 4], &contigs);
                text.extend(per_base_text(&rules, &mut rows[0], &contigs).flatten());
                texts.push(text);
            }
        }
        assert!(texts.windows(2).all(|texts| texts[0] == texts[1]), "round {round}");
        let lines = texts[0].split(|&byte| byte == b'\n').count();
        assert_eq!(lines, 1 + 4 + 1 + (55 + 340 + 1 + 500) + 1);
    }
}

#[test]
fn what_the_mate_has_is_clipped_as_by_htsjdk() {
    let header = Header::parse(HEADER).unwrap();
    for (flags, start, cigar, mate, bases, kept) in [
        (99, 11, "40M", 31, 20, Some(20)),
        (99, 11, "40M", 51, 0, None),
        (99, 11, "40M", 11, 0, None),
        (163, 11, "40M", 11, 40, Some(0)),
        (99, 31, "40M", 11, 0, None),
        (73, 11, "40M", 31, 0, None),
        (0, 11, "40M", 31, 0, None),
        // Soft-clipped bases at the end are not part of the overlap.
        (99, 11, "5S30M5S", 31, 10, Some(25)),
        // Of =, X and I, all bases are clipped.
        (99, 11, "40=", 31, 40, Some(0)),
        (99, 11, "10M2I28M", 31, 18, Some(22)),
        (99, 11, "10M2I28M", 16, 5 + 2 + 28, Some(5)),
        (99, 11, "10M5D30M", 23, 30, Some(10)),
        (99, 11, "30M10S4H", 31, 10, Some(30)),
    ] {
        let mut raw = Vec::new();
        let text = format!(
            "r\t{flags}\tc1\t{start}\t60\t{cigar}\tc1\t{mate}\t0\t{}\t{}",
            "A".repeat(40),
            "I".repeat(40)
        );
        LineParser::new(&header).parse(text.as_bytes(), &mut raw).unwrap();
        let mut batch = Batch::default();
        batch.push(&raw, Stamp::default()).unwrap();
        let (_, record) = batch.records().next().unwrap();
        assert_eq!(Clip::from_record(record), Clip { bases, kept }, "{flags} {start} {cigar} {mate}");
    }
}

#[test]
fn unsorted_reads_are_refused() {
    let header = Header::parse(HEADER).unwrap();
    let levels = Arc::new(Levels::new(&header, &[Level::AllReads]));
    let rules = TargetRules::for_program(&HS, &QcOptions::default(), &files(&header)).unwrap();
    let counting = TargetCounting::new(vec![rules], &levels);
    let mut reads = reads(&mut Random(1), 30);
    reads.reverse();
    let mut charge = Ledger::unlimited().empty_charge("targets");
    assert!(counting.new_maker().make(&batch(&header, &reads), &mut charge).is_err());
    let mut pieces = reads.iter().map(|read| {
        let read = std::slice::from_ref(read);
        counting.add(counting.new_maker().make(&batch(&header, read), &mut charge).unwrap())
    });
    let error = pieces.find_map(Result::err).unwrap().to_string();
    assert!(error.contains("sorted"), "{error}");
}
