//! The key metrics of a sample. They can have limits, and the page compares samples by them.
//!
//! A metric is one entry of [`METRICS`]. Its `find` function gets the value from a run description.
//! If several reports contain a metric, the function prefers targets to the whole genome.

use crate::lanes::{LaneDistance, collect_lanes, find_gc_outlier, find_insert_outlier, has_all_reads};
use crate::run::{NumberRule, Quantity, RunPart};
use crate::text::NumberFormat;

/// A key metric of a sample.
///
/// `verdict` compares the value with its limit, `cohort` compares it between samples, and the
/// `--qc-thresholds` file refers to it by `key`. To add a metric, add an entry to [`METRICS`], default
/// limits to `limits::DEFAULT_LIMITS`, a rule to `rules::RULES`, and a row to docs/report.md.
pub struct Metric {
    pub key: &'static str,
    pub name: &'static str,
    pub form: NumberFormat,
    /// Id of the section with the details, to which the metric's tile links.
    pub section: &'static str,
    /// Common causes of a failure, as a phrase that the page shows after "Common causes:".
    pub hint: &'static str,
    /// Gets the value from a run. `None` if the run does not have it.
    pub find: fn(&RunPart<'_>) -> Option<Quantity>,
}

pub const METRICS: &[Metric] = &[
    Metric {
        key: "reads",
        name: "Reads",
        form: NumberFormat::Plain,
        section: "flow",
        hint: "too little sequencing, or a truncated input",
        find: read_count,
    },
    Metric {
        key: "records",
        name: "Records",
        form: NumberFormat::Plain,
        section: "flow",
        hint: "too little sequencing, or a truncated input",
        find: record_count,
    },
    Metric {
        key: "trimmed_away",
        name: "Reads dropped by trimming",
        form: NumberFormat::Share,
        section: "trimming",
        hint: "low-quality reads, or fragments so short that the reads are mostly adapter",
        find: trimmed_away_share,
    },
    Metric {
        key: "adapter_bases",
        name: "Adapter bases",
        form: NumberFormat::Share,
        section: "trimming",
        hint: "fragments shorter than the reads, so the reads run into the adapter (trimming removed it)",
        find: |run| {
            let (part, whole) = ("adapter_cutting/adapter_trimmed_bases", "total_bases");
            Quantity::share(run.part("trimming")?.number(part), run.part(TRIMMED_BEFORE)?.number(whole))
        },
    },
    Metric {
        key: "mapped",
        name: "Mapped reads",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "reads from another species, adapter dimers, or the wrong reference",
        find: mapped_share,
    },
    Metric {
        key: "chimeras",
        name: "Chimeric reads",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "fragments joined during library preparation, or a rearranged genome",
        find: |run| alignment_row(run)?.number("PCT_CHIMERAS"),
    },
    Metric {
        key: "mismatches",
        name: "Mismatch rate",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "sequencing errors, another strain or species, or DNA damage",
        find: |run| alignment_row(run)?.number("PF_MISMATCH_RATE"),
    },
    Metric {
        key: "soft_clipped",
        name: "Soft-clipped bases",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "short fragments whose reads run into the adapter, or low-quality read ends",
        find: |run| alignment_row(run)?.number("PCT_SOFTCLIP"),
    },
    Metric {
        key: "duplicates",
        name: "Duplicates",
        form: NumberFormat::Share,
        section: "duplicates",
        hint: "a library amplified from few molecules; more sequencing adds little new data",
        find: duplicate_share,
    },
    Metric {
        key: "optical_duplicates",
        name: "Optical duplicates",
        form: NumberFormat::Share,
        section: "duplicates",
        hint: "one cluster called as several, because of an overloaded flow cell or an underloaded \
            patterned flow cell",
        find: optical_duplicate_share,
    },
    Metric {
        key: "library_size",
        name: "Estimated library size",
        form: NumberFormat::Plain,
        section: "duplicates",
        hint: "few distinct molecules in the library",
        find: library_size,
    },
    Metric {
        key: "insert_size",
        name: "Median insert size",
        form: NumberFormat::Decimal(0, "\u{a0}bases"),
        section: "inserts",
        hint: "over-fragmented or degraded DNA",
        find: |run| insert_row(run)?.number("MEDIAN_INSERT_SIZE"),
    },
    Metric {
        key: "short_inserts",
        name: "Inserts shorter than the reads",
        form: NumberFormat::Share,
        section: "inserts",
        hint: "fragments shorter than the reads, so the reads run into the adapter; trim adapters, or \
            prepare longer fragments",
        find: short_insert_share,
    },
    Metric {
        key: "q30_bases",
        name: "Q30 bases",
        form: NumberFormat::Share,
        section: "qualities",
        hint: "an overloaded flow cell, old reagents, or reads too long for the chemistry",
        find: q30_share,
    },
    Metric {
        key: "worst_cycle",
        name: "Lowest mean quality of a cycle",
        form: NumberFormat::Decimal(1, ""),
        section: "qualities",
        hint: "a failed cycle, for example because of a bubble, a bad reagent or lost focus",
        find: worst_cycle,
    },
    Metric {
        key: "n_of_cycle",
        name: "Highest N content in a cycle",
        form: NumberFormat::Decimal(2, "\u{a0}%"),
        section: "qualities",
        hint: "a failed cycle, in which bases could not be called",
        find: max_n_percent,
    },
    Metric {
        key: "on_target",
        name: "Bases on or near baits",
        form: NumberFormat::Share,
        section: "coverage",
        hint: "a failed hybridization or too little washing, baits of another panel, or a library that \
            was not enriched",
        find: |run| run.number(&format!("{TARGETS}/PCT_SELECTED_BASES")),
    },
    Metric {
        key: "fold_enrichment",
        name: "Fold enrichment",
        form: NumberFormat::Decimal(1, ""),
        section: "coverage",
        hint: "a failed hybridization, baits of another panel, or a library that was not enriched",
        find: |run| run.number(&format!("{TARGETS}/FOLD_ENRICHMENT")),
    },
    Metric {
        key: "at_dropout",
        name: "AT dropout",
        form: NumberFormat::Decimal(1, "\u{a0}%"),
        section: "gc",
        hint: "loss of AT-rich regions during amplification or capture",
        find: |run| dropout(run, "AT_DROPOUT"),
    },
    Metric {
        key: "gc_dropout",
        name: "GC dropout",
        form: NumberFormat::Decimal(1, "\u{a0}%"),
        section: "gc",
        hint: "loss of GC-rich regions during amplification or capture",
        find: |run| dropout(run, "GC_DROPOUT"),
    },
    Metric {
        key: "mean_coverage",
        name: "Mean coverage",
        form: NumberFormat::Decimal(1, "×"),
        section: "coverage",
        hint: "too little sequencing, reads lost as duplicates, overlapping mates, or targets that were \
            not captured",
        find: mean_coverage,
    },
    Metric {
        key: "bases_at_20x",
        name: "Bases covered ≥ 20×",
        form: NumberFormat::Share,
        section: "coverage",
        hint: "low mean coverage, or regions without coverage, where variants will be missed",
        find: |run| share_at_depth(run, 20),
    },
    Metric {
        key: "even_coverage",
        name: "Bases covered ≥ 0.2× mean",
        form: NumberFormat::Share,
        section: "coverage",
        hint: "regions that were not captured or not amplified",
        find: even_coverage,
    },
    Metric {
        key: "fold_80",
        name: "Fold-80 penalty",
        form: NumberFormat::Decimal(2, ""),
        section: "coverage",
        hint: "uneven capture or amplification: too little coverage of some regions, too much of others",
        find: fold_80,
    },
    Metric {
        key: "oxidation",
        name: "OxoG score (Phred)",
        form: NumberFormat::Decimal(0, ""),
        section: "artifacts",
        hint: "guanine oxidation during DNA shearing, which causes false G>T substitutions",
        find: oxidation_score,
    },
    Metric {
        key: "ribosomal",
        name: "Ribosomal bases",
        form: NumberFormat::Share,
        section: "rna",
        hint: "ribosomal RNA that was not removed, or poly-A selection of degraded RNA",
        find: |run| run.first_row_of_all("rna_metrics", |_| true)?.number("PCT_RIBOSOMAL_BASES"),
    },
    Metric {
        key: "mrna_bases",
        name: "mRNA bases",
        form: NumberFormat::Share,
        section: "rna",
        hint: "genomic DNA or unspliced RNA in the library, ribosomal RNA, or genes of another genome build",
        find: |run| run.first_row_of_all("rna_metrics", |_| true)?.number("PCT_MRNA_BASES"),
    },
    Metric {
        key: "lanes_insert",
        name: "Insert size difference between lanes",
        form: NumberFormat::Share,
        section: "lanes",
        hint: "a lane from another library or another sample",
        find: |run| find_insert_outlier(&collect_lanes(run)).map(|apart| apart.source),
    },
    Metric {
        key: "lanes_gc",
        name: "GC difference between lanes",
        form: NumberFormat::Points,
        section: "lanes",
        hint: "a lane from another library or another sample",
        find: |run| find_gc_outlier(&collect_lanes(run)).map(|apart| apart.source),
    },
];

pub fn find_metric(key: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.key == key)
}

