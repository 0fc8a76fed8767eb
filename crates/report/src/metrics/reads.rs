//! Metrics of reads: how many there are, how many trimming dropped, and how many are aligned.

use crate::run::{Quantity, RunPart};

/// Returns the row of Picard's alignment summary for all reads: `PAIR`, or `UNPAIRED` for single-end
/// data.
pub fn alignment_row<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    let of = |category: &str| {
        run.first_row_of_all("alignment_summary_metrics", |row| row.text("CATEGORY") == category)
    };
    of("PAIR").or_else(|| of("UNPAIRED"))
}

/// Returns a count of samtools flagstat: the sum of QC-passed and QC-failed reads.
pub fn flagstat_count(run: &RunPart<'_>, name: &str) -> Option<Quantity> {
    let of = |which: &str| run.number(&format!("reports/flagstat/{name}/{which}"));
    Quantity::sum(["passed", "failed"].map(of))
}

/// Returns the number of sequenced reads, that is, of primary records.
pub(super) fn read_count(run: &RunPart<'_>) -> Option<Quantity> {
    let totals = || {
        let is_counted =
            |row: &RunPart<'_>| row.is_of_all() && ["PAIR", "UNPAIRED"].contains(&row.text("CATEGORY"));
        let rows = run.rows("alignment_summary_metrics", is_counted);
        Quantity::sum(rows.iter().map(|row| row.number("TOTAL_READS")))
    };
    flagstat_count(run, "primary").or_else(totals)
}

/// Returns the number of records, if the number of reads is unknown. A read can have several
/// records.
pub(super) fn record_count(run: &RunPart<'_>) -> Option<Quantity> {
    if read_count(run).is_some() { None } else { run.number("reads/read") }
}

/// Returns the number of reads, or of records if the number of reads is unknown.
pub fn sequenced_reads(run: &RunPart<'_>) -> Option<f64> {
    Some(read_count(run).or_else(|| record_count(run))?.value)
}

pub(super) fn mapped_share(run: &RunPart<'_>) -> Option<Quantity> {
    Quantity::share(flagstat_count(run, "primary mapped"), flagstat_count(run, "primary"))
        .or_else(|| alignment_row(run)?.number("PCT_PF_READS_ALIGNED"))
}

/// Paths of the counts before and after trimming, with fastp's names.
pub const TRIMMED_BEFORE: &str = "trimming/summary/before_filtering";

pub const TRIMMED_AFTER: &str = "trimming/summary/after_filtering";

/// Returns the number of reads before trimming.
pub fn trimmed_reads(run: &RunPart<'_>) -> Option<f64> {
    run.part(TRIMMED_BEFORE)?.value("total_reads")
}

const DROP_REASONS: [&str; 5] = [
    "low_quality_reads",
    "too_many_N_reads",
    "too_short_reads",
    "too_long_reads",
    "low_complexity_reads",
];

/// Returns the number of reads that trimming dropped, for all reasons together.
pub fn dropped_reads(run: &RunPart<'_>) -> Option<Quantity> {
    let results = run.part("trimming/filtering_result")?;
    let counted = DROP_REASONS.iter().filter(|name| results.at(name).is_some());
    Quantity::sum(counted.map(|name| results.number(name)))
}

pub(super) fn trimmed_away_share(run: &RunPart<'_>) -> Option<Quantity> {
    Quantity::share(dropped_reads(run), run.part(TRIMMED_BEFORE)?.number("total_reads"))
}
