//! Simulated runs for the tests of the verdict: samples of all assays and depths, without a fault or
//! with one.
//!
//! The counts are drawn at random with a fixed seed: depths from a negative binomial distribution,
//! shares with the error of their sample size.

use std::fmt;

use serde_json::{Value, json};

use crate::diagnosis::group_by_cause;
use crate::limits::{Assay, Grade, Limits};
use crate::rules::{Cause, find_rule, find_unmet_need};
use crate::run::RunPart;
use crate::verdict::{MetricJudgement, SampleStatus, judge_sample};

/// A xorshift generator, which gives the same numbers on each machine.
struct Random(u64);

impl Random {
    /// Returns a number from 0 to 1.
    fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number of about the normal distribution with mean 0 and deviation 1.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.share()).sum::<f64>() - 6.0
    }

    /// Returns a share that is measured in a sample of `count`.
    fn measure(&mut self, share: f64, count: f64) -> f64 {
        let deviation = (share * (1.0 - share) / count.max(1.0)).sqrt();
        (share + deviation * self.normal()).clamp(0.0, 1.0)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Most fragments are shorter than the reads.
    Short,
    Amplified,
    GcBias,
    LostTargets,
    FailedCycle,
    OtherLane,
    Foreign,
    /// The sequencer yielded a tenth of the reads.
    FewReads,
}

impl Fault {
    const ALL: [Fault; 9] = [
        Fault::None,
        Fault::Short,
        Fault::Amplified,
        Fault::GcBias,
        Fault::LostTargets,
        Fault::FailedCycle,
        Fault::OtherLane,
        Fault::Foreign,
        Fault::FewReads,
    ];

    /// Returns the cause that the verdict must name.
    fn cause(self) -> Option<Cause> {
        Some(match self {
            Fault::None => return None,
            Fault::Short => Cause::ShortFragments,
            Fault::Amplified => Cause::FewMolecules,
            Fault::GcBias => Cause::GcLoss,
            Fault::LostTargets => Cause::LostRegions,
            Fault::FailedCycle => Cause::LowQuality,
            Fault::OtherLane => Cause::OtherLane,
            Fault::Foreign => Cause::ForeignReads,
            Fault::FewReads => Cause::FewReads,
        })
    }

    /// Returns the metric that shows the fault first.
    fn metric(self) -> &'static str {
        match self {
            Fault::None => "",
            Fault::Short => "short_inserts",
            Fault::Amplified => "duplicates",
            Fault::GcBias => "gc_dropout",
            Fault::LostTargets => "even_coverage",
            Fault::FailedCycle => "worst_cycle",
            Fault::OtherLane => "lanes_insert",
            Fault::Foreign => "mapped",
            Fault::FewReads => "mean_coverage",
        }
    }
}

#[derive(Clone, Copy)]
struct Simulated {
    assay: Assay,
    /// Mean coverage that the sample would have without a fault.
    depth: f64,
    fault: Fault,
    seed: u64,
}

impl fmt::Display for Simulated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}× {:?} seed {}", self.assay.name(), self.depth, self.fault, self.seed)
    }
}

const READ_LENGTH: f64 = 150.0;
const LANES: usize = 4;

