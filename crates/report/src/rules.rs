//! The rules of the verdict, one for each key metric: what the metric needs so that it can be
//! judged, which cause it indicates, and which other metrics that cause may worsen.
//!
//! [`RULES`] is in causal order: a metric may worsen only metrics of its own cause and metrics in
//! later rows. So no two findings can name each other as cause and consequence.
//!
//! ```text
//! RULES ─┬─► verdict::judge_sample     needs: "not judged: mean coverage is below 10×"
//!        └─► diagnosis::group_by_cause indicates, worsens, coverage_left: findings
//! ```

use crate::lanes::{MIN_READS, collect_lanes, second_largest};
use crate::limits::Assay;
use crate::metrics::{
    TARGETS, alignment_row, compared_reads, fold_80_mean, gc_row, insert_row, mean_coverage,
    mosdepth_target_mean, sequenced_reads, target_gc_row, trimmed_reads,
};
use crate::run::RunPart;

/// A cause of bad metrics, in the order in which `diagnosis` tries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Fragments are shorter than the reads, or the library has adapter dimers.
    ShortFragments,
    /// A cycle failed, or all qualities are low.
    LowQuality,
    /// The library has few distinct molecules.
    FewMolecules,
    /// Reads are from another species, or are adapter dimers.
    ForeignReads,
    /// A lane is from a different library or sample.
    OtherLane,
    /// The baits did not enrich the targets.
    FailedCapture,
    /// Regions are lost because of their GC content.
    GcLoss,
    /// Regions are lost for other reasons.
    LostRegions,
    /// The sample has too few reads.
    FewReads,
}

/// Something that a metric needs so that it can be judged.
pub struct Need {
    /// The name of the amount, for the message if a run does not have it.
    pub what: &'static str,
    pub amount: fn(&RunPart<'_>) -> Option<f64>,
    pub min: f64,
    /// The reason if the amount is less than `min`.
    pub unmet: &'static str,
    /// Whether the amount grows with the number of reads.
    pub is_of_reads: bool,
}

/// Why a metric cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetNeed {
    pub reason: String,
    /// Whether more reads would be enough to judge the metric.
    pub is_of_reads: bool,
}

/// The rule of a key metric.
pub struct Rule {
    pub key: &'static str,
    pub needs: &'static [&'static Need],
    /// The cause that a bad value indicates. `None` if it has many causes.
    pub indicates: Option<Cause>,
    /// Keys of the metrics that this cause may worsen, besides those that indicate the same cause.
    pub worsens: &'static [&'static str],
    /// A phrase that says how to remove the cause, or what to do in spite of it. The page shows it after
    /// "What to do:".
    pub remedy: Option<&'static str>,
    /// Returns the fraction of the coverage that the cause leaves, at this value of the metric.
    /// A low coverage is a consequence only if it would be better without the cause.
    pub coverage_left: Option<fn(f64) -> f64>,
}

