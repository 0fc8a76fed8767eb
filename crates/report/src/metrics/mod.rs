//! The key metrics of a sample. They can have limits, and the page compares samples by them.
//!
//! A metric is one entry of [`METRICS`]. Its `find` function gets the value from a run description.
//! The functions are in the module of their subject; this module holds the list, and the titles that
//! depend on the run.

mod bases;
mod coverage;
mod details;
mod duplicates;
mod reads;

use crate::lanes::{LaneDistance, collect_lanes, find_gc_outlier, find_insert_outlier};
use crate::run::{Quantity, RunPart};
use crate::text::NumberFormat;

pub use bases::{
    CYCLE_HISTOGRAM, INSERT_HISTOGRAM, QUALITY_HISTOGRAM, base_rows, cycle_qualities, insert_row,
};
pub use coverage::{
    CONTIGS, DepthHistogram, GENOME, TARGETS, depth_histogram, fold_80_mean, gc_row, has_targets,
    mean_coverage, mosdepth_mean, mosdepth_target_mean, target_gc_row,
};
pub use details::DETAILS;
pub use duplicates::{compared_reads, duplicate_reads, library_rows, set_histogram, set_size_key};
pub use reads::{
    TRIMMED_AFTER, TRIMMED_BEFORE, alignment_row, dropped_reads, flagstat_count, sequenced_reads,
    trimmed_reads,
};

use bases::{
    cycle_name, gc_content, max_n_percent, max_n_row, oxidation_score, quality_share,
    short_insert_share, worst_cycle,
};
use coverage::{dropout, even_coverage, fold_80, share_at_depth};
use duplicates::{duplicate_share, library_size, optical_duplicate_share};
use reads::{mapped_share, read_count, record_count, trimmed_away_share};