impl Simulated {
    /// Returns the description of the run.
    fn describe(&self) -> Value {
        let Simulated { assay, depth, fault, seed } = *self;
        let mut random = Random(seed * 7919 + (depth * 64.0) as u64 * 104_729 + fault as u64 * 31 + 17);
        (0..20).map(|_| random.share()).for_each(|_| {});
        let territory = self.territory();
        let has_targets = matches!(assay, Assay::Exome | Assay::Panel);
        let is = |one: Fault| fault == one;
        let selected = if has_targets { 0.85 } else { 1.0 };
        let few = if is(Fault::FewReads) { 0.1 } else { 1.0 };
        let reads = (few * depth * territory / READ_LENGTH / selected / 0.9).ceil();
        let true_mapped = if is(Fault::Foreign) { 0.4 } else { 0.985 };
        let mapped = random.measure(true_mapped, reads);
        let true_duplicates = self.duplicates();
        // At a low depth, few fragments of a clean library are sequenced twice.
        let saturation = if is(Fault::Amplified) { 1.0 } else { (depth / 30.0).min(1.0) };
        let duplicates = random.measure(true_duplicates * saturation, reads * mapped);
        let true_short = if is(Fault::Short) { 0.75 } else { 0.02 };
        let pairs = (reads * mapped / 2.0).floor();
        let short = random.measure(true_short, pairs);
        let lost = self.lost_share();
        let usable = mapped * (1.0 - duplicates) / 0.985 / (1.0 - true_duplicates.min(0.5) * saturation);
        let mean = few * depth * usable * (1.0 - 0.5 * (short - 0.02).max(0.0)) * (1.0 - lost);
        let depths = self.draw_depths(&mut random, mean / (1.0 - lost), lost);
        let mean = depths.iter().sum::<f64>() / depths.len() as f64;
        let from = |least: f64| {
            depths.iter().filter(|depth| **depth >= least).count() as f64 / depths.len() as f64
        };
        let (fold_80, counted, shares) = describe_depths(&depths);

        let gc_noise = |random: &mut Random| {
            (110.0 / (reads * mapped).max(1.0).sqrt()) * (1.0 + 0.3 * random.normal())
        };
        let at_dropout = 1.0 + gc_noise(&mut random).max(0.0);
        let planted_dropout = if is(Fault::GcBias) { 34.0 } else { 1.0 };
        let gc_dropout = planted_dropout + gc_noise(&mut random).max(0.0);
        let (inserts, lanes, gc_rows) = self.draw_lanes(&mut random, pairs);
        let mut gc_summary = vec![json!({
            "AT_DROPOUT": at_dropout, "GC_DROPOUT": gc_dropout, "ALIGNED_READS": reads * mapped, "READS_USED": "ALL",
        })];
        gc_summary.extend(lanes);
        let (cycles, qualities, distribution) = self.draw_cycles(&mut random, reads);
        let bases = reads * READ_LENGTH;
        let both = |count: f64| json!({"passed": count.round(), "failed": 0});
        let short_pairs = (short * pairs).round();
        let optical = (0.004 * pairs).round();
        let mut reports = json!({
            "flagstat": {
                "primary": both(reads), "primary mapped": both(reads * mapped),
                "primary duplicates": both(reads * mapped * duplicates),
            },
            "alignment_summary_metrics": {"rows": [{
                "CATEGORY": "PAIR", "TOTAL_READS": reads, "PF_READS_ALIGNED": reads * mapped,
                "PCT_PF_READS_ALIGNED": mapped, "MEDIAN_READ_LENGTH": READ_LENGTH,
                "PF_ALIGNED_BASES": bases * mapped, "PCT_CHIMERAS": random.measure(0.01, pairs),
                "PF_MISMATCH_RATE": random.measure(0.004, bases * mapped / 10.0),
                "PCT_SOFTCLIP": random.measure(if is(Fault::Short) { 0.3 } else { 0.01 }, reads),
            }]},
            "duplicates": {
                "rows": [{
                    "LIBRARY": "l", "READ_PAIRS_EXAMINED": pairs, "UNPAIRED_READS_EXAMINED": 0,
                    "READ_PAIR_DUPLICATES": (pairs * duplicates).round(), "UNPAIRED_READ_DUPLICATES": 0,
                    "READ_PAIR_OPTICAL_DUPLICATES": optical, "PERCENT_DUPLICATION": duplicates,
                }],
                "histograms": [{"BIN": [1, 2], "all_sets": [pairs, 1.0 + optical]}],
            },
            "duplicates_by_tile": {"read_group": ["a"], "tile": [1101], "pairs": [pairs], "duplicates": [0], "optical_duplicates": [optical]},
            "insert_size_metrics": {
                "rows": inserts,
                "histograms": [{"insert_size": [100, 350], "All_Reads.fr_count": [short_pairs, pairs - short_pairs]}],
            },
            "quality_by_cycle_metrics": {"histograms": [{"CYCLE": cycles, "MEAN_QUALITY": qualities}]},
            "quality_yield_metrics": {"rows": [{"TOTAL_BASES": bases, "Q30_BASES": bases * random.measure(0.93, bases)}]},
            "base_distribution_by_cycle_metrics": {"rows": distribution},
            "gc_bias.summary_metrics": {"rows": gc_summary},
            "gc_bias.detail_metrics": {"rows": gc_rows},
            "pre_adapter_summary_metrics": {"rows": [{
                "REF_BASE": "G", "ALT_BASE": "T", "TOTAL_QSCORE": 45.0 - 40.0 / (bases / 1e4).max(1.0).sqrt(),
            }]},
        });
        let summary = |name: &str, mean: f64| json!({"chrom": name, "length": territory, "bases": mean * territory, "mean": mean});
        match assay {
            Assay::Rna => {}
            Assay::Wgs => {
                reports["mosdepth.summary.txt"] = json!([summary("total", mean)]);
                reports["mosdepth.global.dist.txt"] = json!({"depth": counted, "share": shares});
                reports["wgs_metrics"] = json!({"rows": [{
                    "MEAN_COVERAGE": mean, "PCT_20X": from(20.0), "FOLD_80_BASE_PENALTY": fold_80,
                }]});
            }
            Assay::Exome | Assay::Panel => {
                reports["mosdepth.summary.txt"] =
                    json!([summary("total", mean * territory / 3.1e9), summary("total_region", mean)]);
                reports["mosdepth.region.dist.txt"] = json!({"depth": counted, "share": shares});
                let selected = random.measure(selected, reads * mapped);
                reports["hs_metrics"] = json!({"rows": [{
                    "MEAN_TARGET_COVERAGE": mean, "PCT_TARGET_BASES_20X": from(20.0), "FOLD_80_BASE_PENALTY": fold_80,
                    "PF_READS": reads, "PCT_SELECTED_BASES": selected, "GENOME_SIZE": 3.1e9, "BAIT_TERRITORY": territory,
                    "FOLD_ENRICHMENT": 0.8 * selected * 3.1e9 / territory, "ON_TARGET_BASES": mean * territory,
                    "AT_DROPOUT": at_dropout, "GC_DROPOUT": gc_dropout,
                }]});
            }
        }
        describe_run(assay, reads, reports)
    }

