//! Numbers that the table of samples has in addition to the key metrics. They have no thresholds, and
//! the table shows them only if the reader chooses their columns.

use super::bases::quality_share;
use super::coverage::{
    genome_share_at_depth, has_targets, mitochondrial_mean, mosdepth_mean, mosdepth_median,
    share_at_depth,
};
use super::reads::{alignment_row, flagstat_count};
use super::{GENOME, Metric, TARGETS};
use crate::run::{Quantity, RunPart};
use crate::text::NumberFormat;

/// A share. The other details differ from it in some fields.
const SHARE: Metric = Metric {
    key: "",
    name: "",
    meaning: "",
    form: NumberFormat::Share,
    section: "",
    hint: "",
    find: |_| None,
};

/// The details, in the order of their columns. No limit or rule refers to them, and their `section`
/// and `hint` are empty.
pub const DETAILS: &[Metric] = &[
    Metric {
        key: "properly_paired",
        name: "Properly paired reads",
        meaning: "Share of paired reads that map with their mate in the expected orientation and distance.",
        find: |run| {
            flagstat_share(run, "properly paired", "paired in sequencing")
                .or_else(|| stats_share(run, "reads properly paired", "reads paired"))
        },
        ..SHARE
    },
    Metric {
        key: "mapping_quality_0",
        name: "Reads with mapping quality 0",
        meaning: "Share of mapped reads that fit equally well at several places (samtools stats).",
        find: |run| stats_share(run, "reads MQ0", "reads mapped"),
        ..SHARE
    },
    Metric {
        key: "singletons",
        name: "Singletons",
        meaning: "Share of paired reads that are mapped while their mate is not.",
        find: |run| flagstat_share(run, "singletons", "paired in sequencing"),
        ..SHARE
    },
    Metric {
        key: "different_contigs",
        name: "Pairs on different contigs",
        meaning: "Share of pairs with both reads mapped whose reads are on different contigs.",
        find: |run| {
            flagstat_share(run, "with mate mapped to a different chr", "with itself and mate mapped")
        },
        ..SHARE
    },
    Metric {
        key: "different_contigs_unique",
        name: "Pairs on different contigs, MAPQ ≥ 5",
        meaning: "Share of reads with a mapped mate whose mate is on another contig and whose mapping quality \
            is at least 5.",
        find: |run| {
            let part = "with mate mapped to a different chr (mapQ>=5)";
            flagstat_share(run, part, "with itself and mate mapped")
        },
        ..SHARE
    },
    Metric {
        key: "inward_pairs",
        name: "Inward pairs",
        meaning: "Share of pairs on the same contig whose reads point towards each other (samtools stats).",
        find: |run| orientation_share(run, "inward oriented pairs"),
        ..SHARE
    },
    Metric {
        key: "outward_pairs",
        name: "Outward pairs",
        meaning: "Share of pairs on the same contig whose reads point away from each other (samtools stats).",
        find: |run| orientation_share(run, "outward oriented pairs"),
        ..SHARE
    },
    Metric {
        key: "other_pairs",
        name: "Pairs with another orientation",
        meaning: "Share of pairs on the same contig whose reads point in the same direction (samtools stats).",
        find: |run| orientation_share(run, "pairs with other orientation"),
        ..SHARE
    },
    Metric {
        key: "mapped_bases",
        name: "Mapped bases (CIGAR)",
        meaning: "Number of bases that are aligned or inserted, by their CIGAR (samtools stats).",
        form: NumberFormat::Bases,
        find: |run| run.number("reports/stats/SN/bases mapped (cigar)"),
        ..SHARE
    },
    Metric {
        key: "supplementary",
        name: "Supplementary alignments",
        meaning: "Alignments of further pieces of split reads, as a percentage of mapped reads.",
        find: |run| flagstat_share(run, "supplementary", "primary mapped"),
        ..SHARE
    },
    Metric {
        key: "qc_failed",
        name: "QC-failed reads",
        meaning: "Share of reads that the sequencer marks as failed (flag 0x200).",
        find: |run| {
            let failed = run.number("reports/flagstat/primary/failed");
            Quantity::share(failed, flagstat_count(run, "primary"))
        },
        ..SHARE
    },
    Metric {
        key: "indel_rate",
        name: "Indel rate",
        meaning: "Insertions and deletions, as a percentage of aligned bases (Picard's PF_INDEL_RATE).",
        find: |run| alignment_row(run)?.number("PF_INDEL_RATE"),
        ..SHARE
    },
    Metric {
        key: "yield",
        name: "Yield",
        meaning: "Number of sequenced bases.",
        form: NumberFormat::Bases,
        find: |run| {
            run.number("reports/quality_yield_metrics/rows/0/TOTAL_BASES")
                .or_else(|| run.number("reports/stats/SN/total length"))
        },
        ..SHARE
    },
    Metric {
        key: "q20_bases",
        name: "Q20 bases",
        meaning: "Share of bases with a quality of at least 20.",
        find: |run| quality_share(run, 20),
        ..SHARE
    },
    Metric {
        key: "mean_read_length",
        name: "Mean read length",
        meaning: "Mean length of the reads, after trimming.",
        form: NumberFormat::Decimal(1, "\u{a0}bases"),
        find: |run| {
            let of_picard = alignment_row(run).and_then(|row| row.number("MEAN_READ_LENGTH"));
            of_picard.or_else(|| run.number("reports/stats/SN/average length"))
        },
        ..SHARE
    },
    Metric {
        key: "mean_genome_coverage",
        name: "Mean genome coverage",
        meaning: "Mean depth of the genome, after Picard's filters if the run has CollectWgsMetrics.",
        form: NumberFormat::Decimal(1, "×"),
        find: |run| genome_number(run, "MEAN_COVERAGE").or_else(|| mosdepth_mean(run, "total")),
        ..SHARE
    },
    Metric {
        key: "median_genome_coverage",
        name: "Median genome coverage",
        meaning: "Median depth of the genome (CollectWgsMetrics, or mosdepth's shares of bases by depth).",
        form: NumberFormat::Decimal(0, "×"),
        find: |run| {
            genome_number(run, "MEDIAN_COVERAGE")
                .or_else(|| mosdepth_median(run, "mosdepth.global.dist.txt"))
        },
        ..SHARE
    },
    Metric {
        key: "bases_at_1x",
        name: "Bases covered ≥ 1×",
        meaning: "Share of target bases with a depth of at least 1, or of genome bases if there are no targets.",
        find: |run| share_at_depth(run, 1),
        ..SHARE
    },
    Metric {
        key: "bases_at_5x",
        name: "Bases covered ≥ 5×",
        meaning: "Share of target bases with a depth of at least 5, or of genome bases if there are no targets.",
        find: |run| share_at_depth(run, 5),
        ..SHARE
    },
    Metric {
        key: "bases_at_10x",
        name: "Bases covered ≥ 10×",
        meaning: "Share of target bases with a depth of at least 10, or of genome bases if there are no targets.",
        find: |run| share_at_depth(run, 10),
        ..SHARE
    },
    Metric {
        key: "bases_at_30x",
        name: "Bases covered ≥ 30×",
        meaning: "Share of target bases with a depth of at least 30, or of genome bases if there are no targets.",
        find: |run| share_at_depth(run, 30),
        ..SHARE
    },
    Metric {
        key: "bases_at_50x",
        name: "Bases covered ≥ 50×",
        meaning: "Share of target bases with a depth of at least 50, or of genome bases if there are no targets.",
        find: |run| share_at_depth(run, 50),
        ..SHARE
    },
    Metric {
        key: "genome_at_1x",
        name: "Genome bases covered ≥ 1×",
        meaning: "Share of genome bases with a depth of at least 1, if the run has targets, too.",
        find: |run| genome_beside_targets(run, 1),
        ..SHARE
    },
    Metric {
        key: "genome_at_5x",
        name: "Genome bases covered ≥ 5×",
        meaning: "Share of genome bases with a depth of at least 5, if the run has targets, too.",
        find: |run| genome_beside_targets(run, 5),
        ..SHARE
    },
    Metric {
        key: "genome_at_10x",
        name: "Genome bases covered ≥ 10×",
        meaning: "Share of genome bases with a depth of at least 10, if the run has targets, too.",
        find: |run| genome_beside_targets(run, 10),
        ..SHARE
    },
    Metric {
        key: "genome_at_20x",
        name: "Genome bases covered ≥ 20×",
        meaning: "Share of genome bases with a depth of at least 20, if the run has targets, too.",
        find: |run| genome_beside_targets(run, 20),
        ..SHARE
    },
    Metric {
        key: "genome_at_30x",
        name: "Genome bases covered ≥ 30×",
        meaning: "Share of genome bases with a depth of at least 30, if the run has targets, too.",
        find: |run| genome_beside_targets(run, 30),
        ..SHARE
    },
    Metric {
        key: "genome_at_50x",
        name: "Genome bases covered ≥ 50×",
        meaning: "Share of genome bases with a depth of at least 50, if the run has targets, too.",
        find: |run| genome_beside_targets(run, 50),
        ..SHARE
    },
    Metric {
        key: "median_target_coverage",
        name: "Median target coverage",
        meaning: "Median depth of the targets (CollectHsMetrics, or mosdepth's shares of bases by depth).",
        form: NumberFormat::Decimal(0, "×"),
        find: |run| {
            let of_picard = run.number(&format!("{TARGETS}/MEDIAN_TARGET_COVERAGE"));
            let of_mosdepth = || mosdepth_median(run, "mosdepth.region.dist.txt");
            of_picard.or_else(|| if has_targets(run) { of_mosdepth() } else { None })
        },
        ..SHARE
    },
    Metric {
        key: "mitochondrial_coverage",
        name: "Mitochondrial coverage",
        meaning: "Mean depth of the mitochondrial genome (chrM or MT).",
        form: NumberFormat::Decimal(1, "×"),
        find: mitochondrial_mean,
        ..SHARE
    },
    Metric {
        key: "excluded_total",
        name: "Excluded bases",
        meaning: "Share of aligned bases that CollectWgsMetrics does not count, for any reason.",
        find: |run| genome_number(run, "PCT_EXC_TOTAL"),
        ..SHARE
    },
    Metric {
        key: "excluded_duplicates",
        name: "Excluded: duplicates",
        meaning: "Share of aligned bases that CollectWgsMetrics does not count because the read is a duplicate.",
        find: |run| genome_number(run, "PCT_EXC_DUPE"),
        ..SHARE
    },
    Metric {
        key: "excluded_mapping_quality",
        name: "Excluded: low mapping quality",
        meaning: "Share of aligned bases that CollectWgsMetrics does not count because of a low mapping quality.",
        find: |run| genome_number(run, "PCT_EXC_MAPQ"),
        ..SHARE
    },
    Metric {
        key: "excluded_base_quality",
        name: "Excluded: low base quality",
        meaning: "Share of aligned bases that CollectWgsMetrics does not count because of a low base quality.",
        find: |run| genome_number(run, "PCT_EXC_BASEQ"),
        ..SHARE
    },
    Metric {
        key: "excluded_overlap",
        name: "Excluded: overlapping mates",
        meaning: "Share of aligned bases that CollectWgsMetrics does not count because the mate covers them.",
        find: |run| genome_number(run, "PCT_EXC_OVERLAP"),
        ..SHARE
    },
];

