//! Depths of random reads, in pieces of any size, compared with a model that handles one position
//! at a time.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use readmill_format::intervals::Intervals;
use readmill_format::reference::Reference;
use readmill_format::sam::LineParser;
use readmill_record::{Batch, Header, Ledger, OrderedTally, PieceMaker, Result, Stamp};

use super::counting::WgsCounting;
use super::join::WgsTotals;
use super::rules::{RAW, WGS, WgsRules};
use crate::options::QcOptions;
use crate::reference::ReferenceContigs;
use crate::run_end::{ReferenceSpan, SpanThreads, SpanWork};

const HEADER: &[u8] = b"@HD\tVN:1.6\tSO:coordinate\n@SQ\tSN:c1\tLN:3000\n@SQ\tSN:c2\tLN:900\n";

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

struct ModelRead {
    contig: usize,
    start: u32,
    name: String,
    cigar: Vec<(char, u32)>,
    bases: Vec<u8>,
    quals: Vec<u8>,
}

impl ModelRead {
    /// The aligned bases, as pairs of position and index in the read.
    fn aligned(&self) -> Vec<(u32, usize)> {
        let (mut position, mut offset, mut all) = (self.start, 0, Vec::new());
        for &(op, n) in &self.cigar {
            match op {
                'M' => {
                    all.extend((0..n).map(|i| (position + i, offset + i as usize)));
                    position += n;
                    offset += n as usize;
                }
                'D' | 'N' => position += n,
                _ => offset += n as usize,
            }
        }
        all
    }

    fn end(&self) -> u32 {
        self.start + self.cigar.iter().filter(|(op, _)| "MDN".contains(*op)).map(|(_, n)| n).sum::<u32>()
    }

    fn line(&self) -> String {
        let text = |it: &[u8]| String::from_utf8_lossy(it).into_owned();
        let cigar: String = self.cigar.iter().map(|(op, n)| format!("{n}{op}")).collect();
        let quals: Vec<u8> = self.quals.iter().map(|qual| qual + 33).collect();
        let (name, contig, start) = (&self.name, self.contig + 1, self.start + 1);
        let bases = text(&self.bases);
        format!("{name}\t99\tc{contig}\t{start}\t60\t{cigar}\t=\t1\t0\t{bases}\t{}", text(&quals))
    }
}

/// Reads with few names, gaps, deletions, clips and N, in order. Most of them start at few
/// positions.
fn reads(random: &mut Random, count: usize) -> Vec<ModelRead> {
    let mut reads: Vec<ModelRead> = (0..count).map(|_| read(random)).collect();
    reads.sort_by_key(|read| (read.contig, read.start));
    reads
}

fn read(random: &mut Random) -> ModelRead {
    let contig = usize::from(random.below(5) == 0);
    let start = match random.below(4) {
        0 => random.below(800),
        1 => 300 + random.below(3),
        _ => 300 + 2 * random.below(60),
    };
    let length = 20 + random.below(40) as u32;
    let cigar = match random.below(6) {
        0 => vec![('M', 10), ('N', 1 + random.below(300) as u32), ('M', length - 10)],
        1 => vec![('M', 8), ('D', 1 + random.below(4) as u32), ('M', length - 8)],
        2 => vec![('S', 4), ('M', length - 7), ('I', 3)],
        3 => vec![('D', 2), ('M', length)],
        _ => vec![('M', length)],
    };
    let bases = (0..length).map(|_| if random.below(30) == 0 { b'N' } else { b'A' }).collect();
    let quals = (0..length).map(|_| [2, 3, 11, 19, 20, 30, 40][random.below(7) as usize]).collect();
    let name = format!("r{}", random.below(40));
    let start = if contig == 0 { start } else { start.min(400) } as u32;
    ModelRead { contig, start, name, cigar, bases, quals }
}

