//! The coverage of contigs, as one curve for each sample.
//!
//! ```text
//! run ─► collect_contigs ─► ContigDepth ─► place_contigs ─► names of the x axis, Points
//!        the longest contigs of a sample   those of all samples
//! ```

use std::collections::{HashMap, HashSet};

use super::curves::{ContigValue, Points};
use crate::metrics::{CONTIGS, has_targets, mosdepth_mean};
use crate::run::RunPart;

/// The mean depth of a contig.
#[derive(Clone, Debug, PartialEq)]
pub struct ContigDepth {
    pub name: String,
    /// Length of the contig in bases.
    length: f64,
    mean: f64,
    /// Mean depth, divided by the mean depth of the sample.
    relative: f64,
}

impl ContigDepth {
    fn value(&self, value: ContigValue) -> f64 {
        match value {
            ContigValue::Mean => self.mean,
            ContigValue::Relative => self.relative,
        }
    }
}

/// Maximum number of contigs in the plot. Humans have 24.
const MAX_CONTIGS: usize = 30;

/// Minimum length of a contig in the plot, as a fraction of the longest one. In GRCh38, all chromosomes
/// are longer, and all other contigs are shorter. Mitochondrial DNA is shorter, too; its depth is
/// hundreds of times the mean, and would press all other contigs together.
const MIN_LENGTH: f64 = 0.1;

/// Returns the depths of the longest contigs of a run, in the order of mosdepth's summary. They are
/// the depths of targets if the run has targets.
pub fn collect_contigs(run: &RunPart<'_>) -> Vec<ContigDepth> {
    let suffix = if has_targets(run) { "_region" } else { "" };
    let total = mosdepth_mean(run, &format!("total{suffix}")).filter(|mean| mean.value > 0.0);
    let Some(total) = total else { return Vec::new() };
    let rows: Vec<(String, RunPart<'_>)> =
        run.items(CONTIGS).map(|row| (row.name("chrom"), row)).collect();
    let means: HashMap<&str, f64> =
        rows.iter().filter_map(|(name, row)| Some((name.as_str(), row.value("mean")?))).collect();
    let is_contig = |name: &str| name != "total" && !name.ends_with("_region");
    let depth = |(name, row): &(String, RunPart<'_>)| {
        let mean = *means.get(format!("{name}{suffix}").as_str())?;
        let (length, relative) = (row.value("length")?, mean / total.value);
        is_contig(name).then(|| ContigDepth { name: name.clone(), length, mean, relative })
    };
    let mut contigs: Vec<ContigDepth> = rows.iter().filter_map(depth).collect();
    keep_longest(&mut contigs, |it| it.length);
    contigs
}

/// Removes the items that are too short for the plot, and keeps the order of the others.
fn keep_longest<T>(items: &mut Vec<T>, length: impl Fn(&T) -> f64) {
    let mut lengths: Vec<f64> = items.iter().map(&length).collect();
    lengths.sort_by(|a, b| b.total_cmp(a));
    let longest = lengths.first().copied().unwrap_or(0.0);
    let last = lengths.get(MAX_CONTIGS - 1).copied().unwrap_or(0.0);
    items.retain(|it| length(it) >= (MIN_LENGTH * longest).max(last));
    items.truncate(MAX_CONTIGS);
}

/// Returns the names of the contigs in the plot, and the points of all samples: the x value of a point
/// is the index of its contig, the y value is its `value`. `None` if there are fewer than two
/// contigs.
pub fn place_contigs(
    samples: &[&[ContigDepth]],
    value: ContigValue,
) -> Option<(Vec<String>, Vec<Points>)> {
    let mut known: HashSet<&str> = HashSet::new();
    let all = samples.iter().copied().flatten();
    let mut contigs: Vec<&ContigDepth> = all.filter(|it| known.insert(&it.name)).collect();
    // Samples can have different references.
    keep_longest(&mut contigs, |it| it.length);
    let numbers: HashMap<&str, usize> =
        contigs.iter().enumerate().map(|(number, it)| (it.name.as_str(), number)).collect();
    let points = |own: &&[ContigDepth]| {
        let point = |it: &ContigDepth| Some((*numbers.get(it.name.as_str())? as f64, it.value(value)));
        own.iter().filter_map(point).collect()
    };
    let names: Vec<String> = contigs.iter().map(|it| it.name.clone()).collect();
    (names.len() >= 2).then(|| (names, samples.iter().map(points).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn contigs_of(rows: &[(&str, f64, f64)]) -> Vec<ContigDepth> {
        let row = |(name, length, mean): &(&str, f64, f64)| json!({"chrom": name, "length": length, "mean": mean});
        let run =
            json!({"reports": {"mosdepth.summary.txt": rows.iter().map(row).collect::<Vec<Value>>()}});
        collect_contigs(&RunPart::new(&run))
    }

    #[test]
    fn depths_are_relative_to_the_mean_and_short_contigs_are_left_out() {
        let found = contigs_of(&[
            ("chr1", 1000.0, 33.0),
            ("chrY", 100.0, 15.0),
            ("chrM", 99.0, 9000.0),
            ("total", 1199.0, 30.0),
        ]);
        let found: Vec<(&str, f64)> = found.iter().map(|it| (it.name.as_str(), it.relative)).collect();
        assert_eq!(found, [("chr1", 1.1), ("chrY", 0.5)]);
    }

    #[test]
    fn targets_have_precedence() {
        let found = contigs_of(&[
            ("1", 1000.0, 2.0),
            ("1_region", 10.0, 120.0),
            ("2", 1000.0, 1.0),
            ("2_region", 10.0, 80.0),
            ("3", 1000.0, 1.0),
            ("total", 3000.0, 1.5),
            ("total_region", 20.0, 100.0),
        ]);
        let found: Vec<(&str, f64)> = found.iter().map(|it| (it.name.as_str(), it.relative)).collect();
        assert_eq!(found, [("1", 1.2), ("2", 0.8)], "contig 3 has no target");
    }

    #[test]
    fn samples_share_the_order_of_contigs() {
        let contig = |name: &str, relative: f64| {
            let mean = 30.0 * relative;
            ContigDepth { name: name.into(), length: 9.0, mean, relative }
        };
        let relative = ContigValue::Relative;
        let (a, b) = ([contig("1", 1.0), contig("X", 0.5)], [contig("X", 1.0)]);
        let (names, points) = place_contigs(&[&a, &b, &[]], relative).unwrap();
        assert_eq!(names, ["1", "X"]);
        assert_eq!(points, [vec![(0.0, 1.0), (1.0, 0.5)], vec![(1.0, 1.0)], vec![]]);
        let (_, means) = place_contigs(&[&a, &b], ContigValue::Mean).unwrap();
        assert_eq!(means[0], [(0.0, 30.0), (1.0, 15.0)]);
        assert_eq!(place_contigs(&[&b], relative), None, "a single contig is no curve");
        let many: Vec<ContigDepth> = (0..100).map(|i| contig(&i.to_string(), 1.0)).collect();
        assert_eq!(place_contigs(&[&many], relative).unwrap().0.len(), MAX_CONTIGS);
    }
}
