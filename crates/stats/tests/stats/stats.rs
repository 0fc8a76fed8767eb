//! Compares with the text of `samtools stats` 1.24 for unusual reads of every kind. samtools wrote
//! the file except its first line; lines that name the program, and sections that readmill does not
//! write, were removed.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use readmill_format::report::{DescribedReport, cell_value};
use readmill_format::sam::LineParser;
use readmill_record::{Batch, Header, Ledger, OrderedTally, PieceMaker, Stamp, Tally};
use readmill_stats::Stats;
use readmill_stats::stats::{StatsOptions, StatsOrder, StatsSettings};
use serde_json::{Value, json};

const READS: &str = include_str!("../../../../tests/oracles/samtools/stats.sam");
const TEXT: &str = include_str!("../../../../tests/oracles/samtools/stats.txt");

/// Returns the text for the reads, counted in batches of `size` by the counters of two threads,
/// which are then merged.
fn counted(tally: Stats, size: usize) -> String {
    let (head, lines): (Vec<&str>, Vec<&str>) = READS.lines().partition(|line| line.starts_with('@'));
    let header = Header::parse(head.join("\n").as_bytes()).unwrap();
    let (mut parser, mut raw) = (LineParser::new(&header), Vec::new());
    let mut partials = [Default::default(), Default::default()];
    for (i, lines) in lines.chunks(size).enumerate() {
        let mut batch = Batch::default();
        for line in lines {
            raw.clear();
            parser.parse(line.as_bytes(), &mut raw).unwrap();
            batch.push(&raw, Stamp::default()).unwrap();
        }
        tally.observe(&mut partials[i % 2], &batch).unwrap();
    }
    let [from, mut into] = partials;
    tally.merge(&mut into, from);
    let counts = tally.finish(into).unwrap();
    let text = counts.to_text();
    assert_eq!(counts.to_value(), value_of(&text));
    text
}

/// Returns the value that the description of a run has of this text.
fn value_of(text: &str) -> Value {
    let (mut summary, mut sections) = (json!({}), json!({}));
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        match line.split_once('\t').unwrap() {
            ("SN", row) => {
                let (name, value) = row.split_once(":\t").unwrap();
                summary[name] = cell_value(value.split('\t').next().unwrap());
            }
            (section, row) => {
                let rows = sections.as_object_mut().unwrap().entry(section).or_insert(json!([]));
                rows.as_array_mut().unwrap().push(row.split('\t').map(cell_value).collect());
            }
        }
    }
    sections["SN"] = summary;
    sections
}

#[test]
fn rows_are_those_of_samtools_however_the_reads_are_divided() {
    for size in [1, 3, 100] {
        let text = counted(Stats::new(true), size);
        let (first, rest) = text.split_once('\n').unwrap();
        assert!(first.starts_with("# This file was produced by samtools stats"), "MultiQC looks for it");
        assert!(first.ends_with(", not by samtools"));
        for (ours, theirs) in rest.lines().zip(TEXT.lines().skip(1)) {
            assert_eq!(ours, theirs);
        }
        assert_eq!(rest.lines().count(), TEXT.lines().skip(1).count());
    }
}

#[test]
fn order_is_the_argument_unless_a_batch_is_out_of_order() {
    assert!(counted(Stats::new(false), 3).contains("is sorted:\t0\t# not sorted by coordinate"));
    let header = Header::parse(b"@SQ\tSN:c1\tLN:1000\n").unwrap();
    for (places, sorted) in [(["5", "5"], true), (["5", "4"], false)] {
        let (mut parser, mut batch, mut raw) = (LineParser::new(&header), Batch::default(), Vec::new());
        for pos in places {
            raw.clear();
            parser.parse(format!("r\t0\tc1\t{pos}\t0\t1M\t*\t0\t0\tA\t*").as_bytes(), &mut raw).unwrap();
            batch.push(&raw, Stamp::default()).unwrap();
        }
        let (tally, mut partial) = (Stats::new(true), Default::default());
        tally.observe(&mut partial, &batch).unwrap();
        let text = tally.finish(partial).unwrap().to_text();
        assert_eq!(text.contains("is sorted:\t1"), sorted);
    }
}

#[test]
fn memory_is_bounded_and_a_comment_says_that_rows_of_long_reads_are_missing() {
    assert!(Stats::partial_bytes() < 8 << 20);
    let header = Header::parse(b"@SQ\tSN:c1\tLN:1000000\n").unwrap();
    let (mut parser, mut batch, mut raw) = (LineParser::new(&header), Batch::default(), Vec::new());
    let (seq, qual) = ("ACGG".repeat(25_000), "5".repeat(100_000));
    parser
        .parse(format!("r\t0\tc1\t1\t0\t100000M\t*\t0\t0\t{seq}\t{qual}").as_bytes(), &mut raw)
        .unwrap();
    batch.push(&raw, Stamp::default()).unwrap();
    let (tally, mut partial) = (Stats::new(true), Default::default());
    tally.observe(&mut partial, &batch).unwrap();
    let text = tally.finish(partial).unwrap().to_text();
    for line in [
        "SN\tmaximum length:\t100000",
        "SN\taverage quality:\t20.0",
        "FTC\t25000\t25000\t50000\t0\t0",
        "# FFQ leaves out cycles above 1000; there are some up to 100000",
        "# RL leaves out lengths above 65534; there are some up to 100000",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}");
    }
    assert_eq!(text.lines().filter(|line| line.starts_with("FFQ\t")).count(), 1000);
    assert_eq!(text.lines().filter(|line| line.starts_with("RL\t")).count(), 0);
}

