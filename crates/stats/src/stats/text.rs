//! Writes the sections, in the order and with the arithmetic of `samtools stats`.

use std::collections::BTreeMap;
use std::iter;

use super::counts::StatsCounts;
use super::cycles::{BaseCounts, MAX_CYCLES, add_counts};
use super::histograms::{Count as C, Histogram, InsertSummary};
use super::join::{GcBin, OrderTotals};
use super::options::StatsOptions;
use super::output::StatsOutput;
use super::partial::{GC_BINS, MAX_READ_LENGTH, StatsPartial};
use super::settings::StatsSettings;

pub(super) fn write_sections(counts: &StatsCounts, out: &mut impl StatsOutput) {
    let StatsCounts { counted, settings, order, .. } = counts;
    let options = &settings.options;
    let version = env!("CARGO_PKG_VERSION");
    // MultiQC recognises the text by "This file was produced by samtools stats" (search pattern
    // `samtools/stats`).
    out.add_comment(format_args!(
        "This file was produced by samtools stats-compatible readmill {version}, not by samtools"
    ));
    out.add_comment(format_args!("This file contains statistics for all reads."));
    out.add_comment(format_args!("CHK, Checksum\t[2]Read Names\t[3]Sequences\t[4]Qualities"));
    let adding = "CHK, CRC32 of reads which passed filtering followed by addition (32bit overflow)";
    out.add_comment(format_args!("{adding}"));
    out.add_row("CHK", counted.checksums.map(|checksum| format!("{checksum:08x}")));
    write_section_header(out, "Summary Numbers", "SN", "");
    let insertion = counted.insert_sizes.summarize_sizes(options.max_insert_size, options.main_bulk);
    write_summary(counts, &insertion, out);
    write_qualities(counted, out);
    write_gc_contents(counted, out);
    write_base_contents(counted, out);
    let columns = "insert size, pairs total, inward oriented pairs, outward oriented pairs, other pairs";
    write_section_header(out, "Insert sizes", "IS", columns);
    for (size, [inward, outward, other]) in (0..).zip(&insertion.rows) {
        let total = inward + outward + other;
        if total == 0 && options.sparse {
            continue;
        }
        out.add_row("IS", [size, total, *inward, *outward, *other]);
    }
    write_lengths(counted, out);
    let title = "Mapping qualities for reads !(UNMAP|SECOND|SUPPL|QCFAIL|DUP)";
    write_section_header(out, title, "MAPQ", "mapq, count");
    write_rows("MAPQ", &counted.mapqs, out);
    write_section_header(
        out,
        "Indel distribution",
        "ID",
        "length, number of insertions, number of deletions",
    );
    for (length, [insertions, deletions]) in counted.indels.length_rows() {
        out.add_row("ID", [length as u64, insertions, deletions]);
    }
    let columns = "cycle, number of insertions (fwd), .. (rev) , number of deletions (fwd), .. (rev)";
    write_section_header(out, "Indels per cycle", "IC", columns);
    for (cycle, [i1, i2, d1, d2]) in counted.indels.cycle_rows() {
        out.add_row("IC", [cycle as u64 + 1, i1, i2, d1, d2]);
    }
    if let Some(order) = order.as_ref().filter(|order| order.is_sorted) {
        write_coverage(order, options, out);
        write_gc_depth(&order.bins, options.gc_bin, average_length(counted), out);
    }
}

/// Returns the number of positions in each bin of the distribution of depths, by the index of the bin.
fn count_by_bin(order: &OrderTotals, options: &StatsOptions) -> BTreeMap<usize, u64> {
    let mut rows = BTreeMap::new();
    for (&depth, &positions) in &order.depths {
        *rows.entry(options.coverage.bin_of_depth(depth)).or_default() += positions;
    }
    rows
}

fn write_coverage(order: &OrderTotals, options: &StatsOptions, out: &mut impl StatsOutput) {
    write_section_header(out, "Coverage distribution", "COV", "");
    for (row, positions) in count_by_bin(order, options) {
        let (depths, number) = options.coverage.bin_label(row);
        out.add_row("COV", [depths, number.to_string(), positions.to_string()]);
    }
}

/// Sorts bins for section GCD. Their sums of GC fractions become percentages, but for the last bin,
/// which samtools sorts by its sum.
pub(super) fn sort_gc_bins(bins: &mut [GcBin]) {
    let last = bins.len().saturating_sub(1);
    for bin in bins[..last].iter_mut().filter(|bin| bin.reads > 0) {
        let percent = 100.0 * f64::from(bin.gc) / f64::from(bin.reads);
        bin.gc = percent.round_ties_even() as f32;
    }
    bins.sort_by(|a, b| a.gc.total_cmp(&b.gc).then(a.reads.cmp(&b.reads)));
}

