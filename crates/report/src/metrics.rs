//! The key metrics of a sample: the numbers that have limits and by which samples are compared.
//!
//! A metric is one entry of [`METRICS`]. Its `find` function reads one value from the description
//! of a run. If several tools counted the number, it takes the most specific: targets before the
//! whole genome, and Picard's report before the simpler ones.

use serde_json::Value;

use crate::lanes::{LaneDistance, collect_lanes, find_gc_outlier, find_insert_outlier};
use crate::run::{Quantity, RunDescription};
use crate::text::{NumberFormat, escape_html};

/// A key metric of a sample.
///
/// `verdict` compares it with its limit, `cohort` compares it between samples, and files of
/// `--qc-thresholds` refer to it by `key`. To add one, append an entry to [`METRICS`], its default
/// limits to `limits::DEFAULT_LIMITS`, and a row to docs/report.md; if it fails together with others for
/// one reason, add it to `diagnosis::CAUSES`, too.
pub struct Metric {
    pub key: &'static str,
    pub name: &'static str,
    pub form: NumberFormat,
    /// Id of the section that shows the details; the metric's tile links to it.
    pub section: &'static str,
    /// Usual causes of a bad value. The page shows it after "Usual causes:".
    pub hint: &'static str,
    /// Reads the value. `None` if the run did not count it.
    pub find: fn(&RunDescription<'_>) -> Option<Quantity>,
}

pub const METRICS: &[Metric] = &[
    Metric {
        key: "reads",
        name: "Reads",
        form: NumberFormat::Plain,
        section: "flow",
        hint: "too little was sequenced, or the input was cut short",
        find: read_count,
    },
    Metric {
        key: "trimmed_away",
        name: "Reads dropped by trimming",
        form: NumberFormat::Share,
        section: "trimming",
        hint: "fragments so short that hardly more than adapter was read, or reads of low quality",
        find: trimmed_away_share,
    },
    Metric {
        key: "adapter_bases",
        name: "Bases of adapter",
        form: NumberFormat::Share,
        section: "trimming",
        hint: "fragments too short for the reads, which run through them into the adapter; it was cut off",
        find: |run| {
            let part = format!("{ADAPTER}/adapter_trimmed_bases");
            run.share(&[part], &[format!("{TRIMMED_BEFORE}/total_bases")])
        },
    },
    Metric {
        key: "mapped",
        name: "Mapped reads",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "reads of another species, adapter dimers, or the wrong reference",
        find: mapped_share,
    },
    Metric {
        key: "chimeras",
        name: "Chimeric pairs",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "fragments joined when the library was made, or a rearranged genome",
        find: |run| run.number(&format!("{}/PCT_CHIMERAS", alignment_row(run)?)),
    },
    Metric {
        key: "mismatches",
        name: "Mismatched bases",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "sequencing errors, another strain or species, or damaged DNA",
        find: |run| run.number(&format!("{}/PF_MISMATCH_RATE", alignment_row(run)?)),
    },
    Metric {
        key: "soft_clipped",
        name: "Soft-clipped bases",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "adapters read through short fragments, or reads that end in bad bases",
        find: |run| run.number(&format!("{}/PCT_SOFTCLIP", alignment_row(run)?)),
    },
    Metric {
        key: "duplicates",
        name: "Duplicates",
        form: NumberFormat::Share,
        section: "duplicates",
        hint: "a library amplified from few molecules; more sequencing gives little that is new",
        find: duplicate_share,
    },
    Metric {
        key: "optical_duplicates",
        name: "Optical duplicates",
        form: NumberFormat::Share,
        section: "duplicates",
        hint: "clusters read as several: a flow cell loaded too densely, or too thinly if it is \
            patterned",
        find: optical_duplicate_share,
    },
    Metric {
        key: "library_size",
        name: "Library size",
        form: NumberFormat::Plain,
        section: "duplicates",
        hint: "few different molecules in the library",
        find: library_size,
    },
    Metric {
        key: "insert_size",
        name: "Insert size",
        form: NumberFormat::Decimal(0, "\u{a0}bases"),
        section: "inserts",
        hint: "DNA sheared too much, or degraded",
        find: |run| run.number(&format!("{}/MEDIAN_INSERT_SIZE", insert_row(run)?)),
    },
    Metric {
        key: "short_inserts",
        name: "Inserts shorter than a read",
        form: NumberFormat::Share,
        section: "inserts",
        hint: "fragments too short for the reads, which run through them into the adapter; trim \
            adapters, and make longer fragments",
        find: short_insert_share,
    },
    Metric {
        key: "q30_bases",
        name: "Bases of Q30 or more",
        form: NumberFormat::Share,
        section: "qualities",
        hint: "a run of low quality",
        find: q30_share,
    },
    Metric {
        key: "worst_cycle",
        name: "Quality of the worst cycle",
        form: NumberFormat::Decimal(1, ""),
        section: "qualities",
        hint: "a cycle or the end of a read that failed: a bubble, a reagent, or the focus",
        find: worst_cycle,
    },
    Metric {
        key: "n_of_cycle",
        name: "Most N in a cycle",
        form: NumberFormat::Decimal(2, "\u{a0}%"),
        section: "qualities",
        hint: "a cycle whose bases could not be called",
        find: max_n_percent,
    },
    Metric {
        key: "at_dropout",
        name: "AT dropout",
        form: NumberFormat::Decimal(1, "\u{a0}%"),
        section: "gc",
        hint: "amplification or capture that loses regions rich in A and T",
        find: |run| run.number(&format!("{}/AT_DROPOUT", gc_row(run)?)),
    },
    Metric {
        key: "gc_dropout",
        name: "GC dropout",
        form: NumberFormat::Decimal(1, "\u{a0}%"),
        section: "gc",
        hint: "amplification or capture that loses regions rich in G and C",
        find: |run| run.number(&format!("{}/GC_DROPOUT", gc_row(run)?)),
    },
    Metric {
        key: "mean_coverage",
        name: "Mean coverage",
        form: NumberFormat::Decimal(1, "×"),
        section: "coverage",
        hint: "too little was sequenced, much of it was lost as duplicates or overlaps of mates, or targets \
            were not captured",
        find: mean_coverage,
    },
    Metric {
        key: "bases_at_20x",
        name: "Bases covered 20×",
        form: NumberFormat::Share,
        section: "coverage",
        hint: "low mean coverage, or regions that were lost; variants will be missed there",
        find: |run| share_at_depth(run, 20),
    },
    Metric {
        key: "even_coverage",
        name: "Bases with a fifth of the mean",
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
        hint: "uneven capture or amplification: some regions are missed while others get too much",
        find: fold_80,
    },
    Metric {
        key: "oxidation",
        name: "Oxidation score (Phred)",
        form: NumberFormat::Decimal(0, ""),
        section: "artifacts",
        hint: "guanine oxidised when DNA was sheared, which gives false G>T",
        find: oxidation_score,
    },
    Metric {
        key: "lanes_insert",
        name: "Lanes apart in insert size",
        form: NumberFormat::Share,
        section: "lanes",
        hint: "a lane of another library, or of another sample",
        find: |run| find_insert_outlier(&collect_lanes(run)).map(|apart| apart.source),
    },
    Metric {
        key: "lanes_gc",
        name: "Lanes apart in GC",
        form: NumberFormat::Points,
        section: "lanes",
        hint: "a lane of another library, or of another sample",
        find: |run| find_gc_outlier(&collect_lanes(run)).map(|apart| apart.source),
    },
];

pub fn find_metric(key: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.key == key)
}