/// Returns the row of Picard's alignment summary for all reads: `PAIR`, or `UNPAIRED` for single-end
/// data.
pub fn alignment_row<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    let of = |category: &str| {
        run.first_row_of_all("alignment_summary_metrics", |row| row.text("CATEGORY") == category)
    };
    of("PAIR").or_else(|| of("UNPAIRED"))
}

/// Returns the row of Picard's insert size metrics for the most frequent pair orientation of all
/// reads. Picard writes it first.
pub fn insert_row<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    run.first_row_of_all("insert_size_metrics", |_| true)
}

/// Returns the row of Picard's GC bias summary for all reads, including duplicates.
pub fn gc_row<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    run.first_row_of_all("gc_bias.summary_metrics", has_all_reads)
}

/// Returns a count of samtools flagstat: the sum of QC-passed and QC-failed reads.
pub fn flagstat_count(run: &RunPart<'_>, name: &str) -> Option<Quantity> {
    let of = |which: &str| run.number(&format!("reports/flagstat/{name}/{which}"));
    Quantity::sum(["passed", "failed"].map(of))
}

/// Returns the number of sequenced reads, that is, of primary records.
fn read_count(run: &RunPart<'_>) -> Option<Quantity> {
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
fn record_count(run: &RunPart<'_>) -> Option<Quantity> {
    if read_count(run).is_some() { None } else { run.number("reads/read") }
}

/// Returns the number of reads, or of records if the number of reads is unknown.
pub fn sequenced_reads(run: &RunPart<'_>) -> Option<f64> {
    Some(read_count(run).or_else(|| record_count(run))?.value)
}

/// Returns the number of reads before trimming.
pub fn trimmed_reads(run: &RunPart<'_>) -> Option<f64> {
    run.part(TRIMMED_BEFORE)?.value("total_reads")
}

/// Returns the number of reads that were compared to find duplicates.
pub fn compared_reads(run: &RunPart<'_>) -> Option<f64> {
    match &library_rows(run)[..] {
        [] => Some(flagstat_count(run, "primary mapped")?.value),
        rows => Some(sum_of_rows(rows, &EXAMINED)?.value),
    }
}

/// Returns the row of Picard's target metrics, if it has the dropout of targets. Without a reference,
/// Picard writes 0 for both.
pub fn target_gc_row<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    let row = run.part(TARGETS)?;
    let is_known = |name: &str| row.value(name).is_some_and(|percent| percent > 0.0);
    (is_known("AT_DROPOUT") || is_known("GC_DROPOUT")).then_some(row)
}