/// Writes section GCD with samtools' arithmetic. As in samtools, the last row after sorting is
/// omitted.
fn write_gc_depth(bins: &[GcBin], size: u32, average_length: f32, out: &mut impl StatsOutput) {
    let columns = "GC%, unique sequence percentiles, 10th, 25th, 50th, 75th and 90th depth percentile";
    write_section_header(out, "GC-depth", "GCD", columns);
    let last = bins.len().saturating_sub(1);
    let mut rest = &bins[..last];
    while let Some(first) = rest.first() {
        let own = rest.iter().take_while(|bin| f64::from((bin.gc - first.gc).abs()) < 0.1).count();
        let (bins, more) = rest.split_at(own);
        let until = last - more.len();
        let share = (until + 1) as f64 * 100.0 / (last + 1) as f64;
        let depth = |percent| depth_percentile(bins, percent) * average_length / size as f32;
        let depths = [10, 25, 50, 75, 90].map(|percent| format!("{:.3}", depth(percent)));
        let begin = [format!("{:.1}", first.gc), format!("{share:.3}")];
        out.add_row("GCD", begin.into_iter().chain(depths));
        rest = more;
    }
}

/// Returns the number of reads at a percentile of `bins`, interpolated between neighbours.
fn depth_percentile(bins: &[GcBin], percent: u32) -> f32 {
    let place = percent as f32 * (bins.len() + 1) as f32 / 100.0;
    let number = place as usize;
    let reads = |at: usize| bins.get(at).map_or(0, |bin| bin.reads);
    if number == 0 {
        return reads(0) as f32;
    }
    if number >= bins.len() {
        return reads(bins.len().saturating_sub(1)) as f32;
    }
    let more = reads(number).wrapping_sub(reads(number - 1));
    reads(number - 1) as f32 + (place - number as f32) * more as f32
}

fn average_length(counted: &StatsPartial) -> f32 {
    let n = |count: C| counted.counts.get(count);
    let reads = n(C::First) + n(C::Last) + n(C::Other);
    if reads == 0 { 0.0 } else { n(C::Bases) as f32 / reads as f32 }
}

fn write_section_header(out: &mut impl StatsOutput, title: &str, tag: &str, columns: &str) {
    let columns =
        if columns.is_empty() { String::new() } else { format!(" The columns are: {columns}") };
    out.add_comment(format_args!(
        "{title}. Use `grep ^{tag} | cut -f 2-` to extract this part.{columns}"
    ));
}

fn write_rows(tag: &'static str, histogram: &Histogram, out: &mut impl StatsOutput) {
    for (index, count) in histogram.nonzero_counts() {
        out.add_row(tag, [index as u64, count]);
    }
}

/// Writes a comment if rows above `limit` are omitted, because the longest read exceeds it.
fn write_limit_note(tag: &str, longest: usize, limit: usize, what: &str, out: &mut impl StatsOutput) {
    if longest > limit {
        out.add_comment(format_args!(
            "{tag} leaves out {what} above {limit}; there are some up to {longest}"
        ));
    }
}

fn write_qualities(counted: &StatsPartial, out: &mut impl StatsOutput) {
    let highest = counted.qualities.iter().map(|table| table.sum_and_highest().1).max().unwrap_or(0);
    let columns = (highest + 1).min(255);
    for (i, title, tag) in
        [(0, "First Fragment Qualities", "FFQ"), (1, "Last Fragment Qualities", "LFQ")]
    {
        write_section_header(out, title, tag, "");
        let columns_are =
            "Columns correspond to qualities and rows to cycles. First column is the cycle number.";
        out.add_comment(format_args!("{columns_are}"));
        write_limit_note(tag, counted.longest[i + 1], MAX_CYCLES, "cycles", out);
        for cycle in 0..counted.longest[i + 1].min(MAX_CYCLES) {
            let counts = (0..=columns).map(|quality| counted.qualities[i].count_of(cycle, quality));
            out.add_row(tag, iter::once(cycle as u64 + 1).chain(counts));
        }
    }
}

fn write_gc_contents(counted: &StatsPartial, out: &mut impl StatsOutput) {
    for (i, title, tag) in [(0, "first", "GCF"), (1, "last", "GCL")] {
        write_section_header(out, &format!("GC Content of {title} fragments"), tag, "");
        let mut start = 0; // first bin of a run with the same count
        for bin in 0..GC_BINS {
            let count = counted.gc[i].get(start);
            if counted.gc[i].get(bin) != count {
                let percent = (bin + start) as f64 * 0.5 * 100.0 / (GC_BINS - 1) as f64;
                out.add_row(tag, [format!("{percent:.2}"), count.to_string()]);
                start = bin;
            }
        }
    }
}

