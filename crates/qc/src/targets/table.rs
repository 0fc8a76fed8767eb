//! Writes the files of CollectHsMetrics and CollectTargetedPcrMetrics.

use readmill_format::intervals::NamedIntervals;
use readmill_format::library_size::estimate_library_size;
use readmill_format::metrics::{HistogramColumn, MetricsFile, MetricsRow};
use readmill_record::Result;

use super::join::TargetTotals;
use super::penalty::PenaltyInput;
use super::rules::{HS, TargetRules};
use crate::counts::{SortedCounts, count_bytes};
use crate::depth::sensitivity;
use crate::levels::MetricsUnit;
use crate::reference::ReferenceContigs;

const HS_COLUMNS: [&str; 20] = [
    "BAIT_SET",
    "BAIT_TERRITORY",
    "BAIT_DESIGN_EFFICIENCY",
    "ON_BAIT_BASES",
    "NEAR_BAIT_BASES",
    "OFF_BAIT_BASES",
    "PCT_SELECTED_BASES",
    "PCT_OFF_BAIT",
    "ON_BAIT_VS_SELECTED",
    "MEAN_BAIT_COVERAGE",
    "PCT_USABLE_BASES_ON_BAIT",
    "PCT_USABLE_BASES_ON_TARGET",
    "FOLD_ENRICHMENT",
    "HS_LIBRARY_SIZE",
    "HS_PENALTY_10X",
    "HS_PENALTY_20X",
    "HS_PENALTY_30X",
    "HS_PENALTY_40X",
    "HS_PENALTY_50X",
    "HS_PENALTY_100X",
];

const PCR_COLUMNS: [&str; 13] = [
    "CUSTOM_AMPLICON_SET",
    "AMPLICON_TERRITORY",
    "ON_AMPLICON_BASES",
    "NEAR_AMPLICON_BASES",
    "OFF_AMPLICON_BASES",
    "PCT_AMPLIFIED_BASES",
    "PCT_OFF_AMPLICON",
    "ON_AMPLICON_VS_SELECTED",
    "MEAN_AMPLICON_COVERAGE",
    "FOLD_ENRICHMENT",
    "PF_SELECTED_PAIRS",
    "PF_SELECTED_UNIQUE_PAIRS",
    "ON_TARGET_FROM_PAIR_BASES",
];

/// The columns of both programs, before the fractions of bases by depth.
const COLUMNS: [&str; 25] = [
    "TARGET_TERRITORY",
    "GENOME_SIZE",
    "TOTAL_READS",
    "PF_READS",
    "PF_BASES",
    "PF_UNIQUE_READS",
    "PF_UQ_READS_ALIGNED",
    "PF_BASES_ALIGNED",
    "PF_UQ_BASES_ALIGNED",
    "ON_TARGET_BASES",
    "PCT_PF_READS",
    "PCT_PF_UQ_READS",
    "PCT_PF_UQ_READS_ALIGNED",
    "MEAN_TARGET_COVERAGE",
    "MEDIAN_TARGET_COVERAGE",
    "MAX_TARGET_COVERAGE",
    "MIN_TARGET_COVERAGE",
    "ZERO_CVG_TARGETS_PCT",
    "PCT_EXC_DUPE",
    "PCT_EXC_ADAPTER",
    "PCT_EXC_MAPQ",
    "PCT_EXC_BASEQ",
    "PCT_EXC_OVERLAP",
    "PCT_EXC_OFF_TARGET",
    "FOLD_80_BASE_PENALTY",
];

/// Minimum depths of the columns PCT_TARGET_BASES_1X to PCT_TARGET_BASES_100000X.
const DEPTHS: [u32; 17] =
    [1, 2, 10, 20, 30, 40, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000];

/// The columns of both programs, after the fractions of bases by depth.
const LAST_COLUMNS: [&str; 7] =
    ["AT_DROPOUT", "GC_DROPOUT", "HET_SNP_SENSITIVITY", "HET_SNP_Q", "SAMPLE", "LIBRARY", "READ_GROUP"];