/// A key metric of a sample.
///
/// `verdict` compares the value with its limit, `cohort` compares it between samples, and the
/// `--qc-thresholds` file refers to it by `key`. To add a metric, add an entry to [`METRICS`], default
/// limits to `limits::DEFAULT_LIMITS`, a rule to `rules::RULES`, and a row to docs/report.md. [`DETAILS`]
/// has the metrics without limits.
pub struct Metric {
    pub key: &'static str,
    pub name: &'static str,
    /// Definition in one sentence, for readers of the table of samples.
    pub meaning: &'static str,
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
        meaning: "Number of sequenced reads, that is, of primary records.",
        form: NumberFormat::Plain,
        section: "flow",
        hint: "too little sequencing, or a truncated input",
        find: read_count,
    },
    Metric {
        key: "records",
        name: "Records",
        meaning: "Number of records of the input, which also counts secondary and supplementary \
            alignments.",
        form: NumberFormat::Plain,
        section: "flow",
        hint: "too little sequencing, or a truncated input",
        find: record_count,
    },
    Metric {
        key: "trimmed_away",
        name: "Reads dropped by trimming",
        meaning: "Share of reads that trimming drops.",
        form: NumberFormat::Share,
        section: "trimming",
        hint: "low-quality reads, or fragments so short that the reads are mostly adapter",
        find: trimmed_away_share,
    },
    Metric {
        key: "adapter_bases",
        name: "Adapter bases",
        meaning: "Share of bases that trimming removes as adapter.",
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
        meaning: "Share of reads that are mapped.",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "reads from another species, adapter dimers, or the wrong reference",
        find: mapped_share,
    },
    Metric {
        key: "chimeras",
        name: "Chimeric reads",
        meaning: "Share of reads whose mates or pieces map to different contigs, too far apart, or in an \
            unexpected orientation (Picard's PCT_CHIMERAS).",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "fragments joined during library preparation, or a rearranged genome",
        find: |run| alignment_row(run)?.number("PCT_CHIMERAS"),
    },
    Metric {
        key: "mismatches",
        name: "Mismatch rate",
        meaning: "Share of aligned bases that differ from the reference (Picard's PF_MISMATCH_RATE).",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "sequencing errors, another strain or species, or DNA damage",
        find: |run| alignment_row(run)?.number("PF_MISMATCH_RATE"),
    },
    Metric {
        key: "soft_clipped",
        name: "Soft-clipped bases",
        meaning: "Share of bases that the aligner soft-clips (Picard's PCT_SOFTCLIP).",
        form: NumberFormat::Share,
        section: "alignment",
        hint: "short fragments whose reads run into the adapter, or low-quality read ends",
        find: |run| alignment_row(run)?.number("PCT_SOFTCLIP"),
    },
    Metric {
        key: "duplicates",
        name: "Duplicates",
        meaning: "Share of mapped reads that are duplicates.",
        form: NumberFormat::Share,
        section: "duplicates",
        hint: "a library amplified from few molecules",
        find: duplicate_share,
    },
    Metric {
        key: "optical_duplicates",
        name: "Optical duplicates",
        meaning: "Share of read pairs that are optical duplicates, that is, copies of a neighbouring \
            cluster.",
        form: NumberFormat::Share,
        section: "duplicates",
        hint: "one cluster called as several, because of an overloaded flow cell or an underloaded \
            patterned flow cell",
        find: optical_duplicate_share,
    },
    Metric {
        key: "library_size",
        name: "Estimated library size",
        meaning: "Estimated number of different molecules in the library.",
        form: NumberFormat::Plain,
        section: "duplicates",
        hint: "few distinct molecules in the library",
        find: library_size,
    },
    Metric {
        key: "insert_size",
        name: "Median insert size",
        meaning: "Median distance between the outer ends of read pairs.",
        form: NumberFormat::Decimal(0, "\u{a0}bases"),
        section: "inserts",
        hint: "over-fragmented or degraded DNA",
        find: |run| insert_row(run)?.number("MEDIAN_INSERT_SIZE"),
    },
    Metric {
        key: "short_inserts",
        name: "Inserts shorter than the reads",
        meaning: "Share of read pairs whose fragment is shorter than a read.",
        form: NumberFormat::Share,
        section: "inserts",
        hint: "fragments shorter than the reads, so the reads run into the adapter",
        find: short_insert_share,
    },
    Metric {
        key: "q30_bases",
        name: "Q30 bases",
        meaning: "Share of bases with a quality of at least 30.",
        form: NumberFormat::Share,
        section: "qualities",
        hint: "an overloaded flow cell, old reagents, or reads too long for the chemistry",
        find: |run| quality_share(run, 30),
    },
    Metric {
        key: "worst_cycle",
        name: "Lowest mean quality of a cycle",
        meaning: "Mean base quality of the cycle with the lowest mean.",
        form: NumberFormat::Decimal(1, ""),
        section: "qualities",
        hint: "a failed cycle, for example because of a bubble, a bad reagent or lost focus",
        find: worst_cycle,
    },
    Metric {
        key: "n_of_cycle",
        name: "Highest N content in a cycle",
        meaning: "Percentage of N in the cycle with the most N.",
        form: NumberFormat::Decimal(2, "\u{a0}%"),
        section: "qualities",
        hint: "a failed cycle, in which bases could not be called",
        find: max_n_percent,
    },
    Metric {
        key: "gc_content",
        name: "Mean GC content",
        meaning: "Share of G and C in the called bases of the reads.",
        form: NumberFormat::Share,
        section: "qualities",
        hint: "reads from another species, or loss of AT-rich or GC-rich fragments",
        find: gc_content,
    },
    Metric {
        key: "on_target",
        name: "Bases on or near baits",
        meaning: "Share of aligned bases on or near baits (Picard's PCT_SELECTED_BASES).",
        form: NumberFormat::Share,
        section: "coverage",
        hint: "a failed hybridization or too little washing, baits of another panel, or a library that \
            was not enriched",
        find: |run| run.number(&format!("{TARGETS}/PCT_SELECTED_BASES")),
    },
    Metric {
        key: "fold_enrichment",
        name: "Fold enrichment",
        meaning: "Factor by which the baits are enriched relative to the genome (Picard's \
            FOLD_ENRICHMENT).",
        form: NumberFormat::Decimal(1, ""),
        section: "coverage",
        hint: "a failed hybridization, baits of another panel, or a library that was not enriched",
        find: |run| run.number(&format!("{TARGETS}/FOLD_ENRICHMENT")),
    },
    Metric {
        key: "at_dropout",
        name: "AT dropout",
        meaning: "Percentage of reads that are lost in regions with at most 50 % GC.",
        form: NumberFormat::Decimal(1, "\u{a0}%"),
        section: "gc",
        hint: "loss of AT-rich regions during amplification or capture",
        find: |run| dropout(run, "AT_DROPOUT"),
    },
    Metric {
        key: "gc_dropout",
        name: "GC dropout",
        meaning: "Percentage of reads that are lost in regions with at least 50 % GC.",
        form: NumberFormat::Decimal(1, "\u{a0}%"),
        section: "gc",
        hint: "loss of GC-rich regions during amplification or capture",
        find: |run| dropout(run, "GC_DROPOUT"),
    },
    Metric {
        key: "mean_coverage",
        name: "Mean coverage",
        meaning: "Mean depth of the targets, or of the genome if there are no targets.",
        form: NumberFormat::Decimal(1, "×"),
        section: "coverage",
        hint: "too little sequencing, reads lost as duplicates, overlapping mates, or targets that were \
            not captured",
        find: mean_coverage,
    },
    Metric {
        key: "bases_at_20x",
        name: "Bases covered ≥ 20×",
        meaning: "Share of target bases with a depth of at least 20, or of genome bases if there are no \
            targets.",
        form: NumberFormat::Share,
        section: "coverage",
        hint: "low mean coverage, or regions without coverage, where variants will be missed",
        find: |run| share_at_depth(run, 20),
    },
    Metric {
        key: "even_coverage",
        name: "Bases covered ≥ 0.2× mean",
        meaning: "Share of target or genome bases with at least one fifth of the mean depth.",
        form: NumberFormat::Share,
        section: "coverage",
        hint: "regions that were not captured or not amplified",
        find: even_coverage,
    },
    Metric {
        key: "fold_80",
        name: "Fold-80 penalty",
        meaning: "Factor of additional sequencing that raises four fifths of the bases to the current \
            mean depth.",
        form: NumberFormat::Decimal(2, ""),
        section: "coverage",
        hint: "uneven capture or amplification: too little coverage of some regions, too much of others",
        find: fold_80,
    },
    Metric {
        key: "oxidation",
        name: "OxoG score (Phred)",
        meaning: "Phred score of G>T artifacts caused by oxidation, in the worst library.",
        form: NumberFormat::Decimal(0, ""),
        section: "artifacts",
        hint: "guanine oxidation during DNA shearing, which causes false G>T substitutions",
        find: oxidation_score,
    },
    Metric {
        key: "ribosomal",
        name: "Ribosomal bases",
        meaning: "Share of aligned bases in ribosomal RNA (Picard's PCT_RIBOSOMAL_BASES).",
        form: NumberFormat::Share,
        section: "rna",
        hint: "ribosomal RNA that was not removed, or poly-A selection of degraded RNA",
        find: |run| run.first_row_of_all("rna_metrics", |_| true)?.number("PCT_RIBOSOMAL_BASES"),
    },
    Metric {
        key: "mrna_bases",
        name: "mRNA bases",
        meaning: "Share of aligned bases in exons of genes (Picard's PCT_MRNA_BASES).",
        form: NumberFormat::Share,
        section: "rna",
        hint: "genomic DNA or unspliced RNA in the library, ribosomal RNA, or genes of another genome build",
        find: |run| run.first_row_of_all("rna_metrics", |_| true)?.number("PCT_MRNA_BASES"),
    },
    Metric {
        key: "lanes_insert",
        name: "Insert size difference between lanes",
        meaning: "Largest relative difference between the median insert size of a lane and the median of \
            the other lanes.",
        form: NumberFormat::Share,
        section: "lanes",
        hint: "a lane from another library or another sample",
        find: |run| find_insert_outlier(&collect_lanes(run)).map(|apart| apart.source),
    },
    Metric {
        key: "lanes_gc",
        name: "GC difference between lanes",
        meaning: "Largest difference between the mean GC of a lane and the median of the other lanes.",
        form: NumberFormat::Points,
        section: "lanes",
        hint: "a lane from another library or another sample",
        find: |run| find_gc_outlier(&collect_lanes(run)).map(|apart| apart.source),
    },
];

