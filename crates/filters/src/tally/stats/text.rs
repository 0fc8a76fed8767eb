//! The sections of the text.

use std::fmt::Write as _;

use super::counts::Histogram;
use super::cycles::{BaseCounts, MOST_CYCLES, sum};
use super::partial::{GC_BINS, LONGEST_READ, StatsPartial};
use super::summary;

/// Returns the whole text.
pub(super) fn of(counted: &StatsPartial, sorted: bool) -> String {
    let mut out = String::new();
    let version = env!("CARGO_PKG_VERSION");
    // MultiQC recognises the text by "This file was produced by samtools stats" (search pattern
    // `samtools/stats`).
    line(
        &mut out,
        format_args!(
            "# This file was produced by samtools stats-compatible readmill {version}, not by samtools"
        ),
    );
    line(&mut out, format_args!("# This file contains statistics for all reads."));
    line(&mut out, format_args!("# CHK, Checksum\t[2]Read Names\t[3]Sequences\t[4]Qualities"));
    let adding = "# CHK, CRC32 of reads which passed filtering followed by addition (32bit overflow)";
    line(&mut out, format_args!("{adding}"));
    let [names, seqs, quals] = counted.checksums;
    line(&mut out, format_args!("CHK\t{names:08x}\t{seqs:08x}\t{quals:08x}"));
    section(&mut out, "Summary Numbers", "SN", "");
    let insertion = counted.insert_sizes.summary();
    summary::write(counted, sorted, &insertion, &mut out);
    qualities(counted, &mut out);
    gc_contents(counted, &mut out);
    contents(counted, &mut out);
    let columns = "insert size, pairs total, inward oriented pairs, outward oriented pairs, other pairs";
    section(&mut out, "Insert sizes", "IS", columns);
    for (size, [inward, outward, other]) in insertion.rows.iter().enumerate() {
        let total = inward + outward + other;
        line(&mut out, format_args!("IS\t{size}\t{total}\t{inward}\t{outward}\t{other}"));
    }
    lengths(counted, &mut out);
    let title = "Mapping qualities for reads !(UNMAP|SECOND|SUPPL|QCFAIL|DUP)";
    section(&mut out, title, "MAPQ", "mapq, count");
    rows("MAPQ", &counted.mapqs, &mut out);
    section(&mut out, "Indel distribution", "ID", "length, number of insertions, number of deletions");
    for (length, [insertions, deletions]) in counted.indels.lengths() {
        line(&mut out, format_args!("ID\t{length}\t{insertions}\t{deletions}"));
    }
    let columns = "cycle, number of insertions (fwd), .. (rev) , number of deletions (fwd), .. (rev)";
    section(&mut out, "Indels per cycle", "IC", columns);
    for (cycle, [i1, i2, d1, d2]) in counted.indels.cycles() {
        line(&mut out, format_args!("IC\t{}\t{i1}\t{i2}\t{d1}\t{d2}", cycle + 1));
    }
    out
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = writeln!(out, "{text}");
}

/// The comment before a section.
fn section(out: &mut String, title: &str, tag: &str, columns: &str) {
    let columns =
        if columns.is_empty() { String::new() } else { format!(" The columns are: {columns}") };
    line(out, format_args!("# {title}. Use `grep ^{tag} | cut -f 2-` to extract this part.{columns}"));
}

/// Rows of index and count.
fn rows(tag: &str, histogram: &Histogram, out: &mut String) {
    for (index, count) in histogram.counted() {
        line(out, format_args!("{tag}\t{index}\t{count}"));
    }
}

/// Says that rows are missing.
fn cut_short(tag: &str, longest: usize, limit: usize, what: &str, out: &mut String) {
    if longest > limit {
        line(
            out,
            format_args!("# {tag} leaves out {what} above {limit}; there are some up to {longest}"),
        );
    }
}

