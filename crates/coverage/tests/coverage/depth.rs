//! Compares depths of random reads in several files, in pieces of any size, with arrays of all
//! positions.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use readmill_coverage::depth::{
    CountWindow, CoverageTable, DepthLines, DepthMerge, DepthPieceMaker, DepthRules, Gate, GateKind,
    LineOptions, PositionChoice, ReadLength, TableOptions, TallySink,
};
use readmill_record::{Batch, RecordRef, Result, Stamp};
use readmill_simulate::Rng;

use crate::support::Reads;

const CONTIGS: [u32; 5] = [700, 3_000, 120, 9_000, 300];

/// Returns sorted reads with many kinds of CIGAR. Some reads extend beyond the end of their contig.
fn sam(rng: &mut Rng, pairs: u32) -> String {
    let forms = [
        ("60M", 60),
        ("30M2D30M", 60),
        ("5S40M", 45),
        ("20M3I37M", 60),
        ("10M90N50M", 60),
        ("20=1X4D2I20M1P9M", 52),
        ("3D20M", 20),
        ("9I", 9),
        ("3H25M", 25),
    ];
    let mut records = Vec::new();
    for n in 0..pairs {
        let contig = [0, 1, 1, 3, 3, 4][rng.index(6)];
        let first = rng.below(CONTIGS[contig]) / [1, 1, 20][rng.index(3)];
        let second = (first + [0, 0, 1, 10, 40, 200][rng.index(6)]).min(CONTIGS[contig] - 1);
        for (of_pair, place, mate) in [(64, first, second), (128, second, first)] {
            let (form, bases) = forms[rng.index(forms.len())];
            let flags = 3 | of_pair | [0, 0, 0, 0, 0, 0x400, 0x200, 4][rng.index(8)];
            let mapq = rng.below(60);
            let quality = |_| char::from(b'!' + rng.below(41) as u8);
            let qualities: String = (0..bases).map(quality).collect();
            let line = format!(
                "n{n}\t{flags}\tc{contig}\t{}\t{mapq}\t{form}\t=\t{}\t0\t{}\t{qualities}",
                place + 1,
                mate + 1,
                "A".repeat(bases)
            );
            records.push((contig, place, line));
        }
    }
    records.sort_by_key(|(contig, place, _)| (*contig, *place));
    let mut text = String::new();
    for (number, length) in CONTIGS.iter().enumerate() {
        writeln!(text, "@SQ\tSN:c{number}\tLN:{length}").unwrap();
    }
    records.into_iter().for_each(|(_, _, line)| text += &(line + "\n"));
    text
}

fn contigs() -> Arc<[(String, u32)]> {
    CONTIGS.iter().enumerate().map(|(number, &length)| (format!("c{number}"), length)).collect()
}

/// Index of a file, its records that have not been counted, and its gate.
type RestOfFile<'a> = (usize, &'a [Vec<u8>], Option<Gate>);

/// Counts the reads of all files in pieces of up to `max_reads` reads. The order of files is random.
fn count<S: TallySink>(
    files: &[Reads],
    rules: &DepthRules,
    gate: Option<GateKind>,
    mut sink: S,
    rng: &mut Rng,
    max_reads: usize,
) -> Result<S> {
    let rules = Arc::new(rules.clone());
    let mut maker = DepthPieceMaker::new(&rules, &files[0].lengths());
    let mut merge = DepthMerge::new(files.len(), CONTIGS.len() as u32);
    let mut rest: Vec<RestOfFile<'_>> =
        files.iter().enumerate().map(|(n, file)| (n, &file.records[..], gate.map(Gate::new))).collect();
    while !rest.is_empty() {
        let at = rng.index(rest.len());
        let (file, records, gate) = &mut rest[at];
        if records.is_empty() {
            merge.end_file(*file, &mut sink)?;
            rest.remove(at);
            continue;
        }
        let (now, later) = records.split_at((1 + rng.index(max_reads)).min(records.len()));
        *records = later;
        let mut batch = Batch::default();
        now.iter().for_each(|raw| batch.push(raw, Stamp::default()).unwrap());
        let clips = gate.as_mut().map_or_else(Vec::new, |gate| gate.pass_batch(&batch, &rules));
        merge.add_piece(*file, maker.make_piece(&batch, &clips)?, &mut sink)?;
    }
    Ok(sink)
}

fn lines(
    files: &[Reads],
    rules: &DepthRules,
    gate: Option<GateKind>,
    options: &LineOptions,
    rng: &mut Rng,
    max_reads: usize,
) -> Result<String> {
    let mut text = Vec::new();
    let write = |more: &[u8]| {
        text.extend_from_slice(more);
        Ok(())
    };
    let lines = DepthLines::new(options.clone(), &contigs(), files.len(), write);
    count(files, rules, gate, lines, rng, max_reads)?.finish()?;
    Ok(String::from_utf8(text).unwrap())
}