/// Returns the rows of these sections for SAM text, counted in batches of `size` records.
fn in_order(text: &str, options: &StatsOptions, size: usize, sections: &[&str]) -> Vec<String> {
    let (head, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with('@'));
    let header = Header::parse(head.join("\n").as_bytes()).unwrap();
    let settings = StatsSettings::new(options, None, &header, &Ledger::unlimited()).unwrap();
    let order = Arc::new(StatsOrder::new(settings));
    let (tally, mut partial) = (Stats::in_order(false, &order), Default::default());
    let (mut parser, mut raw, mut maker) = (LineParser::new(&header), Vec::new(), order.new_maker());
    let mut charge = Ledger::unlimited().empty_charge("statistics");
    order.begin();
    for lines in lines.chunks(size) {
        let mut batch = Batch::default();
        for line in lines {
            raw.clear();
            parser.parse(line.as_bytes(), &mut raw).unwrap();
            batch.push(&raw, Stamp::default()).unwrap();
        }
        tally.observe(&mut partial, &batch).unwrap();
        order.add(maker.make(&batch, &mut charge).unwrap()).unwrap();
    }
    let counts = tally.finish(partial).unwrap();
    let text = counts.to_text();
    assert_eq!(counts.to_value(), value_of(&text));
    let is_wanted = |line: &&str| sections.iter().any(|section| line.starts_with(section));
    text.lines().filter(is_wanted).map(str::to_string).collect()
}

const PAIRS: &str = "@SQ\tSN:c1\tLN:1000\n@SQ\tSN:c2\tLN:1000\n\
    a\t99\tc1\t11\t9\t10M\t=\t16\t15\tGGGGGAAAAA\t*\n\
    b\t99\tc1\t11\t9\t4M2D2M\t=\t500\t600\tGGAAAA\t*\n\
    a\t147\tc1\t16\t9\t10M\t=\t11\t-15\tAAAAAAAAAG\t*\n\
    s\t256\tc1\t17\t9\t4M\t*\t0\t0\tGGGG\t*\n\
    c\t0\tc1\t200\t9\t2M\t*\t0\t0\tAC\t*\n\
    d\t0\tc2\t5\t9\t1M\t*\t0\t0\tC\t*\n";

#[test]
fn depths_and_gc_do_not_depend_on_where_pieces_begin() {
    let sections = ["SN\tis sorted", "SN\tbases mapped (cigar)", "COV", "GCD"];
    for size in [1, 2, 3, 9] {
        // The rows of samtools 1.24.
        let rows = in_order(PAIRS, &StatsOptions::default(), size, &sections);
        assert_eq!(
            rows[..2],
            [
                "SN\tis sorted:\t1\t# sorted by coordinate",
                "SN\tbases mapped (cigar):\t29\t# more accurate"
            ]
        );
        assert_eq!(rows[2..5], ["COV\t[1-1]\t1\t9", "COV\t[2-2]\t2\t7", "COV\t[3-3]\t3\t2"], "{size}");
        let bins = StatsOptions { gc_bin: 100, ..StatsOptions::default() };
        let rows = in_order(PAIRS, &bins, size, &["GCD"]);
        // The last bin has a sum, 1.0, in a column in which the others have a share.
        let depths = |depth: &str| [depth; 5].join("\t");
        let wanted = [("0.0", "50", "0.000"), ("1.0", "75", "0.058"), ("31.0", "100", "0.174")];
        let wanted =
            wanted.map(|(gc, share, depth)| format!("GCD\t{gc}\t{share}.000\t{}", depths(depth)));
        assert_eq!(rows, wanted, "{size}");
        let once = StatsOptions { remove_overlaps: true, ..StatsOptions::default() };
        let rows = in_order(PAIRS, &once, size, &["SN\tbases mapped (cigar)", "COV"]);
        let wanted =
            ["SN\tbases mapped (cigar):\t24\t# more accurate", "COV\t[1-1]\t1\t12", "COV\t[2-2]\t2\t6"];
        assert_eq!(rows, wanted, "{size}");
    }
}

#[test]
fn reads_out_of_order_have_no_depths() {
    let text = PAIRS.to_string() + "e\t0\tc2\t4\t9\t1M\t*\t0\t0\tC\t*\n";
    for size in [1, 2, 9] {
        let rows = in_order(&text, &StatsOptions::default(), size, &["SN\tis sorted", "COV", "GCD"]);
        assert_eq!(rows, ["SN\tis sorted:\t0\t# not sorted by coordinate"]);
    }
}