/// Number of bases that are read from the reference at a time.
const AT_ONCE: u32 = 1 << 16;

/// The depths of the columns HS_PENALTY_10X to HS_PENALTY_100X.
const PENALTIES: [u32; 6] = [10, 20, 30, 40, 50, 100];

/// The reference and the targets, from which the GC content of targets is computed at the end.
pub(super) struct TargetGc {
    reference: ReferenceContigs,
    targets: NamedIntervals,
}

impl TargetGc {
    pub fn new((targets, reference): (NamedIntervals, ReferenceContigs)) -> Self {
        TargetGc { reference, targets }
    }

    /// Returns the fraction of G and C of each target.
    ///
    /// # Errors
    /// The reference lacks a contig, has a shorter one, or cannot be read.
    pub fn gc_shares(&self) -> Result<Vec<f64>> {
        let mut bases = self.reference.file().bam_code_window();
        let share = |&(contig, start, end): &(u32, u32, u32)| {
            let place = self.reference.place(contig.cast_signed())?;
            let Some((number, _)) = place else { return Ok(0.0) };
            let mut count = 0;
            for first in (start..end).step_by(AT_ONCE as usize) {
                let codes = bases.codes(number, first, end.min(first.saturating_add(AT_ONCE)))?;
                count += count_bytes(codes, |code| matches!(code, C | G));
            }
            Ok(count as f64 / f64::from(end - start))
        };
        self.targets.intervals().iter().map(share).collect()
    }
}

/// BAM codes of C and G.
const C: u8 = 2;
const G: u8 = 4;

impl TargetTotals {
    /// Returns MEAN_TARGET_COVERAGE.
    pub(super) fn mean_depth(&self, rules: &TargetRules) -> f64 {
        let bases: u64 = self.targets.iter().map(|target| target.bases).sum();
        bases as f64 / f64::from(rules.targets.base_count())
    }

    /// Returns the number of target positions by their number of counted bases, including positions
    /// without any.
    fn depth_histogram(&self, rules: &TargetRules) -> SortedCounts {
        let mut bins = self.good.bins();
        let without = u64::from(rules.targets.base_count()) - bins.count();
        if without > 0 {
            bins.0.insert(0, (0, without));
        }
        bins
    }

    /// Returns AT_DROPOUT and GC_DROPOUT in percent. Targets of exactly 50 % GC contribute to both,
    /// as in Picard.
    fn at_and_gc_dropout(&self, rules: &TargetRules, gc: &[f64]) -> (f64, f64) {
        let mut targets = vec![(0_u64, 0_u64); 101];
        let each = rules.targets.intervals().iter().zip(&self.targets).zip(gc);
        for ((&(_, start, end), depths), gc) in each {
            let bin = (gc * 100.0 + 0.5).floor() as usize;
            if let Some((length, bases)) = targets.get_mut(bin) {
                *length += u64::from(end - start);
                *bases += depths.bases;
            }
        }
        let all = targets.iter().fold((0, 0), |all, it| (all.0 + it.0, all.1 + it.1));
        let (mut at, mut gc) = (0.0, 0.0);
        for (bin, &(length, bases)) in targets.iter().enumerate() {
            let lost = (bases as f64 / all.1 as f64 - length as f64 / all.0 as f64) * 100.0;
            if lost < 0.0 {
                at += if bin <= 50 { -lost } else { 0.0 };
                gc += if bin >= 50 { -lost } else { 0.0 };
            }
        }
        (at, gc)
    }
}