/// For each position of a contig (and some after its end): whether a read spans it, and its depth.
type Model = Vec<Vec<(bool, u32)>>;

fn model(file: &Reads, rules: &DepthRules, mates: bool) -> Model {
    let mut all: Model = CONTIGS.iter().map(|&length| vec![(false, 0); length as usize + 400]).collect();
    let mut ends: HashMap<Vec<u8>, usize> = HashMap::new();
    let mut contig = -1;
    for raw in &file.records {
        let record = RecordRef::new(raw);
        let flags = record.flags().0;
        if flags & rules.exclude_flags != 0 || u32::from(record.mapq()) < rules.min_mapq {
            continue;
        }
        if record.ref_id() != contig {
            ends.clear();
            contig = record.ref_id();
        }
        let depths = &mut all[contig as usize];
        let (start, end) = (record.pos() as usize, record.end() as usize);
        let mut clip = 0;
        if mates && flags & 9 == 1 {
            match ends.remove(record.qname()) {
                Some(end) if end > start => clip = end,
                _ if record.next_pos() as usize <= end => {
                    ends.insert(record.qname().to_vec(), end);
                }
                _ => {}
            }
        }
        depths[start..end].iter_mut().for_each(|position| position.0 = true);
        let (mut at, mut in_read) = (start, 0);
        for (op, n) in record.cigar().ops() {
            for _ in 0..n {
                let good =
                    record.qual().get(in_read).is_none_or(|&q| u32::from(q) >= rules.min_base_quality);
                let op = b"MIDNSHP=X"[op as usize];
                let counts = b"M=X".contains(&op) || op == b'D' && rules.count_deletions;
                if counts && good && at >= clip && at < end {
                    depths[at].1 += 1;
                }
                at += usize::from(b"M=XDN".contains(&op));
                in_read += usize::from(b"M=XIS".contains(&op));
            }
        }
    }
    all
}

fn model_lines(files: &[Model], options: &LineOptions) -> String {
    let mut text = String::new();
    for (contig, &length) in CONTIGS.iter().enumerate() {
        let is_used = files.iter().any(|file| file[contig].iter().any(|position| position.0));
        for position in 0..files[0][contig].len() {
            let in_window = options.window.is_none_or(|it| {
                it.contig as usize == contig && (it.start..it.end).contains(&(position as u32))
            });
            let in_contig = position < length as usize;
            let is_reached = files.iter().any(|file| file[contig][position].0);
            let is_written = match options.positions {
                PositionChoice::Reached => false,
                PositionChoice::OfContigs => in_contig && (is_used || options.window.is_some()),
                PositionChoice::All => in_contig,
            };
            if in_window && (is_reached || is_written) {
                write!(text, "c{contig}\t{}", position + 1).unwrap();
                files.iter().for_each(|file| write!(text, "\t{}", file[contig][position].1).unwrap());
                text.push('\n');
            }
        }
    }
    text
}

#[test]
fn lines_are_those_of_all_positions() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let n = 1 + rng.index(3);
        let pairs = rng.pick(&[0, 1, 5, 60, 1_000]);
        let files: Vec<Reads> = (0..n).map(|_| Reads::of(&sam(&mut rng, pairs))).collect();
        let rules = DepthRules {
            exclude_flags: rng.pick(&[1796, 0x700, 1792]),
            min_mapq: rng.pick(&[0, 20]),
            min_base_quality: rng.pick(&[0, 0, 20]),
            count_deletions: rng.is_once_in(2),
            ..DepthRules::default()
        };
        let mates = rng.is_once_in(2);
        let gate = mates.then_some(GateKind::Mates);
        let window = rng.is_once_in(3).then(|| CountWindow {
            contig: 1,
            start: 500,
            end: 500 + rng.below(3_000),
        });
        let positions =
            rng.pick(&[PositionChoice::Reached, PositionChoice::OfContigs, PositionChoice::All]);
        let options = LineOptions { positions, window, targets: None };
        let models: Vec<Model> = files.iter().map(|file| model(file, &rules, mates)).collect();
        // Only reads that overlap the window are counted, as a reader with an index returns them.
        let files = match window {
            Some(window) => files.into_iter().map(|file| within(file, window)).collect(),
            None => files,
        };
        let expected = model_lines(&models, &options);
        if window.is_some() && mates {
            continue; // mates outside the window are not seen
        }
        for max_reads in [1, 3, 50, 10_000] {
            let given = lines(&files, &rules, gate, &options, &mut rng, max_reads).unwrap();
            let other = given.lines().zip(expected.lines()).find(|(given, expected)| given != expected);
            assert_eq!(
                (other, given.len()),
                (None, expected.len()),
                "seed {seed}, pieces up to {max_reads}"
            );
        }
    }
}