/// Writes the sections of base content by cycle: GCC, GCT, FBC, FTC, LBC and LTC.
fn write_base_contents(counted: &StatsPartial, out: &mut impl StatsOutput) {
    const ACGT: &str = "cycle; A,C,G,T base counts as a percentage of all A/C/G/T bases [%]";
    const ALL: &str = "cycle; A,C,G,T base counts as a percentage of all A/C/G/T bases [%]; \
                       and N and O counts as a percentage of all A/C/G/T bases [%]";
    let [first, last] = &counted.bases;
    let longest = counted.longest[0];
    write_section_header(out, "ACGT content per cycle", "GCC", ALL);
    write_limit_note("GCC, like GCT, FBC, LBC and IC,", longest, MAX_CYCLES, "cycles", out);
    write_percentages(
        "GCC",
        6,
        longest,
        |cycle| add_counts(first.as_recorded(cycle), last.as_recorded(cycle)),
        out,
    );
    write_section_header(out, "ACGT content per cycle, read oriented", "GCT", ACGT);
    write_percentages(
        "GCT",
        4,
        longest,
        |cycle| add_counts(first.as_sequenced(cycle), last.as_sequenced(cycle)),
        out,
    );
    for (bases, title, by_cycle, raw) in [(first, "first", "FBC", "FTC"), (last, "last", "LBC", "LTC")] {
        write_section_header(
            out,
            &format!("ACGT content per cycle for {title} fragments"),
            by_cycle,
            ALL,
        );
        write_percentages(by_cycle, 6, longest, |cycle| bases.as_recorded(cycle), out);
        write_section_header(
            out,
            &format!("ACGT raw counters for {title} fragments"),
            raw,
            "A,C,G,T,N base counters",
        );
        let [a, c, g, t, n, _] = bases.total_counts();
        out.add_row(raw, [a, c, g, t, n]);
    }
}

/// Writes a row per cycle: the share of each base among A, C, G and T, in percent. Cycles without
/// any are omitted.
fn write_percentages(
    tag: &'static str,
    columns: usize,
    longest: usize,
    bases: impl Fn(usize) -> BaseCounts,
    out: &mut impl StatsOutput,
) {
    for cycle in 0..longest.min(MAX_CYCLES) {
        let counts = bases(cycle);
        let known: u64 = counts[..4].iter().sum();
        if known == 0 {
            continue;
        }
        let shares = counts[..columns].iter().map(|&count| 100.0 * count as f64 / known as f64);
        let shares = shares.map(|share| format!("{share:.2}"));
        out.add_row(tag, iter::once((cycle + 1).to_string()).chain(shares));
    }
}

fn write_lengths(counted: &StatsPartial, out: &mut impl StatsOutput) {
    let titles = ["Read lengths", "Read lengths - first fragments", "Read lengths - last fragments"];
    for (i, (title, tag)) in titles.into_iter().zip(["RL", "FRL", "LRL"]).enumerate() {
        write_section_header(out, title, tag, "read length, count");
        write_limit_note(tag, counted.longest[i], MAX_READ_LENGTH, "lengths", out);
        for (length, count) in
            counted.lengths[i].nonzero_counts().filter(|&(length, _)| length <= MAX_READ_LENGTH)
        {
            out.add_row(tag, [length as u64, count]);
        }
    }
}