/// Returns the pointer of Picard's alignment summary of all reads: the row `PAIR`, or `UNPAIRED`
/// for single reads.
pub fn alignment_row(run: &RunDescription<'_>) -> Option<String> {
    let of = |category: &str| {
        run.first_row_of_all("alignment_summary_metrics", |row| {
            row.get("CATEGORY").is_some_and(|it| it == category)
        })
    };
    of("PAIR").or_else(|| of("UNPAIRED"))
}

/// Returns the pointer of Picard's insert sizes of all reads. The first row has the orientation of
/// most pairs.
pub fn insert_row(run: &RunDescription<'_>) -> Option<String> {
    run.first_row_of_all("insert_size_metrics", |_| true)
}

/// Returns the pointer of Picard's summary of GC bias in which duplicates count, too.
pub fn gc_row(run: &RunDescription<'_>) -> Option<String> {
    run.first_row_of_all("gc_bias.summary_metrics", |row| {
        row.get("READS_USED").is_none_or(|used| used == "ALL")
    })
}

fn flagstat_pointers(name: &str) -> Vec<String> {
    ["passed", "failed"].map(|which| format!("/reports/flagstat/{name}/{which}")).to_vec()
}

fn read_count(run: &RunDescription<'_>) -> Option<Quantity> {
    run.sum(&flagstat_pointers("primary")).or_else(|| run.number("/reads/read"))
}