/// Returns the dropout of targets, or of the genome if there are no targets.
fn dropout(run: &RunPart<'_>, name: &str) -> Option<Quantity> {
    target_gc_row(run).or_else(|| gc_row(run))?.number(name)
}

fn mapped_share(run: &RunPart<'_>) -> Option<Quantity> {
    Quantity::share(flagstat_count(run, "primary mapped"), flagstat_count(run, "primary"))
        .or_else(|| alignment_row(run)?.number("PCT_PF_READS_ALIGNED"))
}

/// Paths of the counts before and after trimming, with fastp's names.
pub const TRIMMED_BEFORE: &str = "trimming/summary/before_filtering";
pub const TRIMMED_AFTER: &str = "trimming/summary/after_filtering";

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

fn trimmed_away_share(run: &RunPart<'_>) -> Option<Quantity> {
    Quantity::share(dropped_reads(run), run.part(TRIMMED_BEFORE)?.number("total_reads"))
}

pub fn library_rows<'a>(run: &RunPart<'a>) -> Vec<RunPart<'a>> {
    run.rows("duplicates", |row| row.at("READ_PAIRS_EXAMINED").is_some())
}

/// Returns the sum of `fields` over all rows. A field that is listed twice counts twice.
fn sum_of_rows(rows: &[RunPart<'_>], fields: &[&str]) -> Option<Quantity> {
    Quantity::sum(rows.iter().flat_map(|row| fields.iter().map(|field| row.number(field))))
}

/// The reads that were compared. A pair counts as two reads, so the field of pairs is listed twice.
const EXAMINED: [&str; 3] = ["READ_PAIRS_EXAMINED", "READ_PAIRS_EXAMINED", "UNPAIRED_READS_EXAMINED"];

fn duplicate_share(run: &RunPart<'_>) -> Option<Quantity> {
    let rows = library_rows(run);
    // A pair counts as two reads, so the fields of pairs are listed twice.
    let pairs = ["READ_PAIR_DUPLICATES", "READ_PAIR_DUPLICATES", "UNPAIRED_READ_DUPLICATES"];
    match &rows[..] {
        [] => Quantity::share(flagstat_count(run, "primary duplicates"), flagstat_count(run, "primary")),
        [row] => row.number("PERCENT_DUPLICATION"),
        _ => Quantity::share(sum_of_rows(&rows, &pairs), sum_of_rows(&rows, &EXAMINED)),
    }
}

/// Returns the name of the column with the set sizes. Picard names it `BIN` if the histogram also
/// has the column `CoverageMult` (return on investment, only for a single library), and otherwise
/// `set_size`.
pub fn set_size_key(histogram: &RunPart<'_>) -> &'static str {
    if histogram.at("set_size").is_some() { "set_size" } else { "BIN" }
}

/// Returns the histogram of duplicate set sizes. `None` if the run did not detect optical
/// duplicates: as in Picard, its histogram then has only sets of size 1.
pub fn set_histogram<'a>(run: &RunPart<'a>) -> Option<RunPart<'a>> {
    let histogram = run.part("reports/duplicates/histograms/0")?;
    let (sizes, sets) = (histogram.column(set_size_key(&histogram)), histogram.column("all_sets"));
    let is_larger = sizes.iter().zip(&sets).any(|(size, sets)| *size > 1.0 && *sets > 0.0);
    let duplicates = sum_of_rows(&library_rows(run), &["READ_PAIR_DUPLICATES"]);
    let has_none = duplicates.is_some_and(|it| it.value == 0.0) && !sets.is_empty();
    (is_larger || has_none).then_some(histogram)
}