/// The model: opens and closes positions like htsjdk's SamLocusIterator, and stores the bases at
/// each open position.
fn model(
    reads: &[ModelRead],
    rules: &WgsRules,
    counts: impl Fn(usize, u32) -> bool,
    told: impl Fn(usize, u32) -> bool,
) -> WgsTotals {
    let mut bases: Vec<BTreeMap<u32, Vec<(&ModelRead, usize)>>> = vec![BTreeMap::new(); 2];
    let mut open: Vec<u32> = Vec::new();
    let mut contig = 0;
    for read in reads {
        if read.contig != contig {
            (open, contig) = (Vec::new(), read.contig);
        }
        let depth = |at: &u32| bases[contig].get(at).map_or(0, Vec::len);
        while open.first().is_some_and(|first| first + 1 < read.start) {
            let empty = open.iter().take_while(|at| depth(at) == 0 && **at < read.start).count();
            let gone: Vec<u32> = open.drain(..empty).collect();
            let Some(first) = open.first() else { break };
            if *first >= read.start || gone.iter().any(|&at| told(contig, at)) {
                continue;
            }
            open.remove(0);
        }
        if open.first().is_some_and(|first| depth(first) >= rules.locus_cap as usize) {
            continue;
        }
        let from = open.last().map_or(read.start, |last| last + 1);
        open.extend(from..read.end());
        for (position, offset) in read.aligned() {
            bases[contig].entry(position).or_default().push((read, offset));
        }
    }
    let mut totals = WgsTotals {
        good: vec![0; rules.cap as usize + 1],
        called: vec![0; rules.cap as usize + 1],
        quals: vec![0; 127],
        ..WgsTotals::default()
    };
    for (contig, positions) in bases.iter().enumerate() {
        for (_, list) in positions.iter().filter(|(at, _)| counts(contig, **at)) {
            let (mut names, mut called, mut good) = (HashSet::new(), 0_u32, 0_u32);
            for (read, offset) in list {
                let qual = read.quals[*offset];
                totals.counted += 1;
                if qual <= 2 {
                    continue;
                }
                if called < rules.cap {
                    totals.quals[usize::from(qual)] += 1;
                    called += 1;
                }
                if qual < rules.min_qual || read.bases[*offset] == b'N' {
                    continue;
                }
                if names.insert(&read.name) { good += 1 } else { totals.overlap += 1 }
            }
            if called > 0 {
                totals.called[called as usize] += 1;
                totals.good[good.min(rules.cap) as usize] += 1;
                totals.good_bases += u64::from(good);
                totals.capped += u64::from(good.saturating_sub(rules.cap));
            }
        }
    }
    totals
}

fn batch(header: &Header, reads: &[ModelRead]) -> Batch {
    let (mut parser, mut batch) = (LineParser::new(header), Batch::default());
    for read in reads {
        let mut raw = Vec::new();
        parser.parse(read.line().as_bytes(), &mut raw).unwrap();
        batch.push(&raw, Stamp::default()).unwrap();
    }
    batch
}

/// A reference with N at some positions.
fn reference(dir: &Path) -> Reference {
    let bases = |length: u32| (0..length).map(|at| if is_n(at) { 'N' } else { 'A' }).collect::<String>();
    let path = dir.join("r.fa");
    std::fs::write(&path, format!(">c1\n{}\n>c2\n{}\n", bases(3000), bases(900))).unwrap();
    Reference::open(&path, &Ledger::unlimited()).unwrap()
}

fn is_n(position: u32) -> bool {
    position % 97 < 5
}