fn mapped_share(run: &RunDescription<'_>) -> Option<Quantity> {
    let of_flagstat = run.share(&flagstat_pointers("primary mapped"), &flagstat_pointers("primary"));
    of_flagstat.or_else(|| run.number(&format!("{}/PCT_PF_READS_ALIGNED", alignment_row(run)?)))
}

/// Pointers to the counts of trimming before and after it, and to those of adapters. The names are
/// fastp's.
pub const TRIMMED_BEFORE: &str = "/trimming/summary/before_filtering";
pub const TRIMMED_AFTER: &str = "/trimming/summary/after_filtering";
pub const ADAPTER: &str = "/trimming/adapter_cutting";

pub const DROP_REASONS: [&str; 5] = [
    "low_quality_reads",
    "too_many_N_reads",
    "too_short_reads",
    "too_long_reads",
    "low_complexity_reads",
];

pub fn dropped_read_pointers(run: &RunDescription<'_>) -> Vec<String> {
    let all = DROP_REASONS.iter().map(|name| format!("/trimming/filtering_result/{name}"));
    all.filter(|pointer| run.at(pointer).is_some()).collect()
}

fn trimmed_away_share(run: &RunDescription<'_>) -> Option<Quantity> {
    run.share(&dropped_read_pointers(run), &[format!("{TRIMMED_BEFORE}/total_reads")])
}

pub fn library_rows<'a>(run: &RunDescription<'a>) -> Vec<(String, &'a Value)> {
    run.rows("duplicates", |row| row.get("READ_PAIRS_EXAMINED").is_some())
}

/// Returns the pointer of each field in each row. A field that is given twice counts twice in a
/// sum.
fn field_pointers(rows: &[(String, &Value)], fields: &[&str]) -> Vec<String> {
    rows.iter().flat_map(|(row, _)| fields.iter().map(move |field| format!("{row}/{field}"))).collect()
}

fn duplicate_share(run: &RunDescription<'_>) -> Option<Quantity> {
    let rows = library_rows(run);
    // A pair counts as two reads, so its fields are listed twice.
    let pairs = ["READ_PAIR_DUPLICATES", "READ_PAIR_DUPLICATES", "UNPAIRED_READ_DUPLICATES"];
    let examined = ["READ_PAIRS_EXAMINED", "READ_PAIRS_EXAMINED", "UNPAIRED_READS_EXAMINED"];
    match &rows[..] {
        [] => run.share(&flagstat_pointers("primary duplicates"), &flagstat_pointers("primary")),
        [(row, _)] => run.number(&format!("{row}/PERCENT_DUPLICATION")),
        _ => run.share(&field_pointers(&rows, &pairs), &field_pointers(&rows, &examined)),
    }
}

pub const SET_HISTOGRAM: &str = "/reports/duplicates/histograms/0";