fn qualities(counted: &StatsPartial, out: &mut String) {
    let highest = counted.qualities.iter().map(|table| table.sum_and_highest().1).max().unwrap_or(0);
    let columns = (highest + 1).min(255);
    for (i, title, tag) in
        [(0, "First Fragment Qualities", "FFQ"), (1, "Last Fragment Qualities", "LFQ")]
    {
        section(out, title, tag, "");
        let columns_are =
            "# Columns correspond to qualities and rows to cycles. First column is the cycle number.";
        line(out, format_args!("{columns_are}"));
        cut_short(tag, counted.longest[i + 1], MOST_CYCLES, "cycles", out);
        for cycle in 0..counted.longest[i + 1].min(MOST_CYCLES) {
            let _ = write!(out, "{tag}\t{}", cycle + 1);
            for quality in 0..=columns {
                let _ = write!(out, "\t{}", counted.qualities[i].of(cycle, quality));
            }
            out.push('\n');
        }
    }
}

fn gc_contents(counted: &StatsPartial, out: &mut String) {
    for (i, title, tag) in [(0, "first", "GCF"), (1, "last", "GCL")] {
        section(out, &format!("GC Content of {title} fragments"), tag, "");
        let mut start = 0; // of a run of bins with the same count
        for bin in 0..GC_BINS {
            let count = counted.gc[i].of(start);
            if counted.gc[i].of(bin) != count {
                let percent = (bin + start) as f64 * 0.5 * 100.0 / (GC_BINS - 1) as f64;
                line(out, format_args!("{tag}\t{percent:.2}\t{count}"));
                start = bin;
            }
        }
    }
}

/// Bases by cycle.
fn contents(counted: &StatsPartial, out: &mut String) {
    const ACGT: &str = "cycle; A,C,G,T base counts as a percentage of all A/C/G/T bases [%]";
    const ALL: &str = "cycle; A,C,G,T base counts as a percentage of all A/C/G/T bases [%]; \
                       and N and O counts as a percentage of all A/C/G/T bases [%]";
    let [first, last] = &counted.bases;
    let longest = counted.longest[0];
    section(out, "ACGT content per cycle", "GCC", ALL);
    cut_short("GCC, like GCT, FBC, LBC and IC,", longest, MOST_CYCLES, "cycles", out);
    percentages("GCC", 6, longest, |cycle| sum(first.of(cycle), last.of(cycle)), out);
    section(out, "ACGT content per cycle, read oriented", "GCT", ACGT);
    percentages(
        "GCT",
        4,
        longest,
        |cycle| sum(first.as_sequenced(cycle), last.as_sequenced(cycle)),
        out,
    );
    for (bases, title, by_cycle, raw) in [(first, "first", "FBC", "FTC"), (last, "last", "LBC", "LTC")] {
        section(out, &format!("ACGT content per cycle for {title} fragments"), by_cycle, ALL);
        percentages(by_cycle, 6, longest, |cycle| bases.of(cycle), out);
        section(
            out,
            &format!("ACGT raw counters for {title} fragments"),
            raw,
            "A,C,G,T,N base counters",
        );
        let [a, c, g, t, n, _] = bases.total();
        line(out, format_args!("{raw}\t{a}\t{c}\t{g}\t{t}\t{n}"));
    }
}

/// Rows of shares of the bases of a cycle that are A, C, G or T.
fn percentages(
    tag: &str,
    columns: usize,
    longest: usize,
    bases: impl Fn(usize) -> BaseCounts,
    out: &mut String,
) {
    for cycle in 0..longest.min(MOST_CYCLES) {
        let counts = bases(cycle);
        let known: u64 = counts[..4].iter().sum();
        if known == 0 {
            continue;
        }
        let _ = write!(out, "{tag}\t{}", cycle + 1);
        for count in &counts[..columns] {
            let _ = write!(out, "\t{:.2}", 100.0 * *count as f64 / known as f64);
        }
        out.push('\n');
    }
}

fn lengths(counted: &StatsPartial, out: &mut String) {
    let titles = ["Read lengths", "Read lengths - first fragments", "Read lengths - last fragments"];
    for (i, (title, tag)) in titles.into_iter().zip(["RL", "FRL", "LRL"]).enumerate() {
        section(out, title, tag, "read length, count");
        cut_short(tag, counted.longest[i], LONGEST_READ, "lengths", out);
        for (length, count) in counted.lengths[i].counted().filter(|&(length, _)| length <= LONGEST_READ)
        {
            line(out, format_args!("{tag}\t{length}\t{count}"));
        }
    }
}
