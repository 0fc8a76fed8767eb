//! Writes the file of CollectRnaSeqMetrics.

use readmill_format::metrics::{HistogramColumn, MetricsFile, MetricsRow};

use super::counting::RnaTotals;
use super::evenness::Evenness;
use super::genes::Genes;
use super::options::RnaOptions;
use crate::levels::MetricsUnit;

const COLUMNS: [&str; 30] = [
    "PF_BASES",
    "PF_ALIGNED_BASES",
    "RIBOSOMAL_BASES",
    "CODING_BASES",
    "UTR_BASES",
    "INTRONIC_BASES",
    "INTERGENIC_BASES",
    "IGNORED_READS",
    "CORRECT_STRAND_READS",
    "INCORRECT_STRAND_READS",
    "NUM_R1_TRANSCRIPT_STRAND_READS",
    "NUM_R2_TRANSCRIPT_STRAND_READS",
    "NUM_UNEXPLAINED_READS",
    "PCT_R1_TRANSCRIPT_STRAND_READS",
    "PCT_R2_TRANSCRIPT_STRAND_READS",
    "PCT_RIBOSOMAL_BASES",
    "PCT_CODING_BASES",
    "PCT_UTR_BASES",
    "PCT_INTRONIC_BASES",
    "PCT_INTERGENIC_BASES",
    "PCT_MRNA_BASES",
    "PCT_USABLE_BASES",
    "PCT_CORRECT_STRAND_READS",
    "MEDIAN_CV_COVERAGE",
    "MEDIAN_5PRIME_BIAS",
    "MEDIAN_3PRIME_BIAS",
    "MEDIAN_5PRIME_TO_3PRIME_BIAS",
    "SAMPLE",
    "LIBRARY",
    "READ_GROUP",
];

/// Fills the file, with one row and one histogram for each of `units`.
pub(super) fn fill(
    file: &mut MetricsFile,
    genes: &Genes,
    has_ribosomal: bool,
    units: &[(&MetricsUnit, &RnaTotals)],
    options: &RnaOptions,
) {
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for (unit, totals) in units {
        let evenness = Evenness::from_depths(genes, totals, options);
        rows.push(make_row(unit, totals, &evenness, has_ribosomal));
        let label = [unit.histogram_label(), b".normalized_coverage"].concat();
        let bins = evenness.by_percent.unwrap_or_default();
        columns.push(HistogramColumn { label, bins: (0..).zip(bins).collect() });
    }
    file.set_table("picard.analysis.RnaSeqMetrics", &COLUMNS, rows);
    file.set_histograms("java.lang.Integer", "normalized_position", columns);
}

fn make_row(
    unit: &MetricsUnit,
    totals: &RnaTotals,
    evenness: &Evenness,
    has_ribosomal: bool,
) -> MetricsRow {
    let (counts, mut row) = (&totals.counts, MetricsRow::default());
    let [intergenic, intron, untranslated, coding] = counts.by_function;
    let aligned = counts.aligned as f64;
    let share = |part: u64, all: f64| if all > 0.0 { part as f64 / all } else { 0.0 };
    row.push_integer(counts.bases).push_integer(counts.aligned);
    match has_ribosomal {
        true => row.push_integer(counts.ribosomal),
        false => row.push_text(b""),
    };
    for number in [
        coding,
        untranslated,
        intron,
        intergenic,
        counts.ignored_reads,
        counts.correct_strand,
        counts.incorrect_strand,
        counts.r1_transcript_strand,
        counts.r2_transcript_strand,
        counts.unexplained,
    ] {
        row.push_integer(number);
    }
    let (r1, r2) = (counts.r1_transcript_strand, counts.r2_transcript_strand);
    row.push_decimal(share(r1, (r1 + r2) as f64)).push_decimal(share(r2, (r1 + r2) as f64));
    match has_ribosomal && counts.aligned > 0 {
        true => row.push_decimal(share(counts.ribosomal, aligned)),
        false => row.push_text(b""),
    };
    for part in [coding, untranslated, intron, intergenic] {
        row.push_decimal(share(part, aligned));
    }
    row.push_decimal(share(coding, aligned) + share(untranslated, aligned));
    let usable =
        if counts.aligned > 0 { (coding + untranslated) as f64 / counts.bases as f64 } else { 0.0 };
    row.push_decimal(usable);
    let stranded = (counts.correct_strand + counts.incorrect_strand) as f64;
    row.push_decimal(share(counts.correct_strand, stranded));
    row.push_decimal(evenness.median_cv).push_decimal(evenness.median_5_prime);
    row.push_decimal(evenness.median_3_prime).push_decimal(evenness.median_5_to_3);
    for name in unit.column_values() {
        row.push_optional(name);
    }
    row
}