/// Returns the fraction of pairs that are optical duplicates. `None` if no read name has a tile: the
/// count is then 0, but nothing was measured.
fn optical_duplicate_share(run: &RunPart<'_>) -> Option<Quantity> {
    set_histogram(run)?;
    let rows = library_rows(run);
    let optical = sum_of_rows(&rows, &["READ_PAIR_OPTICAL_DUPLICATES"])?;
    let has_tiles = !run.list("reports/duplicates_by_tile/tile").is_empty();
    if optical.value == 0.0 && !has_tiles {
        return None;
    }
    Quantity::share(Some(optical), sum_of_rows(&rows, &["READ_PAIRS_EXAMINED"]))
}

fn library_size(run: &RunPart<'_>) -> Option<Quantity> {
    let sizes = library_rows(run).into_iter().filter_map(|row| row.number("ESTIMATED_LIBRARY_SIZE"));
    Quantity::sum(sizes.map(Some))
}

/// Paths of Picard's histograms, which have one list for each column.
pub const INSERT_HISTOGRAM: &str = "reports/insert_size_metrics/histograms/0";
pub const QUALITY_HISTOGRAM: &str = "reports/quality_distribution_metrics/histograms/0";
pub const CYCLE_HISTOGRAM: &str = "reports/quality_by_cycle_metrics/histograms/0";

/// Returns the sum of the counts whose key is less than `below`, and the sum of all counts. `keys`
/// and `counts` name columns of the histogram.
fn count_below(histogram: &RunPart<'_>, keys: &str, counts: &str, below: f64) -> (f64, f64) {
    let (keys, counts) = (histogram.column(keys), histogram.column(counts));
    let low = keys.iter().zip(&counts).filter(|(key, _)| **key < below).map(|(_, count)| count);
    (low.sum(), counts.iter().sum())
}