/// Fills the file of a program, with one row for each of `units`. `gc` has the GC content of each
/// target, if there is a reference; `genome` is the number of bases of all contigs, and `samples`
/// is Picard's SAMPLE_SIZE.
pub(super) fn fill(
    file: &mut MetricsFile,
    rules: &TargetRules,
    units: &[(&MetricsUnit, &TargetTotals)],
    gc: Option<&[f64]>,
    genome: u64,
    samples: u32,
) {
    let is_hs = *rules.program == HS;
    let (class, first) = if is_hs {
        ("picard.analysis.directed.HsMetrics", &HS_COLUMNS[..])
    } else {
        ("picard.analysis.directed.TargetedPcrMetrics", &PCR_COLUMNS[..])
    };
    let shares: Vec<String> = DEPTHS.iter().map(|depth| format!("PCT_TARGET_BASES_{depth}X")).collect();
    let mut columns = first.to_vec();
    columns.extend(COLUMNS);
    columns.extend(shares.iter().map(String::as_str));
    columns.extend(LAST_COLUMNS);
    let row = |(unit, totals): &(&MetricsUnit, &TargetTotals)| {
        let mut row = MetricsRow::default();
        let depths = totals.depth_histogram(rules);
        if is_hs {
            put_baits(&mut row, rules, totals, &depths, genome);
        } else {
            put_amplicons(&mut row, rules, totals, genome);
        }
        put_counts(&mut row, rules, totals, &depths, genome);
        let (at, g_and_c) = gc.map_or((0.0, 0.0), |gc| totals.at_and_gc_dropout(rules, gc));
        row.push_decimal(at).push_decimal(g_and_c);
        put_sensitivity(&mut row, rules, totals, samples);
        for name in unit.column_values() {
            row.push_optional(name);
        }
        row
    };
    file.set_table(class, &columns, units.iter().map(row));
    let mut columns = Vec::new();
    for (unit, totals) in units {
        let label = |name: &str| match units {
            [_] => name.as_bytes().to_vec(),
            _ => [unit.histogram_label(), b".", name.as_bytes()].concat(),
        };
        let depths = totals.depth_histogram(rules);
        let mut bins: Vec<(i64, f64)> = (0..=i64::from(totals.deepest)).map(|key| (key, 0.0)).collect();
        depths.0.iter().for_each(|&(depth, count)| bins[depth as usize].1 = count as f64);
        columns.push(HistogramColumn { label: label("high_quality_coverage_count"), bins });
        let quals = (0..).zip(&totals.all_quals).map(|(qual, &count)| (qual, count as f64));
        columns.push(HistogramColumn { label: label("unfiltered_baseq_count"), bins: quals.collect() });
    }
    file.set_histograms("java.lang.Integer", "coverage_or_base_quality", columns);
}

/// Returns five columns: the fraction of aligned bases on or near probes, the fraction off probes,
/// the fraction of bases on probes among those on or near them, the mean depth of probes, and
/// FOLD_ENRICHMENT.
fn selection_columns(rules: &TargetRules, totals: &TargetTotals, genome: u64) -> [f64; 5] {
    let counts = &totals.counts;
    let (on, near, off) = (counts.on_probe, counts.near_probe, counts.off_probe);
    let (all, territory) = ((on + near + off) as f64, f64::from(rules.probes.base_count()));
    [
        (on + near) as f64 / all,
        off as f64 / all,
        on as f64 / (on + near) as f64,
        on as f64 / territory,
        on as f64 / all / (territory / genome as f64),
    ]
}

fn put_baits(
    row: &mut MetricsRow,
    rules: &TargetRules,
    totals: &TargetTotals,
    depths: &SortedCounts,
    genome: u64,
) {
    let counts = &totals.counts;
    let [selected, off, on_selected, mean, enrichment] = selection_columns(rules, totals, genome);
    let (baits, targets) = (rules.probes.base_count(), rules.targets.base_count());
    row.push_text(rules.probe_set.as_bytes()).push_integer(baits);
    row.push_decimal(f64::from(targets) / f64::from(baits));
    row.push_integer(counts.on_probe).push_integer(counts.near_probe).push_integer(counts.off_probe);
    row.push_decimal(selected).push_decimal(off).push_decimal(on_selected).push_decimal(mean);
    row.push_decimal(counts.on_probe as f64 / counts.pf_bases as f64);
    row.push_decimal(counts.on_target as f64 / counts.pf_bases as f64);
    row.push_decimal(enrichment);
    let (pairs, unique_pairs) = (counts.selected_pairs, counts.selected_unique_pairs);
    let library = PenaltyInput {
        size: estimate_library_size(pairs, unique_pairs),
        pairs,
        unique_pairs,
        mean_depth: counts.on_target_from_pairs as f64 / f64::from(targets),
        fold_80: totals.mean_depth(rules) / depths.percentile(0.2),
        on_target: counts.on_target as f64 / counts.pf_unique_aligned_bases as f64,
    };
    match library.size {
        Some(size) => row.push_integer(size),
        None => row.push_text(b""),
    };
    for depth in PENALTIES {
        row.push_decimal(library.penalty(depth));
    }
}