/// Returns the column with the sizes of sets. Picard calls it `BIN` if the histogram also has the
/// column `CoverageMult` (return on investment, for a single library), else `set_size`.
pub fn set_size_key(run: &RunDescription<'_>) -> &'static str {
    if run.at(&format!("{SET_HISTOGRAM}/set_size")).is_some() { "set_size" } else { "BIN" }
}

/// Returns whether sizes of sets and optical duplicates were counted. A run that does not look for
/// optical duplicates has only sets of size 1 in its histogram, as in Picard.
pub fn has_set_sizes(run: &RunDescription<'_>) -> bool {
    let sizes = run.column(&format!("{SET_HISTOGRAM}/{}", set_size_key(run)));
    let sets = run.column(&format!("{SET_HISTOGRAM}/all_sets"));
    let is_larger = sizes.iter().zip(&sets).any(|(size, sets)| *size > 1.0 && *sets > 0.0);
    let duplicates = run.sum(&field_pointers(&library_rows(run), &["READ_PAIR_DUPLICATES"]));
    is_larger || duplicates.is_some_and(|it| it.value == 0.0) && !sets.is_empty()
}

fn optical_duplicate_share(run: &RunDescription<'_>) -> Option<Quantity> {
    if !has_set_sizes(run) {
        return None;
    }
    let rows = library_rows(run);
    run.share(
        &field_pointers(&rows, &["READ_PAIR_OPTICAL_DUPLICATES"]),
        &field_pointers(&rows, &["READ_PAIRS_EXAMINED"]),
    )
}

fn library_size(run: &RunDescription<'_>) -> Option<Quantity> {
    let rows: Vec<(String, &Value)> = library_rows(run)
        .into_iter()
        .filter(|(_, row)| row.get("ESTIMATED_LIBRARY_SIZE").is_some_and(Value::is_number))
        .collect();
    run.sum(&field_pointers(&rows, &["ESTIMATED_LIBRARY_SIZE"]))
}

pub fn insert_column(run: &RunDescription<'_>) -> Option<String> {
    let orientation =
        run.at(&format!("{}/PAIR_ORIENTATION", insert_row(run)?))?.as_str()?.to_lowercase();
    Some(format!("/reports/insert_size_metrics/histograms/0/All_Reads.{orientation}_count"))
}

fn short_insert_share(run: &RunDescription<'_>) -> Option<Quantity> {
    let length = run.number(&format!("{}/MEDIAN_READ_LENGTH", alignment_row(run)?))?.value;
    let (column, keys) = (insert_column(run)?, "/reports/insert_size_metrics/histograms/0/insert_size");
    let counts = run.column(&column);
    let sizes = run.column(keys);
    let all: f64 = counts.iter().sum();
    let short: f64 = sizes.iter().zip(&counts).filter(|(size, _)| **size < length).map(|(_, n)| n).sum();
    let attributes = format!(
        "data-is=\"below\" data-json=\"{}\" data-keys=\"{keys}\" data-below=\"{length}\"",
        escape_html(&column)
    );
    (all > 0.0).then(|| Quantity::new(short / all, attributes))
}

fn q30_share(run: &RunDescription<'_>) -> Option<Quantity> {
    let at = |name: &str| format!("/reports/quality_yield_metrics/rows/0/{name}");
    run.share(&[at("Q30_BASES")], &[at("TOTAL_BASES")]).or_else(|| {
        let (keys, column) = (QUALITY, QUALITY_COUNTS);
        let (qualities, counts) = (run.column(keys), run.column(column));
        let all: f64 = counts.iter().sum();
        let low: f64 = qualities.iter().zip(&counts).filter(|(q, _)| **q < 30.0).map(|(_, n)| n).sum();
        let attributes =
            format!("data-is=\"from\" data-json=\"{column}\" data-keys=\"{keys}\" data-below=\"30\"");
        (all > 0.0).then(|| Quantity::new((all - low) / all, attributes))
    })
}

pub const QUALITY: &str = "/reports/quality_distribution_metrics/histograms/0/QUALITY";
pub const QUALITY_COUNTS: &str = "/reports/quality_distribution_metrics/histograms/0/COUNT_OF_Q";
pub const CYCLE: &str = "/reports/quality_by_cycle_metrics/histograms/0/CYCLE";
pub const CYCLE_QUALITY: &str = "/reports/quality_by_cycle_metrics/histograms/0/MEAN_QUALITY";

fn worst_cycle(run: &RunDescription<'_>) -> Option<Quantity> {
    let least = run.column(CYCLE_QUALITY).into_iter().min_by(f64::total_cmp)?;
    Some(Quantity::new(least, format!("data-is=\"min\" data-json=\"{CYCLE_QUALITY}\"")))
}

fn max_n_percent(run: &RunDescription<'_>) -> Option<Quantity> {
    let rows = run.rows("base_distribution_by_cycle_metrics", |_| true);
    let shares = rows.iter().filter_map(|(_, row)| row.get("PCT_N")?.as_f64());
    let most = shares.max_by(f64::total_cmp)?;
    let rows = "/reports/base_distribution_by_cycle_metrics/rows";
    Some(Quantity::new(most, format!("data-is=\"max\" data-json=\"{rows}\" data-key=\"PCT_N\"")))
}

/// Returns the pointer of the row of mosdepth's summary with this name in the column `chrom`.
pub fn mosdepth_row(run: &RunDescription<'_>, name: &str) -> Option<String> {
    let list = "/reports/mosdepth.summary.txt";
    let row = run.list(list).iter().position(|row| row.get("chrom").is_some_and(|it| it == name))?;
    Some(format!("{list}/{row}"))
}

const TARGETS: &str = "/reports/hs_metrics/rows/0";
const GENOME: &str = "/reports/wgs_metrics/rows/0";

fn mean_coverage(run: &RunDescription<'_>) -> Option<Quantity> {
    let of_mosdepth = |name: &str| run.number(&format!("{}/mean", mosdepth_row(run, name)?));
    run.number(&format!("{TARGETS}/MEAN_TARGET_COVERAGE"))
        .or_else(|| of_mosdepth("total_region"))
        .or_else(|| run.number(&format!("{GENOME}/MEAN_COVERAGE")))
        .or_else(|| of_mosdepth("total"))
}

fn share_at_depth(run: &RunDescription<'_>, depth: u32) -> Option<Quantity> {
    let of_mosdepth = |report: &str| {
        let depths = run.column(&format!("/reports/{report}/depth"));
        let deepest = depths.iter().copied().max_by(f64::total_cmp)?;
        match depths.iter().position(|it| *it == f64::from(depth)) {
            Some(at) => run.number(&format!("/reports/{report}/share/{at}")),
            // mosdepth does not list depths that no base has.
            None if f64::from(depth) > deepest => Some(Quantity::new(
                0.0,
                format!(
                    "data-is=\"none-above\" data-json=\"/reports/{report}/depth\" \
                        data-above=\"{depth}\""
                ),
            )),
            None => None,
        }
    };
    run.number(&format!("{TARGETS}/PCT_TARGET_BASES_{depth}X"))
        .or_else(|| of_mosdepth("mosdepth.region.dist.txt"))
        .or_else(|| run.number(&format!("{GENOME}/PCT_{depth}X")))
        .or_else(|| of_mosdepth("mosdepth.global.dist.txt"))
}

/// Returns the fraction of bases with at least a fifth of the mean depth, of targets if they were
/// counted.
fn even_coverage(run: &RunDescription<'_>) -> Option<Quantity> {
    let of = |report: &str, total: &str| {
        let mean = run.number(&format!("{}/mean", mosdepth_row(run, total)?))?.value;
        let least = (mean / 5.0).ceil();
        let at = run.column(&format!("/reports/{report}/depth")).iter().position(|it| *it == least)?;
        run.number(&format!("/reports/{report}/share/{at}"))
    };
    of("mosdepth.region.dist.txt", "total_region").or_else(|| of("mosdepth.global.dist.txt", "total"))
}

fn has_targets(run: &RunDescription<'_>) -> bool {
    run.at(TARGETS).is_some() || mosdepth_row(run, "total_region").is_some()
}

/// Returns the title of a metric in this run. Metrics of coverage name the targets if there are
/// any.
pub fn metric_title(metric: &Metric, run: &RunDescription<'_>) -> String {
    let is_of_targets = ["mean_coverage", "bases_at_20x", "even_coverage"].contains(&metric.key);
    match metric.key {
        "mean_coverage" if has_targets(run) => "Mean coverage of targets".into(),
        _ if is_of_targets && has_targets(run) => {
            format!("Target b{}", metric.name.trim_start_matches('B'))
        }
        _ => metric.name.into(),
    }
}

/// Returns the cycle or the lane that a metric's value comes from. `None` for metrics of the whole
/// sample.
pub fn metric_place(metric: &Metric, run: &RunDescription<'_>) -> Option<String> {
    let lane = |apart: Option<LaneDistance>| {
        Some(format!("lane {}", collect_lanes(run).get(apart?.lane)?.name))
    };
    match metric.key {
        "worst_cycle" => {
            let (cycles, means) = (run.column(CYCLE), run.column(CYCLE_QUALITY));
            let (cycle, _) = cycles.iter().zip(&means).min_by(|a, b| a.1.total_cmp(b.1))?;
            Some(format!("cycle {cycle}, where those of second reads follow those of first ones"))
        }
        "n_of_cycle" => {
            let rows = run.rows("base_distribution_by_cycle_metrics", |_| true);
            let share = |row: &Value| row.get("PCT_N").and_then(Value::as_f64);
            let with_share = rows.iter().filter_map(|(_, row)| Some((row, share(row)?)));
            let (row, _) = with_share.max_by(|a, b| a.1.total_cmp(&b.1))?;
            Some(format!("read {}, cycle {}", row.get("READ_END")?, row.get("CYCLE")?))
        }
        "lanes_insert" => lane(find_insert_outlier(&collect_lanes(run))),
        "lanes_gc" => lane(find_gc_outlier(&collect_lanes(run))),
        _ => None,
    }
}

fn fold_80(run: &RunDescription<'_>) -> Option<Quantity> {
    let of = |row: &str| run.number(&format!("{row}/FOLD_80_BASE_PENALTY"));
    of(TARGETS).or_else(|| of(GENOME))
}

fn oxidation_score(run: &RunDescription<'_>) -> Option<Quantity> {
    let is = |row: &Value, name: &str, base: &str| row.get(name).is_some_and(|it| it == base);
    let rows = run
        .rows("pre_adapter_summary_metrics", |row| is(row, "REF_BASE", "G") && is(row, "ALT_BASE", "T"));
    let scores = rows.iter().filter_map(|(row, _)| run.number(&format!("{row}/TOTAL_QSCORE")));
    scores.min_by(|a, b| a.value.total_cmp(&b.value))
}
