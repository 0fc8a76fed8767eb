//! The key metrics of a sample: the numbers that have limits and by which samples are compared.
//!
//! A metric is one entry of [`METRICS`]. Its `find` function reads one value from the description
//! of a run. If several tools counted the number, it takes the most specific: targets before the
//! whole genome, and Picard's report before the simpler ones.

use serde_json::Value;

use crate::lanes::{Apart, gc_apart, inserts_apart, lanes};
use crate::run::{Quantity, Run};
use crate::text::{Form, escape};

/// A key metric of a sample.
///
/// `verdict` compares it with its limit, `cohort` compares it between samples, and files of
/// `--qc-thresholds` refer to it by `key`. To add one, append an entry to [`METRICS`], its default
/// limits to `limits::DEFAULTS`, and a row to docs/report.md; if it fails together with others for
/// one reason, add it to `diagnosis::CAUSES`, too.
pub struct Metric {
    pub key: &'static str,
    pub name: &'static str,
    pub form: Form,
    /// Id of the section that shows the details; the metric's tile links to it.
    pub section: &'static str,
    /// Usual causes of a bad value. The page shows it after "Usual causes:".
    pub hint: &'static str,
    /// Reads the value. `None` if the run did not count it.
    pub find: fn(&Run<'_>) -> Option<Quantity>,
}

pub const METRICS: &[Metric] = &[
    Metric {
        key: "reads",
        name: "Reads",
        form: Form::Plain,
        section: "flow",
        hint: "too little was sequenced, or the input was cut short",
        find: reads,
    },
    Metric {
        key: "trimmed_away",
        name: "Reads dropped by trimming",
        form: Form::Share,
        section: "trimming",
        hint: "fragments so short that hardly more than adapter was read, or reads of low quality",
        find: trimmed_away,
    },
    Metric {
        key: "adapter_bases",
        name: "Bases of adapter",
        form: Form::Share,
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
        form: Form::Share,
        section: "alignment",
        hint: "reads of another species, adapter dimers, or the wrong reference",
        find: mapped,
    },
    Metric {
        key: "chimeras",
        name: "Chimeric pairs",
        form: Form::Share,
        section: "alignment",
        hint: "fragments joined when the library was made, or a rearranged genome",
        find: |run| run.number(&format!("{}/PCT_CHIMERAS", alignment_row(run)?)),
    },
    Metric {
        key: "mismatches",
        name: "Mismatched bases",
        form: Form::Share,
        section: "alignment",
        hint: "sequencing errors, another strain or species, or damaged DNA",
        find: |run| run.number(&format!("{}/PF_MISMATCH_RATE", alignment_row(run)?)),
    },
    Metric {
        key: "soft_clipped",
        name: "Soft-clipped bases",
        form: Form::Share,
        section: "alignment",
        hint: "adapters read through short fragments, or reads that end in bad bases",
        find: |run| run.number(&format!("{}/PCT_SOFTCLIP", alignment_row(run)?)),
    },
    Metric {
        key: "duplicates",
        name: "Duplicates",
        form: Form::Share,
        section: "duplicates",
        hint: "a library amplified from few molecules; more sequencing gives little that is new",
        find: duplicates,
    },
    Metric {
        key: "optical_duplicates",
        name: "Optical duplicates",
        form: Form::Share,
        section: "duplicates",
        hint: "clusters read as several: a flow cell loaded too densely, or too thinly if it is \
            patterned",
        find: optical,
    },
    Metric {
        key: "library_size",
        name: "Library size",
        form: Form::Plain,
        section: "duplicates",
        hint: "few different molecules in the library",
        find: library_size,
    },
    Metric {
        key: "insert_size",
        name: "Insert size",
        form: Form::Decimal(0, "\u{a0}bases"),
        section: "inserts",
        hint: "DNA sheared too much, or degraded",
        find: |run| run.number(&format!("{}/MEDIAN_INSERT_SIZE", insert_row(run)?)),
    },
    Metric {
        key: "short_inserts",
        name: "Inserts shorter than a read",
        form: Form::Share,
        section: "inserts",
        hint: "fragments too short for the reads, which run through them into the adapter; trim \
            adapters, and make longer fragments",
        find: short_inserts,
    },
    Metric {
        key: "q30_bases",
        name: "Bases of Q30 or more",
        form: Form::Share,
        section: "qualities",
        hint: "a run of low quality",
        find: q30,
    },
    Metric {
        key: "worst_cycle",
        name: "Quality of the worst cycle",
        form: Form::Decimal(1, ""),
        section: "qualities",
        hint: "a cycle or the end of a read that failed: a bubble, a reagent, or the focus",
        find: worst_cycle,
    },
    Metric {
        key: "n_of_cycle",
        name: "Most N in a cycle",
        form: Form::Decimal(2, "\u{a0}%"),
        section: "qualities",
        hint: "a cycle whose bases could not be called",
        find: n_of_cycle,
    },
    Metric {
        key: "at_dropout",
        name: "AT dropout",
        form: Form::Decimal(1, "\u{a0}%"),
        section: "gc",
        hint: "amplification or capture that loses regions rich in A and T",
        find: |run| run.number(&format!("{}/AT_DROPOUT", gc_row(run)?)),
    },
    Metric {
        key: "gc_dropout",
        name: "GC dropout",
        form: Form::Decimal(1, "\u{a0}%"),
        section: "gc",
        hint: "amplification or capture that loses regions rich in G and C",
        find: |run| run.number(&format!("{}/GC_DROPOUT", gc_row(run)?)),
    },
    Metric {
        key: "mean_coverage",
        name: "Mean coverage",
        form: Form::Decimal(1, "×"),
        section: "coverage",
        hint: "too little was sequenced, much of it was lost as duplicates or overlaps of mates, or targets \
            were not captured",
        find: mean_coverage,
    },
    Metric {
        key: "bases_at_20x",
        name: "Bases covered 20×",
        form: Form::Share,
        section: "coverage",
        hint: "low mean coverage, or regions that were lost; variants will be missed there",
        find: |run| at_least(run, 20),
    },
    Metric {
        key: "even_coverage",
        name: "Bases with a fifth of the mean",
        form: Form::Share,
        section: "coverage",
        hint: "regions that were not captured or not amplified",
        find: even_coverage,
    },
    Metric {
        key: "fold_80",
        name: "Fold-80 penalty",
        form: Form::Decimal(2, ""),
        section: "coverage",
        hint: "uneven capture or amplification: some regions are missed while others get too much",
        find: fold_80,
    },
    Metric {
        key: "oxidation",
        name: "Oxidation score (Phred)",
        form: Form::Decimal(0, ""),
        section: "artifacts",
        hint: "guanine oxidised when DNA was sheared, which gives false G>T",
        find: oxidation,
    },
    Metric {
        key: "lanes_insert",
        name: "Lanes apart in insert size",
        form: Form::Share,
        section: "lanes",
        hint: "a lane of another library, or of another sample",
        find: |run| inserts_apart(&lanes(run)).map(|apart| apart.source),
    },
    Metric {
        key: "lanes_gc",
        name: "Lanes apart in GC",
        form: Form::Points,
        section: "lanes",
        hint: "a lane of another library, or of another sample",
        find: |run| gc_apart(&lanes(run)).map(|apart| apart.source),
    },
];

pub fn metric(key: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.key == key)
}