fn short_insert_share(run: &RunPart<'_>) -> Option<Quantity> {
    let below = alignment_row(run)?.value("MEDIAN_READ_LENGTH")?;
    let orientation = insert_row(run)?.text("PAIR_ORIENTATION").to_lowercase();
    let counts = format!("All_Reads.{orientation}_count");
    let histogram = run.part(INSERT_HISTOGRAM)?;
    let (short, all) = count_below(&histogram, "insert_size", &counts, below);
    let rule = NumberRule::Bins { is: "below", keys: histogram.pointer("insert_size"), below };
    (all > 0.0).then(|| Quantity::new(short / all, histogram.pointer(&counts), rule))
}

fn q30_share(run: &RunPart<'_>) -> Option<Quantity> {
    let of = |name: &str| run.number(&format!("reports/quality_yield_metrics/rows/0/{name}"));
    Quantity::share(of("Q30_BASES"), of("TOTAL_BASES")).or_else(|| {
        let histogram = run.part(QUALITY_HISTOGRAM)?;
        let (low, all) = count_below(&histogram, "QUALITY", "COUNT_OF_Q", 30.0);
        let rule = NumberRule::Bins { is: "from", keys: histogram.pointer("QUALITY"), below: 30.0 };
        (all > 0.0).then(|| Quantity::new((all - low) / all, histogram.pointer("COUNT_OF_Q"), rule))
    })
}

fn worst_cycle(run: &RunPart<'_>) -> Option<Quantity> {
    let means = run.part(CYCLE_HISTOGRAM)?.part("MEAN_QUALITY")?;
    let min_mean = means.column("").into_iter().min_by(f64::total_cmp)?;
    Some(Quantity::new(min_mean, means.pointer(""), NumberRule::Function { is: "min", key: None }))
}