/// Keeps the reads that overlap a window, as a reader with an index returns them.
fn within(mut file: Reads, window: CountWindow) -> Reads {
    file.records.retain(|raw| {
        let record = RecordRef::new(raw);
        let overlaps =
            i64::from(record.pos()) < i64::from(window.end) && record.end() > i64::from(window.start);
        record.ref_id() == window.contig as i32 && overlaps
    });
    file
}

#[test]
fn tables_are_those_of_all_positions() {
    for seed in 100..130 {
        let mut rng = Rng::new(seed);
        let n = 1 + rng.index(3);
        let files: Vec<Reads> = (0..n).map(|_| Reads::of(&sam(&mut rng, 300))).collect();
        let min_depth = rng.pick(&[1, 1, 4]);
        let rules = DepthRules {
            min_mapq: rng.pick(&[0, 20]),
            min_base_quality: rng.pick(&[0, 20]),
            length: ReadLength::Whole,
            sums_by_contig: true,
            sums_by_position: min_depth > 1,
            ..DepthRules::default()
        };
        let models: Vec<Model> = files.iter().map(|file| model(file, &rules, false)).collect();
        for max_reads in [1, 40, 10_000] {
            let mut text = Vec::new();
            let options = TableOptions { min_depth, window: None, header: false, histogram: None };
            let write = |more: &[u8]| {
                text.extend_from_slice(more);
                Ok(())
            };
            let table = CoverageTable::new(options, &contigs(), write);
            let table = count(&files, &rules, None, table, &mut rng, max_reads).unwrap();
            assert!(!table.finish().unwrap());
            let text = String::from_utf8(text).unwrap();
            assert_eq!(text.lines().count(), CONTIGS.len());
            for line in text.lines() {
                let columns: Vec<&str> = line.split('\t').collect();
                let contig: usize = columns[0][1..].parse().unwrap();
                let length = CONTIGS[contig] as usize;
                let depth = |at: usize| models.iter().map(|file| file[contig][at].1).sum::<u32>();
                let deep = (0..length).map(depth).filter(|&depth| depth >= min_depth);
                let covered = deep.clone().count();
                let mean = f64::from(deep.sum::<u32>()) / length as f64;
                let given: f64 = columns[6].parse().unwrap();
                assert_eq!(columns[4], covered.to_string(), "seed {seed}: {line}");
                assert!((given - mean).abs() <= 1e-5 * mean, "seed {seed}: {line}, {mean}");
            }
        }
    }
}

#[test]
fn at_most_so_many_reads_cover_a_position_but_the_first_one_there_counts() {
    let read = |place: u32, bases: usize| {
        format!("r\t0\tc0\t{place}\t9\t{bases}M\t*\t0\t0\t{}\t*\n", "A".repeat(bases))
    };
    let head = "@SQ\tSN:c0\tLN:700\n";
    let places = [(1, 10), (1, 10), (1, 10), (5, 10), (5, 10), (11, 3), (11, 3), (12, 3)];
    let text: String = places.iter().map(|&(place, bases)| read(place, bases)).collect();
    let files = [Reads::of(&[head, &text].concat())];
    let rules = DepthRules { sums_by_contig: true, length: ReadLength::Whole, ..DepthRules::default() };
    let mut text = Vec::new();
    let options = TableOptions { min_depth: 1, window: None, header: false, histogram: None };
    let write = |more: &[u8]| {
        text.extend_from_slice(more);
        Ok(())
    };
    let table = CoverageTable::new(options, &contigs(), write);
    let gate = Some(GateKind::MaxDepth(2));
    let table = count(&files, &rules, gate, table, &mut Rng::new(1), 2).unwrap();
    table.finish().unwrap();
    let text = String::from_utf8(text).unwrap();
    // There are two reads at 1, one at 5, one at 11 (where the reads from 1 to 10 end), and one at
    // 12. They have 10 + 10 + 10 + 3 + 3 bases.
    assert!(text.starts_with("c0\t1\t700\t8\t14\t2\t0.0514286\t255\t9\n"), "{text}");
}

#[test]
fn reads_that_are_not_sorted_are_refused_wherever_pieces_end() {
    let head = "@SQ\tSN:c0\tLN:900\n@SQ\tSN:c1\tLN:900\n";
    let read = |contig: &str, place: u32| format!("r\t0\t{contig}\t{place}\t9\t3M\t*\t0\t0\tAAA\tIII\n");
    for (first, second) in [(read("c0", 50), read("c0", 40)), (read("c1", 1), read("c0", 1))] {
        let files = [Reads::of(&[head, &first, &second].concat())];
        for max_reads in [1, 2] {
            let rules = DepthRules::default();
            let given =
                lines(&files, &rules, None, &LineOptions::default(), &mut Rng::new(3), max_reads);
            assert!(given.unwrap_err().what.contains("is before the previous one"));
        }
    }
}