/// Returns the pointer of Picard's alignment summary of all reads: the row `PAIR`, or `UNPAIRED`
/// for single reads.
pub fn alignment_row(run: &Run<'_>) -> Option<String> {
    let of = |category: &str| {
        run.row_of_all("alignment_summary_metrics", |row| {
            row.get("CATEGORY").is_some_and(|it| it == category)
        })
    };
    of("PAIR").or_else(|| of("UNPAIRED"))
}

/// Returns the pointer of Picard's insert sizes of all reads. The first row has the orientation of
/// most pairs.
pub fn insert_row(run: &Run<'_>) -> Option<String> {
    run.row_of_all("insert_size_metrics", |_| true)
}

/// Returns the pointer of Picard's summary of GC bias in which duplicates count, too.
pub fn gc_row(run: &Run<'_>) -> Option<String> {
    run.row_of_all("gc_bias.summary_metrics", |row| {
        row.get("READS_USED").is_none_or(|used| used == "ALL")
    })
}

fn passed_and_failed(name: &str) -> Vec<String> {
    ["passed", "failed"].map(|which| format!("/reports/flagstat/{name}/{which}")).to_vec()
}

fn reads(run: &Run<'_>) -> Option<Quantity> {
    run.sum(&passed_and_failed("primary")).or_else(|| run.number("/reads/read"))
}

fn mapped(run: &Run<'_>) -> Option<Quantity> {
    let of_flagstat = run.share(&passed_and_failed("primary mapped"), &passed_and_failed("primary"));
    of_flagstat.or_else(|| run.number(&format!("{}/PCT_PF_READS_ALIGNED", alignment_row(run)?)))
}