    /// Returns the share of duplicates at a high depth.
    fn duplicates(&self) -> f64 {
        match self.assay {
            _ if self.fault == Fault::Amplified => 0.93,
            Assay::Wgs | Assay::Exome => 0.08,
            Assay::Panel | Assay::Rna => 0.4,
        }
    }

    /// Returns the share of positions that the fault leaves without coverage.
    fn lost_share(&self) -> f64 {
        match self.fault {
            Fault::LostTargets => 0.33,
            Fault::GcBias => 0.35,
            _ => 0.0,
        }
    }

    /// Returns the bases of the genome or of the targets. Odd seeds are small genomes and panels.
    fn territory(&self) -> f64 {
        match (self.assay, self.seed % 2) {
            (Assay::Wgs, 0) => 3.1e9,
            (Assay::Wgs, _) => 5e6,
            (Assay::Exome, _) => 36e6,
            (Assay::Panel, 0) => 1.2e6,
            (Assay::Panel, _) => 60e3,
            (Assay::Rna, _) => 1e7,
        }
    }

    /// Draws the lanes: rows of insert sizes (the first one of all reads), of GC bias, and of GC by
    /// read starts.
    fn draw_lanes(&self, random: &mut Random, pairs: f64) -> (Vec<Value>, Vec<Value>, Vec<Value>) {
        let insert = if self.fault == Fault::Short { 110.0 } else { 350.0 };
        let median = |random: &mut Random, pairs: f64| {
            (insert + 1.25 * 80.0 / pairs.max(1.0).sqrt() * random.normal()).round().max(20.0)
        };
        let insert_row = |lane: Value, median: f64, pairs: f64| {
            json!({
                "SAMPLE": lane.is_string().then_some("s"), "LIBRARY": lane.is_string().then_some("l"),
                "READ_GROUP": lane, "PAIR_ORIENTATION": "FR", "MEDIAN_INSERT_SIZE": median, "READ_PAIRS": pairs,
            })
        };
        let mut inserts = vec![insert_row(Value::Null, median(random, pairs), pairs)];
        let (mut lanes, mut gc_rows) = (Vec::new(), Vec::new());
        for lane in 0..LANES {
            let name = format!("unit.{lane}");
            let other = self.fault == Fault::OtherLane && lane == 2;
            let pairs = (pairs / LANES as f64).floor();
            let own = median(random, pairs) * if other { 1.5 } else { 1.0 };
            inserts.push(insert_row(json!(name), own, pairs));
            let gc = 41.0
                + if other { 7.0 } else { 0.0 }
                + 10.0 / (2.0 * pairs).max(1.0).sqrt() * random.normal();
            lanes.push(json!({"READ_GROUP": name, "SAMPLE": "s", "LIBRARY": "l"}));
            gc_rows.push(json!({"READ_GROUP": name, "GC": gc, "READ_STARTS": 2.0 * pairs}));
        }
        (inserts, lanes, gc_rows)
    }