impl Rule {
    const fn of(key: &'static str, needs: &'static [&'static Need]) -> Rule {
        Rule { key, needs, indicates: None, worsens: &[], remedy: None, coverage_left: None }
    }
}

const READS: &Need = &Need {
    what: "the number of reads",
    amount: sequenced_reads,
    min: MIN_READS,
    unmet: "fewer than 1,000 reads",
    is_of_reads: true,
};
const TRIMMED_READS: &Need = &Need { amount: trimmed_reads, ..*READS };
const MAPPED_READS: &Need = &Need {
    what: "the number of mapped reads",
    amount: |run| alignment_row(run)?.value("PF_READS_ALIGNED"),
    min: MIN_READS,
    unmet: "fewer than 1,000 mapped reads",
    is_of_reads: true,
};
const COMPARED_READS: &Need = &Need {
    what: "the number of reads compared for duplicates",
    amount: compared_reads,
    min: MIN_READS,
    unmet: "fewer than 1,000 reads compared for duplicates",
    is_of_reads: true,
};
const PAIRS: &Need = &Need {
    what: "the number of read pairs",
    amount: |run| insert_row(run)?.value("READ_PAIRS"),
    min: MIN_READS,
    unmet: "fewer than 1,000 read pairs",
    is_of_reads: true,
};
/// With 10,000 reads, chance alone causes a dropout of about 1 %; the smallest threshold is 5 %.
const GC_READS: &Need = &Need {
    what: "the number of reads in GC windows",
    amount: |run| match target_gc_row(run) {
        // About one read for each 100 bases on targets.
        Some(targets) => Some(targets.value("ON_TARGET_BASES")? / 100.0),
        None => gc_row(run)?.value("ALIGNED_READS"),
    },
    min: 10_000.0,
    unmet: "fewer than 10,000 reads in GC windows",
    is_of_reads: true,
};
/// With a million bases, about 200,000 are G: sequencing errors then change the score near its
/// thresholds by less than 2.
const ALIGNED_BASES: &Need = &Need {
    what: "the number of aligned bases",
    amount: |run| alignment_row(run)?.value("PF_ALIGNED_BASES"),
    min: 1e6,
    unmet: "fewer than 1,000,000 aligned bases",
    is_of_reads: true,
};
const LANE_PAIRS: &Need = &Need {
    what: "the number of read pairs of each lane",
    amount: |run| second_largest(collect_lanes(run).iter().map(|lane| lane.pairs)),
    min: MIN_READS,
    unmet: "fewer than two lanes with 1,000 read pairs",
    is_of_reads: true,
};
const LANE_READS: &Need = &Need {
    what: "the number of reads of each lane",
    amount: |run| second_largest(collect_lanes(run).iter().map(|lane| lane.reads)),
    min: MIN_READS,
    unmet: "fewer than two lanes with 1,000 reads",
    is_of_reads: true,
};
/// Below a mean of 10×, few bases reach 20×, whatever the sample is like: the share repeats what the
/// mean says.
const MEAN_FOR_20X: &Need = &Need {
    what: "mean coverage",
    amount: |run| mean_coverage(run).map(|it| it.value),
    min: 10.0,
    unmet: "mean coverage is below 10×",
    is_of_reads: true,
};
/// Depths are whole numbers. At a mean of 5.1×, a base needs two reads to reach a fifth of the mean,
/// and chance alone leaves 4 to 6 % of the bases below. From 10× on, it leaves at most 2 %.
const MEAN_FOR_EVENNESS: &Need =
    &Need { amount: |run| mosdepth_target_mean(run).map(|it| it.value), ..*MEAN_FOR_20X };
/// The 20th percentile of depths is a whole number. Chance alone gives a penalty of 1.7 at 5× and
/// of up to 1.6 at 10×; from 20× on, it is at most 1.5.
const MEAN_FOR_FOLD_80: &Need = &Need {
    what: "mean coverage",
    amount: fold_80_mean,
    min: 20.0,
    unmet: "mean coverage is below 20×",
    is_of_reads: true,
};
/// The largest possible enrichment is the size of the genome divided by that of the baits.
const SMALL_BAITS: &Need = &Need {
    what: "the size of the baits",
    amount: |run| {
        let size = |name: &str| run.value(&format!("{TARGETS}/{name}"));
        Some(size("GENOME_SIZE")? / size("BAIT_TERRITORY").filter(|bases| *bases > 0.0)?)
    },
    min: 40.0,
    unmet: "the baits cover more than 1/40 of the genome",
    is_of_reads: false,
};
const CAPTURED_READS: &Need = &Need {
    what: "the number of reads",
    amount: |run| run.value(&format!("{TARGETS}/PF_READS")).or_else(|| sequenced_reads(run)),
    ..*READS
};

/// Metrics of coverage, which most causes may worsen.
const COVERAGE: &[&str] = &["mean_coverage", "bases_at_20x"];

/// The rules, in causal order. Of the metrics of one cause, the most reliable one is first.
pub const RULES: &[Rule] = &[
    // Overlapping mates count once: fragments shorter than the reads halve the coverage.
    Rule {
        indicates: Some(Cause::ShortFragments),
        worsens: &["insert_size", "soft_clipped", "mean_coverage", "bases_at_20x"],
        remedy: Some("trim adapters, or prepare longer fragments"),
        coverage_left: Some(|short| 1.0 - 0.5 * short),
        ..Rule::of("short_inserts", &[PAIRS])
    },
    Rule {
        indicates: Some(Cause::ShortFragments),
        worsens: &["insert_size", "soft_clipped", "mean_coverage", "bases_at_20x"],
        coverage_left: Some(|adapters| 1.0 - adapters),
        ..Rule::of("adapter_bases", &[TRIMMED_READS])
    },
    Rule {
        indicates: Some(Cause::ShortFragments),
        worsens: COVERAGE,
        coverage_left: Some(|dropped| 1.0 - dropped),
        ..Rule::of("trimmed_away", &[TRIMMED_READS])
    },
    Rule::of("insert_size", &[PAIRS]),
    Rule {
        indicates: Some(Cause::LowQuality),
        worsens: &["mismatches"],
        ..Rule::of("worst_cycle", &[READS])
    },
    Rule {
        indicates: Some(Cause::LowQuality),
        worsens: &["mismatches"],
        ..Rule::of("n_of_cycle", &[READS])
    },
    Rule {
        indicates: Some(Cause::LowQuality),
        worsens: &["mismatches"],
        ..Rule::of("q30_bases", &[READS])
    },
    Rule {
        indicates: Some(Cause::FewMolecules),
        worsens: &["mean_coverage", "bases_at_20x", "fold_80"],
        remedy: Some(
            "prepare a library from more DNA, because more sequencing of this one adds little new data",
        ),
        coverage_left: Some(|duplicates| 1.0 - duplicates),
        ..Rule::of("duplicates", &[COMPARED_READS])
    },
    Rule {
        indicates: Some(Cause::FewMolecules),
        worsens: COVERAGE,
        ..Rule::of("library_size", &[COMPARED_READS])
    },
    Rule {
        worsens: COVERAGE,
        coverage_left: Some(|optical| 1.0 - optical),
        ..Rule::of("optical_duplicates", &[COMPARED_READS])
    },
    Rule {
        indicates: Some(Cause::ForeignReads),
        worsens: &["soft_clipped", "mismatches", "mean_coverage", "bases_at_20x"],
        coverage_left: Some(|mapped| mapped),
        ..Rule::of("mapped", &[READS])
    },
    Rule::of("soft_clipped", &[MAPPED_READS]),
    Rule::of("mismatches", &[MAPPED_READS]),
    Rule::of("chimeras", &[MAPPED_READS]),
    Rule::of("gc_content", &[READS]),
    Rule { indicates: Some(Cause::OtherLane), ..Rule::of("lanes_insert", &[LANE_PAIRS]) },
    Rule { indicates: Some(Cause::OtherLane), ..Rule::of("lanes_gc", &[LANE_READS]) },
    Rule {
        indicates: Some(Cause::FailedCapture),
        worsens: COVERAGE,
        coverage_left: Some(|selected| selected),
        ..Rule::of("on_target", &[CAPTURED_READS])
    },
    Rule {
        indicates: Some(Cause::FailedCapture),
        worsens: COVERAGE,
        ..Rule::of("fold_enrichment", &[CAPTURED_READS, SMALL_BAITS])
    },
    Rule { worsens: &["mrna_bases"], ..Rule::of("ribosomal", &[MAPPED_READS]) },
    Rule::of("mrna_bases", &[MAPPED_READS]),
    Rule {
        indicates: Some(Cause::GcLoss),
        worsens: &["even_coverage", "fold_80", "mean_coverage", "bases_at_20x"],
        coverage_left: Some(|percent| 1.0 - percent / 100.0),
        ..Rule::of("gc_dropout", &[GC_READS])
    },
    Rule {
        indicates: Some(Cause::GcLoss),
        worsens: &["even_coverage", "fold_80", "mean_coverage", "bases_at_20x"],
        coverage_left: Some(|percent| 1.0 - percent / 100.0),
        ..Rule::of("at_dropout", &[GC_READS])
    },
    Rule {
        indicates: Some(Cause::LostRegions),
        worsens: &["mean_coverage", "bases_at_20x"],
        coverage_left: Some(|covered| covered),
        ..Rule::of("even_coverage", &[MEAN_FOR_EVENNESS])
    },
    Rule {
        indicates: Some(Cause::LostRegions),
        worsens: &["bases_at_20x"],
        ..Rule::of("fold_80", &[MEAN_FOR_FOLD_80])
    },
    Rule { indicates: Some(Cause::FewReads), worsens: COVERAGE, ..Rule::of("reads", &[]) },
    Rule { indicates: Some(Cause::FewReads), worsens: COVERAGE, ..Rule::of("records", &[]) },
    Rule {
        indicates: Some(Cause::FewReads),
        worsens: &["bases_at_20x"],
        ..Rule::of("mean_coverage", &[])
    },
    Rule::of("bases_at_20x", &[MEAN_FOR_20X]),
    Rule::of("oxidation", &[ALIGNED_BASES]),
];

/// Returns the position of a metric in [`RULES`], and its rule.
pub fn find_rule(key: &str) -> Option<(usize, &'static Rule)> {
    RULES.iter().enumerate().find(|(_, rule)| rule.key == key)
}

/// Returns why a metric of a run cannot be judged. `None` if it can.
pub fn find_unmet_need(key: &str, run: &RunPart<'_>) -> Option<UnmetNeed> {
    let (_, rule) = find_rule(key)?;
    rule.needs.iter().find_map(|need| match (need.amount)(run) {
        None => Some(UnmetNeed { reason: format!("{} is unknown", need.what), is_of_reads: false }),
        Some(amount) => (amount < need.min)
            .then(|| UnmetNeed { reason: need.unmet.to_string(), is_of_reads: need.is_of_reads }),
    })
}

/// Metrics without which a sample does not pass, with their names in a sentence.
const ESSENTIAL: [(&str, &str); 3] =
    [("mapped", "mapped reads"), ("duplicates", "duplicates"), ("mean_coverage", "coverage")];

/// Returns the metrics without which a sample of this assay does not pass, each with its name in a
/// sentence. Duplicates and coverage of RNA depend on the expression of genes.
pub fn essential_metrics(assay: Assay) -> &'static [(&'static str, &'static str)] {
    let count = if assay == Assay::Rna { 1 } else { ESSENTIAL.len() };
    ESSENTIAL.get(..count).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Grade, Limits};
    use crate::metrics::METRICS;

    #[test]
    fn each_metric_has_one_rule() {
        for metric in METRICS {
            let rules = RULES.iter().filter(|rule| rule.key == metric.key).count();
            assert_eq!(rules, 1, "{}", metric.key);
        }
        assert_eq!(RULES.len(), METRICS.len());
    }

    #[test]
    fn a_metric_worsens_only_metrics_of_later_rules() {
        for (at, rule) in RULES.iter().enumerate() {
            for key in rule.worsens {
                let (other, _) = find_rule(key).expect(key);
                assert!(other > at, "{} may not worsen {key}", rule.key);
            }
        }
        let causes: Vec<Cause> = RULES.iter().filter_map(|rule| rule.indicates).collect();
        assert!(causes.is_sorted(), "{causes:?}");
    }

    /// Probabilities of the depths 0, 1, … of a negative binomial distribution.
    fn depth_shares(mean: f64, size: f64) -> Vec<f64> {
        let ratio = mean / (mean + size);
        let mut share = (size * (size / (mean + size)).ln()).exp();
        let mut shares = Vec::new();
        for depth in 0..(mean * 4.0) as u32 + 50 {
            shares.push(share);
            share *= ratio * (size + f64::from(depth)) / f64::from(depth + 1);
        }
        shares
    }

    /// Depths of real genomes vary more than random reads, about as this distribution of size 20.
    #[test]
    fn an_even_sample_passes_wherever_evenness_is_judged() {
        for (_, assay) in Assay::ALL {
            let limits = Limits::for_assay(assay);
            let grade = |key: &str, value: f64| limits.limit(key).map(|limit| limit.grade(value));
            for mean in (100..3000).map(|tenths| f64::from(tenths) / 10.0) {
                let shares = depth_shares(mean, 20.0);
                let from = |depth: usize| shares[depth..].iter().sum::<f64>();
                let even = from((mean / 5.0).ceil() as usize);
                assert!(
                    grade("even_coverage", even).is_none_or(|it| it == Grade::Good),
                    "{mean}: {even}"
                );
                if mean >= MEAN_FOR_FOLD_80.min {
                    let mut sum = 0.0;
                    let percentile = shares
                        .iter()
                        .position(|share| {
                            sum += share;
                            sum >= 0.2
                        })
                        .unwrap() as f64;
                    let fold = mean / percentile;
                    assert!(grade("fold_80", fold).is_none_or(|it| it == Grade::Good), "{mean}: {fold}");
                }
            }
        }
        let below = depth_shares(5.1, 20.0);
        assert!(below[2..].iter().sum::<f64>() < 0.95, "a lower minimum would be wrong");
    }

    #[test]
    fn a_need_that_is_not_met_is_a_reason() {
        let value = serde_json::json!({"reads": {"read": 999}});
        let run = RunPart::new(&value);
        assert_eq!(find_unmet_need("q30_bases", &run).unwrap().reason, "fewer than 1,000 reads");
        assert_eq!(find_unmet_need("fold_80", &run).unwrap().reason, "mean coverage is unknown");
        assert_eq!(find_unmet_need("reads", &run), None);
        assert_eq!(essential_metrics(Assay::Rna).len(), 1);
        assert_eq!(essential_metrics(Assay::Panel).len(), 3);
    }
}