#[test]
fn depths_are_those_of_the_model_wherever_pieces_begin() {
    let dir = tempfile::tempdir().unwrap();
    let header = Header::parse(HEADER).unwrap();
    let reference = ReferenceContigs::new(reference(dir.path()), &header).unwrap();
    let intervals = Intervals::parse_union(
        &["c1:250-420".into(), "c1:440-1000".into(), "c2:100-310".into()],
        &header,
        &Ledger::unlimited(),
    )
    .unwrap();
    let mut random = Random(5);
    for (round, (cap, locus_cap)) in [(250, 100_000), (10, 100_000), (3, 12), (1, 1), (40, 45), (5, 30)]
        .into_iter()
        .cycle()
        .take(36)
        .enumerate()
    {
        let intervals = (round % 4 == 3).then(|| intervals.clone());
        let count = [40, 300, 700][round % 3];
        let reads = reads(&mut random, count);
        let mut options = QcOptions { coverage_cap: Some(cap), ..QcOptions::default() };
        options.wgs.locus_accumulation_cap = Some(locus_cap);
        let is_inside = |contig: usize, at: u32| {
            intervals.as_ref().is_none_or(|all| all.overlaps(contig as u32, at, at + 1))
        };
        let lengths = [3000, 900];
        let told = |contig: usize, at: u32| at < lengths[contig] && is_inside(contig, at);
        let counts = |contig: usize, at: u32| told(contig, at) && !is_n(at);
        let seen: Vec<ModelRead> = Vec::from_iter(reads.into_iter().filter(|read| {
            intervals.as_ref().is_none_or(|all| all.overlaps(read.contig as u32, read.start, read.end()))
        }));
        let rules = WgsRules::for_program(&WGS, &options);
        let wanted = format!("{:?}", model(&seen, &rules, counts, told));
        for pieces in [1, 2, 7, 50, seen.len()] {
            let counting = WgsCounting::new(vec![rules], reference.clone(), intervals.clone(), 2);
            let (mut maker, mut charge) =
                (counting.new_maker(), Ledger::unlimited().empty_charge("depths"));
            let longest = seen.iter().map(|read| read.end() - read.start).max().unwrap();
            for is_trimmed in [false, true] {
                for part in seen.chunks(seen.len().div_ceil(pieces)) {
                    let mut piece = maker.make(&batch(&header, part), &mut charge).unwrap();
                    if is_trimmed {
                        maker.trim(&mut piece, longest);
                    }
                    counting.add(piece).unwrap();
                }
                let found = counting.take_totals();
                assert_eq!(
                    format!("{:?}", found[0]),
                    wanted,
                    "round {round}, {pieces} pieces, {is_trimmed}"
                );
            }
        }
    }
}

/// Runs all spans on the thread of the test.
struct OneThread;

impl SpanThreads for OneThread {
    fn for_each_span<'a>(
        &self,
        spans: &mut (dyn Iterator<Item = Result<ReferenceSpan>> + Send),
        work: &(dyn Fn() -> SpanWork<'a> + Sync),
    ) -> Result<()> {
        let mut work = work();
        for span in spans {
            work(span?)?;
        }
        Ok(())
    }
}

#[test]
fn positions_of_the_reference_are_counted_that_are_not_n() {
    let dir = tempfile::tempdir().unwrap();
    let header = Header::parse(HEADER).unwrap();
    let reference = ReferenceContigs::new(reference(dir.path()), &header).unwrap();
    let intervals =
        Intervals::parse_union(&["c1:1-10".into(), "c2:95-102".into()], &header, &Ledger::unlimited());
    let n = |length: u32| (0..length).filter(|&at| is_n(at)).count() as u64;
    for (intervals, wanted) in [(None, 3900 - n(3000) - n(900)), (Some(intervals.unwrap()), 5 + 8 - 5)] {
        let counting = WgsCounting::new(Vec::new(), reference.clone(), intervals, 2);
        assert_eq!(counting.territory().count_positions(&OneThread).unwrap(), wanted);
    }
}

#[test]
fn unsorted_reads_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let header = Header::parse(HEADER).unwrap();
    let reference = ReferenceContigs::new(reference(dir.path()), &header).unwrap();
    let rules = WgsRules::for_program(&RAW, &QcOptions::default());
    let mut random = Random(1);
    let mut reads = reads(&mut random, 30);
    reads.reverse();
    let counting = WgsCounting::new(vec![rules], reference, None, 2);
    let mut charge = Ledger::unlimited().empty_charge("depths");
    assert!(counting.new_maker().make(&batch(&header, &reads), &mut charge).is_err());
    let mut pieces = reads.iter().map(|read| {
        let read = std::slice::from_ref(read);
        counting.add(counting.new_maker().make(&batch(&header, read), &mut charge).unwrap())
    });
    let error = pieces.find_map(Result::err).unwrap().to_string();
    assert!(error.contains("sorted"), "{error}");
}