/// Writes the rows of section SN in samtools' order and arithmetic (single precision where samtools uses
/// it).
fn write_summary(counts: &StatsCounts, insertion: &InsertSummary, out: &mut impl StatsOutput) {
    let StatsCounts { counted, sorted, settings, order } = counts;
    let StatsSettings { options, targets, .. } = &**settings;
    let n = |count: C| counted.counts.get(count);
    let reads = n(C::First) + n(C::Last) + n(C::Other);
    let ratio = |a: u64, b: u64| if b == 0 { 0.0 } else { a as f32 / b as f32 };
    let overlap = order.as_ref().map_or(0, |order| order.overlap);
    let cigar_bases = n(C::CigarBases).wrapping_sub(overlap);
    let quality: u64 = counted.qualities.iter().map(|table| table.sum_and_highest().0).sum();
    let quality = if n(C::Bases) == 0 { 0.0 } else { quality as f64 / n(C::Bases) as f64 };
    let error_rate = format_exponential(ratio(counted.mismatches, cigar_bases));
    let sorting = if *sorted { "sorted" } else { "not sorted" };
    let proper = if reads == 0 { 0.0 } else { (100 * n(C::Proper)) as f32 / reads as f32 };
    let [inward, outward, other] = insertion.pairs;
    let [longest, longest_first, longest_last] = counted.longest;
    let mut row = |name: &str, value: String, comment: &str| out.add_summary(name, &value, comment);
    let text = |number: u64| number.to_string();
    row(
        "raw total sequences",
        text(reads + n(C::Filtered)),
        "excluding supplementary and secondary reads",
    );
    row("filtered sequences", text(n(C::Filtered)), "");
    row("sequences", text(reads), "");
    row("is sorted", text(u64::from(*sorted)), &format!("{sorting} by coordinate"));
    row("1st fragments", text(n(C::First)), "");
    row("last fragments", text(n(C::Last)), "");
    row("reads mapped", text(n(C::MappedInPair) + n(C::MappedAlone)), "");
    let both_mapped = "paired-end technology bit set + both mates mapped";
    row("reads mapped and paired", text(n(C::MappedInPair)), both_mapped);
    row("reads unmapped", text(n(C::Unmapped)), "");
    row("reads properly paired", text(n(C::Proper)), "proper-pair bit set");
    row("reads paired", text(n(C::Paired)), "paired-end technology bit set");
    row("reads duplicated", text(n(C::Duplicates)), "PCR or optical duplicate bit set");
    row("reads MQ0", text(n(C::MapqZero)), "mapped and MQ=0");
    row("reads QC failed", text(n(C::QcFailed)), "");
    row("non-primary alignments", text(n(C::Secondary)), "");
    row("supplementary alignments", text(n(C::Supplementary)), "");
    row("total length", text(n(C::Bases)), "ignores clipping");
    row("total first fragment length", text(n(C::FirstBases)), "ignores clipping");
    row("total last fragment length", text(n(C::LastBases)), "ignores clipping");
    row("bases mapped", text(n(C::MappedBases)), "ignores clipping");
    row("bases mapped (cigar)", cigar_bases.cast_signed().to_string(), "more accurate");
    row("bases trimmed", text(n(C::TrimmedBases)), "");
    row("bases duplicated", text(n(C::DuplicateBases)), "");
    row("mismatches", counted.mismatches.cast_signed().to_string(), "from NM fields");
    row("error rate", error_rate, "mismatches / bases mapped (cigar)");
    row("average length", format!("{:.0}", average_length(counted)), "");
    row("average first fragment length", format!("{:.0}", ratio(n(C::FirstBases), n(C::First))), "");
    row("average last fragment length", format!("{:.0}", ratio(n(C::LastBases), n(C::Last))), "");
    row("maximum length", longest.to_string(), "");
    row("maximum first fragment length", longest_first.to_string(), "");
    row("maximum last fragment length", longest_last.to_string(), "");
    row("average quality", format!("{quality:.1}"), "");
    row("insert size average", format!("{:.1}", insertion.mean), "");
    row("insert size standard deviation", format!("{:.1}", insertion.deviation), "");
    row("inward oriented pairs", text(inward), "");
    row("outward oriented pairs", text(outward), "");
    row("pairs with other orientation", text(other), "");
    row("pairs on different chromosomes", text(n(C::OtherContig) / 2), "");
    row("percentage of properly paired reads (%)", format!("{proper:.1}"), "");
    let Some(targets) = targets.as_ref().filter(|targets| targets.bases > 0) else { return };
    row("bases inside the target", text(targets.bases), "");
    let threshold = options.coverage_threshold;
    let rows = order.as_ref().map(|order| count_by_bin(order, options)).unwrap_or_default();
    let deep: u64 = rows.range(threshold as usize + 1..).map(|(_, positions)| positions).sum();
    let share = (100 * deep) as f32 / targets.bases as f32;
    let name = format!("percentage of target genome with coverage > {threshold} (%)");
    row(&name, format!("{share:.2}"), "");
}

/// Formats like C's `%e`: six decimals, and an exponent of at least two digits.
fn format_exponential(number: f32) -> String {
    let text = format!("{:.6e}", f64::from(number));
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::format_exponential;

    #[test]
    fn exponents_have_two_digits_and_a_sign() {
        for (number, text) in [
            (0.0, "0.000000e+00"),
            (0.001_234_567_8, "1.234568e-03"),
            (1.0, "1.000000e+00"),
            (1e10, "1.000000e+10"),
        ] {
            assert_eq!(format_exponential(number), text);
        }
    }
}