fn flagstat_share(run: &RunPart<'_>, part: &str, whole: &str) -> Option<Quantity> {
    Quantity::share(flagstat_count(run, part), flagstat_count(run, whole))
}

/// Returns the ratio of two summary numbers of samtools stats.
fn stats_share(run: &RunPart<'_>, part: &str, whole: &str) -> Option<Quantity> {
    let of = |name: &str| run.number(&format!("reports/stats/SN/{name}"));
    Quantity::share(of(part), of(whole))
}

/// Returns the share of an orientation in the pairs of all orientations, by samtools stats.
fn orientation_share(run: &RunPart<'_>, orientation: &str) -> Option<Quantity> {
    let names = ["inward oriented pairs", "outward oriented pairs", "pairs with other orientation"];
    let pairs = |name: &str| run.number(&format!("reports/stats/SN/{name}"));
    Quantity::share(pairs(orientation), Quantity::sum(names.map(pairs)))
}

/// Returns the share of genome bases with at least this depth. `None` without targets: then other columns
/// have it.
fn genome_beside_targets(run: &RunPart<'_>, depth: u32) -> Option<Quantity> {
    if has_targets(run) { genome_share_at_depth(run, depth) } else { None }
}

fn genome_number(run: &RunPart<'_>, name: &str) -> Option<Quantity> {
    run.number(&format!("{GENOME}/{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{METRICS, find_metric, metric_title};
    use serde_json::json;

    fn find(run: &serde_json::Value, key: &str) -> Option<f64> {
        let metric = DETAILS.iter().find(|it| it.key == key).unwrap();
        (metric.find)(&RunPart::new(run)).map(|it| it.value)
    }

    #[test]
    fn shares_of_flagstat_include_reads_that_failed() {
        let both = |passed: u32, failed: u32| json!({"passed": passed, "failed": failed});
        let run = json!({"reports": {"flagstat": {
            "primary": both(90, 10), "primary mapped": both(72, 8), "supplementary": both(3, 1),
            "paired in sequencing": both(90, 10), "properly paired": both(60, 6), "singletons": both(1, 1),
            "with itself and mate mapped": both(70, 8), "with mate mapped to a different chr": both(7, 1),
        }}});
        assert_eq!(find(&run, "properly_paired"), Some(0.66));
        assert_eq!(find(&run, "singletons"), Some(0.02));
        assert_eq!(find(&run, "different_contigs"), Some(8.0 / 78.0));
        assert_eq!(find(&run, "supplementary"), Some(0.05));
        assert_eq!(find(&run, "qc_failed"), Some(0.1));
        assert_eq!(find(&run, "mapping_quality_0"), None);
    }

    #[test]
    fn shares_of_target_bases_are_called_so() {
        let title = |report: &str| {
            let run = json!({"reports": {report: {"depth": [30, 2], "share": [0.1, 1]}}});
            let metric = DETAILS.iter().find(|it| it.key == "bases_at_30x").unwrap();
            metric_title(metric, &RunPart::new(&run))
        };
        assert_eq!(title("mosdepth.region.dist.txt"), "Target bases covered ≥ 30×");
        assert_eq!(title("mosdepth.global.dist.txt"), "Bases covered ≥ 30×");
    }

    #[test]
    fn other_reports_replace_those_that_are_missing() {
        let sn = json!({
            "reads MQ0": 5, "reads mapped": 50, "reads paired": 100, "reads properly paired": 45,
            "total length": 15_000, "average length": 150, "bases mapped (cigar)": 14_000,
            "inward oriented pairs": 18, "outward oriented pairs": 1, "pairs with other orientation": 1,
        });
        let mut run = json!({"reports": {
            "stats": {"SN": sn},
            "quality_distribution_metrics": {"histograms": [{"QUALITY": [12, 20, 37], "COUNT_OF_Q": [1, 1, 2]}]},
            "mosdepth.summary.txt": [{"chrom": "total", "mean": 31.5}],
            "mosdepth.global.dist.txt": {"depth": [10, 1, 0], "share": [0.4, 0.9, 1.0]},
        }});
        assert_eq!(find(&run, "mapping_quality_0"), Some(0.1));
        assert_eq!(find(&run, "properly_paired"), Some(0.45));
        assert_eq!(find(&run, "yield"), Some(15_000.0));
        assert_eq!(find(&run, "mapped_bases"), Some(14_000.0));
        assert_eq!(find(&run, "inward_pairs"), Some(0.9));
        assert_eq!(find(&run, "other_pairs"), Some(0.05));
        assert_eq!(find(&run, "mean_read_length"), Some(150.0));
        assert_eq!(find(&run, "q20_bases"), Some(0.75));
        assert_eq!(find(&run, "mean_genome_coverage"), Some(31.5));
        assert_eq!(find(&run, "bases_at_1x"), Some(0.9));
        assert_eq!(find(&run, "bases_at_30x"), Some(0.0), "deeper than the deepest");
        assert_eq!(find(&run, "excluded_total"), None);
        run["reports"]["wgs_metrics"] = json!({"rows": [{
            "MEAN_COVERAGE": 28.0, "MEDIAN_COVERAGE": 29, "PCT_1X": 0.8, "PCT_EXC_TOTAL": 0.2,
            "PCT_EXC_DUPE": 0.1, "PCT_EXC_MAPQ": 0.06, "PCT_EXC_OVERLAP": 0.04,
        }]});
        assert_eq!(find(&run, "mean_genome_coverage"), Some(28.0));
        assert_eq!(find(&run, "median_genome_coverage"), Some(29.0));
        assert_eq!(find(&run, "bases_at_1x"), Some(0.8));
        let excluded = ["total", "duplicates", "mapping_quality", "overlap"];
        let excluded = excluded.map(|it| find(&run, &format!("excluded_{it}")));
        assert_eq!(excluded, [0.2, 0.1, 0.06, 0.04].map(Some));
    }

    #[test]
    fn targets_and_the_genome_have_columns_of_their_own() {
        let mut run = json!({"reports": {
            "mosdepth.summary.txt": [
                {"chrom": "chrM", "mean": 900.5}, {"chrom": "total", "mean": 2.0}, {"chrom": "total_region", "mean": 60.0},
            ],
            "mosdepth.region.dist.txt": {"depth": [70, 50, 5, 0], "share": [0.1, 0.6, 0.98, 1.0]},
            "mosdepth.global.dist.txt": {"depth": [5, 1, 0], "share": [0.02, 0.5, 1.0]},
        }});
        assert_eq!((find(&run, "bases_at_5x"), find(&run, "bases_at_50x")), (Some(0.98), Some(0.6)));
        assert_eq!((find(&run, "genome_at_5x"), find(&run, "genome_at_50x")), (Some(0.02), Some(0.0)));
        assert_eq!(find(&run, "median_target_coverage"), Some(50.0));
        assert_eq!(find(&run, "median_genome_coverage"), Some(1.0));
        assert_eq!(find(&run, "mitochondrial_coverage"), Some(900.5));
        run["reports"]["hs_metrics"] = json!({
            "rows": [{"MEDIAN_TARGET_COVERAGE": 55, "PCT_TARGET_BASES_50X": 0.55}],
            "histograms": [{"coverage_or_base_quality": [0, 4, 5, 60], "high_quality_coverage_count": [1, 2, 3, 4]}],
        });
        assert_eq!((find(&run, "bases_at_5x"), find(&run, "bases_at_50x")), (Some(0.7), Some(0.55)));
        assert_eq!(find(&run, "median_target_coverage"), Some(55.0));
        run["reports"]["mosdepth.summary.txt"][2]["chrom"] = "chr1".into();
        run["reports"].as_object_mut().unwrap().remove("hs_metrics");
        assert_eq!(find(&run, "genome_at_5x"), None, "without targets, other columns have it");
        assert_eq!(find(&run, "median_target_coverage"), None);
    }

    #[test]
    fn each_column_has_its_own_name_and_a_definition() {
        let columns = || METRICS.iter().chain(DETAILS);
        for metric in columns() {
            let same = columns().filter(|it| it.name == metric.name || it.key == metric.key).count();
            let is_sentence = metric.meaning.ends_with('.') && !metric.meaning.contains(". ");
            assert!(same == 1 && is_sentence, "{}: {}", metric.key, metric.meaning);
        }
        assert!(DETAILS.iter().all(|it| find_metric(it.key).is_none()), "details have no thresholds");
    }
}