    /// Draws the cycles: their numbers, mean qualities, and rows with the percentage of N.
    fn draw_cycles(&self, random: &mut Random, reads: f64) -> (Vec<u32>, Vec<f64>, Vec<Value>) {
        let is_failed = |cycle: u32| self.fault == Fault::FailedCycle && cycle == 70;
        let noise = |random: &mut Random| 3.0 / reads.max(1.0).sqrt() * random.normal();
        let cycles: Vec<u32> = (1..=300).collect();
        let qualities: Vec<f64> = (cycles.iter())
            .map(|cycle| if is_failed(*cycle) { 7.0 } else { 36.0 } + noise(random))
            .collect();
        let distribution: Vec<Value> = (cycles.iter())
            .map(|cycle| {
                let share = if is_failed(*cycle) { 0.4 } else { 0.0004 };
                json!({"READ_END": 1 + cycle / 151, "CYCLE": cycle, "PCT_N": 100.0 * random.measure(share, reads / 2.0)})
            })
            .collect();
        (cycles, qualities, distribution)
    }

    /// Draws the depths of positions. A share of the positions has lost nearly all coverage.
    fn draw_depths(&self, random: &mut Random, mean: f64, lost: f64) -> Vec<f64> {
        let size = if self.assay == Assay::Wgs { 40.0 } else { 20.0 };
        let sums = |mean: f64| {
            let mut share = (size * (size / (mean + size)).ln()).exp();
            let (mut sum, mut sums) = (share, vec![share]);
            for depth in 0..(mean * 4.0) as u32 + 50 {
                share *= mean / (mean + size) * (size + f64::from(depth)) / f64::from(depth + 1);
                sum += share;
                sums.push(sum);
            }
            sums
        };
        let (usual, low) = (sums(mean), sums(0.02 * mean));
        (0..4_000)
            .map(|position| {
                let sums = if f64::from(position) < 4_000.0 * lost { &low } else { &usual };
                let share = random.share();
                sums.partition_point(|sum| *sum < share) as f64
            })
            .collect()
    }
}

/// Returns the description of a run with these reports.
fn describe_run(assay: Assay, reads: f64, reports: Value) -> Value {
    json!({
        "format": "readmill run", "version": 1, "sample": "s", "assay": assay.name(), "command": {"name": "prep"},
        "reads": {"read": reads + 211.0, "written": reads + 211.0, "written_elsewhere": 0, "counts": []},
        "reports": reports, "warnings": [],
    })
}

/// Returns the fold-80 penalty, the depths in decreasing order, and the share of positions that have
/// at least each depth.
fn describe_depths(depths: &[f64]) -> (Value, Vec<u32>, Vec<f64>) {
    let mean = depths.iter().sum::<f64>() / depths.len() as f64;
    let from =
        |least: f64| depths.iter().filter(|depth| **depth >= least).count() as f64 / depths.len() as f64;
    let mut covered: Vec<f64> = depths.iter().copied().filter(|depth| *depth > 0.0).collect();
    covered.sort_by(f64::total_cmp);
    let percentile = covered.get(covered.len() / 5).copied().unwrap_or(0.0);
    let fold_80 = if percentile > 0.0 { json!(mean / percentile) } else { Value::Null };
    let deepest = depths.iter().copied().fold(0.0, f64::max) as u32;
    let counted: Vec<u32> = (0..=deepest).rev().collect();
    let shares: Vec<f64> = counted.iter().map(|depth| from(f64::from(*depth))).collect();
    (fold_80, counted, shares)
}

const DEPTHS: [f64; 9] = [0.1, 0.5, 1.2, 2.0, 5.0, 10.0, 30.0, 100.0, 300.0];

fn simulate_all() -> impl Iterator<Item = Simulated> {
    let with_seed = |seed| {
        let assays = Assay::ALL.into_iter().map(|(_, assay)| assay);
        assays.flat_map(move |assay| {
            DEPTHS.into_iter().flat_map(move |depth| {
                Fault::ALL.into_iter().map(move |fault| Simulated { assay, depth, fault, seed })
            })
        })
    };
    (1..=2).flat_map(with_seed)
}

/// A lead of a finding, and the keys of its consequences.
fn find_all(value: &Value, limits: &Limits) -> Vec<(&'static str, Grade, Vec<&'static str>)> {
    let verdict = judge_sample(&RunPart::new(value), limits);
    let found = group_by_cause(&verdict.outcomes);
    let keys = |it: &crate::diagnosis::Diagnosis<'_>| it.follow.iter().map(|it| it.metric.key).collect();
    found.iter().map(|it| (it.lead.metric.key, it.grade, keys(it))).collect()
}