pub fn find_metric(key: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.key == key)
}

/// Returns the title of a metric in this run. Titles of coverage metrics name the targets if the value
/// is of targets. The fold-80 penalty of a run with targets can also be of the genome.
pub fn metric_title(metric: &Metric, run: &RunPart<'_>) -> String {
    let is_of_targets = || (metric.find)(run).is_some_and(|value| is_target_value(&value, run));
    match metric.key {
        "mean_coverage" if is_of_targets() => "Mean target coverage".into(),
        key if (key.starts_with("bases_at_") || key == "even_coverage") && is_of_targets() => {
            format!("Target b{}", metric.name.trim_start_matches('B'))
        }
        "fold_80" if is_of_targets() => "Target fold-80 penalty".into(),
        "fold_80" if has_targets(run) => "Genome fold-80 penalty".into(),
        _ => metric.name.into(),
    }
}

/// Returns whether a value of coverage is of targets, by its place in the JSON.
fn is_target_value(value: &Quantity, run: &RunPart<'_>) -> bool {
    let path = value.json.trim_start_matches('/');
    let is_of_region_row = || {
        let row = path.strip_suffix("/mean").filter(|row| row.starts_with(CONTIGS));
        row.is_some_and(|row| run.text(&format!("{row}/chrom")) == "total_region")
    };
    let is_of_regions = path.starts_with("reports/mosdepth.region.dist.txt/") || is_of_region_row();
    path.starts_with(TARGETS) || is_of_regions && !run.has_coverage_windows()
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
            Some(cycle_name(run, *cycle))
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
