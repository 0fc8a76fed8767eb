//! A run, reduced to the parts that a plate needs.

use super::bars::{BAR_KINDS, Bar};
use super::contigs::{ContigDepth, collect_contigs};
use super::curves::{CurveKind, KINDS, Points};
use super::pack::{pack, remove_figures};
use crate::cohort::MetricValue;
use crate::lanes::{LaneStats, MIN_READS, collect_lanes};
use crate::limits::Assay;
use crate::metrics::{DETAILS, METRICS, Metric, metric_title, sequenced_reads};
use crate::names::sample_name;
use crate::options::PageOptions;
use crate::page::sample_article;
use crate::rules::find_unmet_need;
use crate::run::RunPart;
use crate::verdict::{SampleVerdict, judge_sample};

/// A sample of a plate. It takes less than a tenth of the memory of the run description, which is not
/// needed any more.
pub struct PlateSample {
    pub name: String,
    /// Values of all metrics, in the order of [`METRICS`].
    pub values: Vec<Option<MetricValue>>,
    /// Values of all details, in the order of [`DETAILS`].
    pub details: Vec<Option<MetricValue>>,
    pub assay: Assay,
    pub verdict: SampleVerdict,
    /// The values of all fields of the sample sheet, in their order.
    pub fields: Vec<Option<String>>,
    /// Points of all kinds of curves, in the order of [`KINDS`].
    pub points: Vec<Points>,
    /// Totals of which the points are shares, in the order of [`KINDS`]. `None` if the JSON has no counts.
    pub totals: Vec<Option<f64>>,
    /// The longest contigs.
    pub contigs: Vec<ContigDepth>,
    /// Bars of all kinds, in the order of [`BAR_KINDS`].
    pub bars: Vec<Option<Bar>>,
    pub lanes: Vec<LaneStats>,
    /// The details without figures, packed.
    pub article: String,
}

/// Memory of a metric with its JSON pointers and names, in bytes. Sums have several pointers.
const METRIC_BYTES: usize = 512;

impl PlateSample {
    /// Creates the sample with this index, which the ids and attributes in its article contain.
    pub fn from_run(run: &RunPart<'_>, number: usize, options: &PageOptions) -> Self {
        let article = sample_article(run, number, options, false).into_string();
        let limits = options.limits_of(run);
        let value = |metric: &Metric| {
            let is_compared = find_unmet_need(metric.key, run).is_none();
            let name = || metric_title(metric, run);
            (metric.find)(run).map(|quantity| MetricValue { name: name(), quantity, is_compared })
        };
        let has_enough_reads = sequenced_reads(run).is_some_and(|reads| reads >= MIN_READS);
        let detail = |metric: &Metric| {
            let name = || metric_title(metric, run);
            (metric.find)(run).map(|quantity| MetricValue {
                name: name(),
                quantity,
                is_compared: has_enough_reads,
            })
        };
        let names = options.sheet.as_ref().map_or(&[][..], |sheet| sheet.field_names());
        let field = |name: &String| options.sheet_field(run, name).map(str::to_string);
        let total = |kind: &CurveKind| {
            let counts = (kind.counts)(run);
            (!counts.is_empty()).then(|| counts.iter().map(|it| it.1).sum())
        };
        PlateSample {
            name: sample_name(run).to_string(),
            values: METRICS.iter().map(value).collect(),
            details: DETAILS.iter().map(detail).collect(),
            assay: limits.assay,
            verdict: judge_sample(run, &limits),
            fields: names.iter().map(field).collect(),
            points: KINDS.iter().map(|kind| (kind.collect)(run)).collect(),
            totals: KINDS.iter().map(total).collect(),
            contigs: collect_contigs(run),
            bars: BAR_KINDS.iter().map(|kind| (kind.collect)(run)).collect(),
            lanes: collect_lanes(run),
            article: pack(remove_figures(&article).as_bytes()),
        }
    }

    /// Returns an estimate of the memory of the sample in bytes.
    pub fn heap_bytes(&self) -> u64 {
        let points: usize = self.points.iter().map(|it| it.capacity() * size_of::<(f64, f64)>()).sum();
        let metrics =
            self.values.len() + self.details.len() + self.verdict.outcomes.len() + 2 * self.lanes.len();
        let contigs: usize =
            self.contigs.iter().map(|it| it.name.capacity() + size_of::<ContigDepth>()).sum();
        let bars: usize = self.bars.iter().flatten().map(|bar| size_of_val(&bar.parts[..])).sum();
        let fields: usize = self.fields.iter().flatten().map(String::capacity).sum();
        let totals = size_of_val(&self.totals[..]);
        let bytes =
            self.name.capacity() + self.article.capacity() + fields + points + totals + contigs + bars;
        (bytes + metrics * METRIC_BYTES) as u64
    }
}