fn put_amplicons(row: &mut MetricsRow, rules: &TargetRules, totals: &TargetTotals, genome: u64) {
    let counts = &totals.counts;
    let [selected, off, on_selected, mean, enrichment] = selection_columns(rules, totals, genome);
    row.push_text(rules.probe_set.as_bytes()).push_integer(rules.probes.base_count());
    row.push_integer(counts.on_probe).push_integer(counts.near_probe).push_integer(counts.off_probe);
    row.push_decimal(selected)
        .push_decimal(off)
        .push_decimal(on_selected)
        .push_decimal(mean)
        .push_decimal(enrichment);
    row.push_integer(counts.selected_pairs).push_integer(counts.selected_unique_pairs);
    row.push_integer(counts.on_target_from_pairs);
}

/// Appends the columns of both programs, up to the fractions of bases by depth.
fn put_counts(
    row: &mut MetricsRow,
    rules: &TargetRules,
    totals: &TargetTotals,
    depths: &SortedCounts,
    genome: u64,
) {
    let counts = &totals.counts;
    let territory = rules.targets.base_count();
    row.push_integer(territory).push_integer(genome);
    for number in [
        counts.reads,
        counts.pf_reads,
        counts.pf_bases,
        counts.pf_unique_reads,
        counts.pf_unique_aligned_reads,
        counts.pf_aligned_bases,
        counts.pf_unique_aligned_bases,
        counts.on_target,
    ] {
        row.push_integer(number);
    }
    row.push_decimal(counts.pf_reads as f64 / counts.reads as f64);
    row.push_decimal(counts.pf_unique_reads as f64 / counts.reads as f64);
    row.push_decimal(counts.pf_unique_aligned_reads as f64 / counts.pf_unique_reads as f64);
    let mean = totals.mean_depth(rules);
    // If there is only one position, Picard computes the median as 0.
    let median = if territory == 1 { 0.0 } else { depths.median() };
    row.push_decimal(mean).push_decimal(median).push_integer(totals.deepest).push_integer(depths.min());
    let uncovered = totals.targets.iter().filter(|target| target.covered == 0).count();
    row.push_decimal(uncovered as f64 / rules.targets.given_count() as f64);
    for number in [
        counts.duplicates,
        counts.adapters,
        counts.low_mapq,
        counts.low_quals,
        counts.overlaps,
        counts.off_target,
    ] {
        row.push_decimal(number as f64 / counts.pf_aligned_bases as f64);
    }
    row.push_decimal(mean / depths.percentile(0.2));
    for depth in DEPTHS {
        let deep = depths.0.iter().filter(|(key, _)| *key >= i64::from(depth));
        let deep: u64 = deep.map(|(_, count)| count).sum();
        row.push_decimal(deep as f64 / f64::from(territory));
    }
}

fn put_sensitivity(row: &mut MetricsRow, rules: &TargetRules, totals: &TargetTotals, samples: u32) {
    let mut depths = totals.called.clone();
    depths[0] = u64::from(rules.targets.base_count()) - depths.iter().sum::<u64>();
    // Picard's list ends before the depth of the cap if no position is so deep.
    if depths.len() > 1 && depths.last() == Some(&0) {
        depths.pop();
    }
    let sensitivity = sensitivity::het_snp_sensitivity(&depths, &totals.quals, samples);
    row.push_decimal(sensitivity).push_decimal(sensitivity::phred_score(sensitivity));
}