/// Returns the row of Picard's base distribution by cycle with the highest N percentage, and that
/// percentage.
fn max_n_row<'a>(run: &RunPart<'a>) -> Option<(RunPart<'a>, f64)> {
    let rows = run.rows("base_distribution_by_cycle_metrics", |row| row.value("PCT_N").is_some());
    let with_percent = rows.into_iter().filter_map(|row| Some((row.clone(), row.value("PCT_N")?)));
    with_percent.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn max_n_percent(run: &RunPart<'_>) -> Option<Quantity> {
    let rows = "/reports/base_distribution_by_cycle_metrics/rows";
    let rule = NumberRule::Function { is: "max", key: Some("PCT_N") };
    Some(Quantity::new(max_n_row(run)?.1, rows, rule))
}

pub const CONTIGS: &str = "reports/mosdepth.summary.txt";

/// Returns the mean depth from mosdepth's summary, in the row whose column `chrom` is `name`.
pub fn mosdepth_mean(run: &RunPart<'_>, name: &str) -> Option<Quantity> {
    run.items(CONTIGS).find(|row| row.text("chrom") == name)?.number("mean")
}

pub const TARGETS: &str = "reports/hs_metrics/rows/0";
const GENOME: &str = "reports/wgs_metrics/rows/0";

pub fn mean_coverage(run: &RunPart<'_>) -> Option<Quantity> {
    run.number(&format!("{TARGETS}/MEAN_TARGET_COVERAGE"))
        .or_else(|| mosdepth_mean(run, "total_region"))
        .or_else(|| run.number(&format!("{GENOME}/MEAN_COVERAGE")))
        .or_else(|| mosdepth_mean(run, "total"))
}

fn share_at_depth(run: &RunPart<'_>, depth: u32) -> Option<Quantity> {
    let of_mosdepth = |report: &str| {
        let report = run.part(&format!("reports/{report}"))?;
        let depths = report.column("depth");
        let deepest = depths.iter().copied().max_by(f64::total_cmp)?;
        match depths.iter().position(|it| *it == f64::from(depth)) {
            Some(at) => report.number(&format!("share/{at}")),
            // mosdepth does not list depths greater than the maximum depth.
            None => (f64::from(depth) > deepest)
                .then(|| Quantity::new(0.0, report.pointer("depth"), NumberRule::NoneAbove(depth))),
        }
    };
    run.number(&format!("{TARGETS}/PCT_TARGET_BASES_{depth}X"))
        .or_else(|| of_mosdepth("mosdepth.region.dist.txt"))
        .or_else(|| run.number(&format!("{GENOME}/PCT_{depth}X")))
        .or_else(|| of_mosdepth("mosdepth.global.dist.txt"))
}

/// Returns the fraction of bases with at least 0.2 times the mean depth, from target regions if the
/// run has them.
fn even_coverage(run: &RunPart<'_>) -> Option<Quantity> {
    let of = |report: &str, total: &str| {
        let min_depth = (mosdepth_mean(run, total)?.value / 5.0).ceil();
        let report = run.part(&format!("reports/{report}"))?;
        let at = report.column("depth").iter().position(|it| *it == min_depth)?;
        report.number(&format!("share/{at}"))
    };
    of("mosdepth.region.dist.txt", "total_region").or_else(|| of("mosdepth.global.dist.txt", "total"))
}

/// Returns the mean depth of the report from which `even_coverage` is computed.
pub fn mosdepth_target_mean(run: &RunPart<'_>) -> Option<Quantity> {
    let has_targets = run.part("reports/mosdepth.region.dist.txt").is_some();
    let of_targets = if has_targets { mosdepth_mean(run, "total_region") } else { None };
    of_targets.or_else(|| mosdepth_mean(run, "total"))
}

fn has_targets(run: &RunPart<'_>) -> bool {
    let has_regions = || run.items(CONTIGS).any(|row| row.text("chrom") == "total_region");
    run.at(TARGETS).is_some() || (has_regions() && !run.has_coverage_windows())
}

/// Returns the title of a metric in this run. If the run has targets, titles of coverage metrics
/// name them.
pub fn metric_title(metric: &Metric, run: &RunPart<'_>) -> String {
    let is_of_targets = ["mean_coverage", "bases_at_20x", "even_coverage"].contains(&metric.key);
    match metric.key {
        "mean_coverage" if has_targets(run) => "Mean target coverage".into(),
        _ if is_of_targets && has_targets(run) => {
            format!("Target b{}", metric.name.trim_start_matches('B'))
        }
        _ => metric.name.into(),
    }
}

/// Returns the cycle or lane that has the value of a metric. `None` for metrics of the whole sample.
pub fn metric_place(metric: &Metric, run: &RunPart<'_>) -> Option<String> {
    let lane = |apart: Option<LaneDistance>| {
        Some(format!("lane {}", collect_lanes(run).get(apart?.lane)?.name))
    };
    match metric.key {
        "worst_cycle" => {
            let histogram = run.part(CYCLE_HISTOGRAM)?;
            let (cycles, means) = (histogram.column("CYCLE"), histogram.column("MEAN_QUALITY"));
            let (cycle, _) = cycles.iter().zip(&means).min_by(|a, b| a.1.total_cmp(b.1))?;
            Some(format!("cycle {cycle}; cycles of read 2 are numbered after those of read 1"))
        }
        "n_of_cycle" => {
            let (row, _) = max_n_row(run)?;
            Some(format!("read {}, cycle {}", row.at("READ_END")?, row.at("CYCLE")?))
        }
        "lanes_insert" => lane(find_insert_outlier(&collect_lanes(run))),
        "lanes_gc" => lane(find_gc_outlier(&collect_lanes(run))),
        _ => None,
    }
}

fn fold_80(run: &RunPart<'_>) -> Option<Quantity> {
    let of = |row: &str| run.number(&format!("{row}/FOLD_80_BASE_PENALTY"));
    of(TARGETS).or_else(|| of(GENOME))
}

/// Returns the mean depth of the report that has the fold-80 penalty.
pub fn fold_80_mean(run: &RunPart<'_>) -> Option<f64> {
    let of = |row: &str, mean: &str| {
        run.at(&format!("{row}/FOLD_80_BASE_PENALTY"))?;
        run.value(&format!("{row}/{mean}"))
    };
    of(TARGETS, "MEAN_TARGET_COVERAGE").or_else(|| of(GENOME, "MEAN_COVERAGE"))
}

fn oxidation_score(run: &RunPart<'_>) -> Option<Quantity> {
    let is_oxidation = |row: &RunPart<'_>| row.text("REF_BASE") == "G" && row.text("ALT_BASE") == "T";
    let rows = run.rows("pre_adapter_summary_metrics", is_oxidation);
    let scores = rows.iter().filter_map(|row| row.number("TOTAL_QSCORE"));
    scores.min_by(|a, b| a.value.total_cmp(&b.value))
}