/// Pointers to the counts of trimming before and after it, and to those of adapters. The names are
/// fastp's.
pub const TRIMMED_BEFORE: &str = "/trimming/summary/before_filtering";
pub const TRIMMED_AFTER: &str = "/trimming/summary/after_filtering";
pub const ADAPTER: &str = "/trimming/adapter_cutting";

pub const DROPPED: [&str; 5] = [
    "low_quality_reads",
    "too_many_N_reads",
    "too_short_reads",
    "too_long_reads",
    "low_complexity_reads",
];

pub fn dropped(run: &Run<'_>) -> Vec<String> {
    let all = DROPPED.iter().map(|name| format!("/trimming/filtering_result/{name}"));
    all.filter(|pointer| run.at(pointer).is_some()).collect()
}

fn trimmed_away(run: &Run<'_>) -> Option<Quantity> {
    run.share(&dropped(run), &[format!("{TRIMMED_BEFORE}/total_reads")])
}

pub fn libraries<'a>(run: &Run<'a>) -> Vec<(String, &'a Value)> {
    run.rows("duplicates", |row| row.get("READ_PAIRS_EXAMINED").is_some())
}

/// Returns the pointer of each field in each row. A field that is given twice counts twice in a
/// sum.
fn each(rows: &[(String, &Value)], fields: &[&str]) -> Vec<String> {
    rows.iter().flat_map(|(row, _)| fields.iter().map(move |field| format!("{row}/{field}"))).collect()
}

fn duplicates(run: &Run<'_>) -> Option<Quantity> {
    let rows = libraries(run);
    // A pair counts as two reads, so its fields are listed twice.
    let pairs = ["READ_PAIR_DUPLICATES", "READ_PAIR_DUPLICATES", "UNPAIRED_READ_DUPLICATES"];
    let examined = ["READ_PAIRS_EXAMINED", "READ_PAIRS_EXAMINED", "UNPAIRED_READS_EXAMINED"];
    match &rows[..] {
        [] => run.share(&passed_and_failed("primary duplicates"), &passed_and_failed("primary")),
        [(row, _)] => run.number(&format!("{row}/PERCENT_DUPLICATION")),
        _ => run.share(&each(&rows, &pairs), &each(&rows, &examined)),
    }
}

pub const SETS: &str = "/reports/duplicates/histograms/0";