#[test]
fn the_planted_fault_leads_wherever_it_can_be_judged() {
    let (mut judged, mut all) = ([0; Fault::ALL.len()], 0);
    for sample in simulate_all().filter(|it| it.fault != Fault::None) {
        let (value, limits) = (sample.describe(), Limits::for_assay(sample.assay));
        let run = RunPart::new(&value);
        let verdict = judge_sample(&run, &limits);
        let shown = verdict.outcomes.iter().find(|it| it.metric.key == sample.fault.metric());
        all += 1;
        let found = find_all(&value, &limits);
        let Some(grade) = shown.and_then(|it| it.grade()) else { continue };
        // A tenth of the reads can be enough: 300× is then 30×.
        if sample.fault == Fault::FewReads && grade == Grade::Good {
            continue;
        }
        assert_ne!(grade, Grade::Good, "{sample}: {found:?}");
        judged[sample.fault as usize] += 1;
        let (lead, ..) = found.first().unwrap_or_else(|| panic!("{sample}: no finding"));
        let cause = find_rule(lead).and_then(|(_, rule)| rule.indicates);
        assert_eq!(cause, sample.fault.cause(), "{sample}: {found:?}");
    }
    assert!(all >= 500, "{all}");
    // RNA has no limits for three of the faults.
    for (fault, judged) in Fault::ALL.into_iter().zip(judged).skip(1) {
        assert!(judged >= 18, "{fault:?}: judged in {judged} samples");
    }
}

#[test]
fn from_thirty_fold_coverage_on_each_fault_is_judged() {
    for sample in simulate_all().filter(|it| it.depth >= 30.0 && it.fault != Fault::None) {
        let (value, limits) = (sample.describe(), Limits::for_assay(sample.assay));
        let run = RunPart::new(&value);
        let key = sample.fault.metric();
        // Few reads, or an amplified library, leave less than 30×.
        if limits.limit(key).is_none() {
            continue;
        }
        assert_eq!(find_unmet_need(key, &run), None, "{sample}");
    }
}

#[test]
fn a_clean_sample_has_no_fault_but_low_coverage() {
    for sample in simulate_all().filter(|it| it.fault == Fault::None) {
        let (value, limits) = (sample.describe(), Limits::for_assay(sample.assay));
        let found = find_all(&value, &limits);
        assert!(found.iter().all(|(lead, ..)| *lead == "mean_coverage"), "{sample}: {found:?}");
        if sample.assay == Assay::Wgs && sample.depth < 20.0 {
            assert_eq!(found.first().map(|it| it.0), Some("mean_coverage"), "{sample}: {found:?}");
        }
        let status = judge_sample(&RunPart::new(&value), &limits).status();
        if sample.depth >= 300.0 && sample.assay != Assay::Panel {
            assert_eq!(status, Some(SampleStatus::Pass), "{sample}");
        }
    }
}

#[test]
fn findings_do_not_contradict_each_other() {
    for sample in simulate_all() {
        let (value, limits) = (sample.describe(), Limits::for_assay(sample.assay));
        let run = RunPart::new(&value);
        let verdict = judge_sample(&run, &limits);
        let found = find_all(&value, &limits);
        let leads: Vec<&str> = found.iter().map(|it| it.0).collect();
        let follow: Vec<&str> = found.iter().flat_map(|it| it.2.iter().copied()).collect();
        assert!(!follow.iter().any(|key| leads.contains(key)), "{sample}: {found:?}");
        for key in leads.iter().chain(&follow) {
            assert_eq!(find_unmet_need(key, &run), None, "{sample}: {key}");
        }
        for (lead, _, follow) in &found {
            let at = |key: &str| find_rule(key).unwrap();
            for key in follow {
                let has_cause =
                    at(lead).1.indicates.is_some() && at(key).1.indicates == at(lead).1.indicates;
                assert!(has_cause || at(key).0 > at(lead).0, "{sample}: {lead} causes {key}");
            }
        }
        for outcome in &verdict.outcomes {
            let is_open = find_unmet_need(outcome.metric.key, &run).is_some();
            assert_eq!(matches!(outcome.judgement, MetricJudgement::NotJudged(_)), is_open, "{sample}");
        }
        let mean = run.value("reports/mosdepth.summary.txt/0/mean");
        if sample.assay == Assay::Wgs && mean.is_some_and(|mean| mean < 5.0) {
            let named = leads.iter().chain(&follow);
            assert!(
                !named.clone().any(|key| ["even_coverage", "fold_80", "bases_at_20x"].contains(key)),
                "{sample}"
            );
        }
    }
}