/// Returns the column with the sizes of sets. Picard calls it `BIN` if the histogram also has the
/// column `CoverageMult` (return on investment, for a single library), else `set_size`.
pub fn set_key(run: &Run<'_>) -> &'static str {
    if run.at(&format!("{SETS}/set_size")).is_some() { "set_size" } else { "BIN" }
}

/// Returns whether sizes of sets and optical duplicates were counted. A run that does not look for
/// optical duplicates has only sets of size 1 in its histogram, as in Picard.
pub fn counts_sets(run: &Run<'_>) -> bool {
    let sizes = run.column(&format!("{SETS}/{}", set_key(run)));
    let sets = run.column(&format!("{SETS}/all_sets"));
    let is_larger = sizes.iter().zip(&sets).any(|(size, sets)| *size > 1.0 && *sets > 0.0);
    let duplicates = run.sum(&each(&libraries(run), &["READ_PAIR_DUPLICATES"]));
    is_larger || duplicates.is_some_and(|it| it.value == 0.0) && !sets.is_empty()
}

fn optical(run: &Run<'_>) -> Option<Quantity> {
    if !counts_sets(run) {
        return None;
    }
    let rows = libraries(run);
    run.share(&each(&rows, &["READ_PAIR_OPTICAL_DUPLICATES"]), &each(&rows, &["READ_PAIRS_EXAMINED"]))
}

fn library_size(run: &Run<'_>) -> Option<Quantity> {
    let rows: Vec<(String, &Value)> = libraries(run)
        .into_iter()
        .filter(|(_, row)| row.get("ESTIMATED_LIBRARY_SIZE").is_some_and(Value::is_number))
        .collect();
    run.sum(&each(&rows, &["ESTIMATED_LIBRARY_SIZE"]))
}

pub fn insert_column(run: &Run<'_>) -> Option<String> {
    let orientation =
        run.at(&format!("{}/PAIR_ORIENTATION", insert_row(run)?))?.as_str()?.to_lowercase();
    Some(format!("/reports/insert_size_metrics/histograms/0/All_Reads.{orientation}_count"))
}

fn short_inserts(run: &Run<'_>) -> Option<Quantity> {
    let length = run.number(&format!("{}/MEDIAN_READ_LENGTH", alignment_row(run)?))?.value;
    let (column, keys) = (insert_column(run)?, "/reports/insert_size_metrics/histograms/0/insert_size");
    let counts = run.column(&column);
    let sizes = run.column(keys);
    let all: f64 = counts.iter().sum();
    let short: f64 = sizes.iter().zip(&counts).filter(|(size, _)| **size < length).map(|(_, n)| n).sum();
    let attributes = format!(
        "data-is=\"below\" data-json=\"{}\" data-keys=\"{keys}\" data-below=\"{length}\"",
        escape(&column)
    );
    (all > 0.0).then(|| Quantity::new(short / all, attributes))
}

fn q30(run: &Run<'_>) -> Option<Quantity> {
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

fn worst_cycle(run: &Run<'_>) -> Option<Quantity> {
    let least = run.column(CYCLE_QUALITY).into_iter().min_by(f64::total_cmp)?;
    Some(Quantity::new(least, format!("data-is=\"min\" data-json=\"{CYCLE_QUALITY}\"")))
}

fn n_of_cycle(run: &Run<'_>) -> Option<Quantity> {
    let rows = run.rows("base_distribution_by_cycle_metrics", |_| true);
    let shares = rows.iter().filter_map(|(_, row)| row.get("PCT_N")?.as_f64());
    let most = shares.max_by(f64::total_cmp)?;
    let rows = "/reports/base_distribution_by_cycle_metrics/rows";
    Some(Quantity::new(most, format!("data-is=\"max\" data-json=\"{rows}\" data-key=\"PCT_N\"")))
}

/// Returns the pointer of the row of mosdepth's summary with this name in the column `chrom`.
pub fn mosdepth_row(run: &Run<'_>, name: &str) -> Option<String> {
    let list = "/reports/mosdepth.summary.txt";
    let row = run.list(list).iter().position(|row| row.get("chrom").is_some_and(|it| it == name))?;
    Some(format!("{list}/{row}"))
}

const TARGETS: &str = "/reports/hs_metrics/rows/0";
const GENOME: &str = "/reports/wgs_metrics/rows/0";

fn mean_coverage(run: &Run<'_>) -> Option<Quantity> {
    let of_mosdepth = |name: &str| run.number(&format!("{}/mean", mosdepth_row(run, name)?));
    run.number(&format!("{TARGETS}/MEAN_TARGET_COVERAGE"))
        .or_else(|| of_mosdepth("total_region"))
        .or_else(|| run.number(&format!("{GENOME}/MEAN_COVERAGE")))
        .or_else(|| of_mosdepth("total"))
}

fn at_least(run: &Run<'_>, depth: u32) -> Option<Quantity> {
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
fn even_coverage(run: &Run<'_>) -> Option<Quantity> {
    let of = |report: &str, total: &str| {
        let mean = run.number(&format!("{}/mean", mosdepth_row(run, total)?))?.value;
        let least = (mean / 5.0).ceil();
        let at = run.column(&format!("/reports/{report}/depth")).iter().position(|it| *it == least)?;
        run.number(&format!("/reports/{report}/share/{at}"))
    };
    of("mosdepth.region.dist.txt", "total_region").or_else(|| of("mosdepth.global.dist.txt", "total"))
}

fn has_targets(run: &Run<'_>) -> bool {
    run.at(TARGETS).is_some() || mosdepth_row(run, "total_region").is_some()
}

/// Returns the title of a metric in this run. Metrics of coverage name the targets if there are
/// any.
pub fn name_of(metric: &Metric, run: &Run<'_>) -> String {
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
pub fn place_of(metric: &Metric, run: &Run<'_>) -> Option<String> {
    let lane = |apart: Option<Apart>| Some(format!("lane {}", lanes(run).get(apart?.lane)?.name));
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
        "lanes_insert" => lane(inserts_apart(&lanes(run))),
        "lanes_gc" => lane(gc_apart(&lanes(run))),
        _ => None,
    }
}

fn fold_80(run: &Run<'_>) -> Option<Quantity> {
    let of = |row: &str| run.number(&format!("{row}/FOLD_80_BASE_PENALTY"));
    of(TARGETS).or_else(|| of(GENOME))
}

fn oxidation(run: &Run<'_>) -> Option<Quantity> {
    let is = |row: &Value, name: &str, base: &str| row.get(name).is_some_and(|it| it == base);
    let rows = run
        .rows("pre_adapter_summary_metrics", |row| is(row, "REF_BASE", "G") && is(row, "ALT_BASE", "T"));
    let scores = rows.iter().filter_map(|(row, _)| run.number(&format!("{row}/TOTAL_QSCORE")));
    scores.min_by(|a, b| a.value.total_cmp(&b.value))
}
