//! The steps and the pipeline for reads that are written. A run in one process and the `write`
//! stage of a job share this module, so that neither can omit a step.

use readmill_engine::Crew;
use readmill_record::{Changes, Result, Step};
use readmill_sort::{Merge, Minimise, Order};

use super::RunState;
use super::marking::MarkedDuplicates;
use crate::outputs::PartTarget;
use crate::outputs::extra_writer::ExtraWriter;
use crate::pipeline::count::CovariateCounter;
use crate::pipeline::merge::{self, OutputRange, WrittenRecords};
use crate::pipeline::tap::Tap;
use crate::plan::Plan;
use crate::run::tallies::late_changes;

/// Returns the changes that the steps after the sort may make to reads, filters excluded.
pub fn changes_of_later_steps(plan: &Plan) -> Changes {
    let changes = late_changes(plan);
    if plan.order() == Order::Minhash { changes.union(&Minimise.changes()) } else { changes }
}

/// Returns the steps for reads that are written, in order: flag duplicates, add the field of reads
/// sorted by minimiser, drop and edit flagged reads (`filters`), recalibrate base qualities.
///
/// The late filters are not included. They belong to the pipeline, because the recalibration
/// counter takes reads before these filters.
pub fn order_leaving_steps(
    plan: &Plan,
    marked: Option<&MarkedDuplicates>,
    filters: Vec<Box<dyn Step>>,
    recalibration: Option<Box<dyn Step>>,
) -> Vec<Box<dyn Step>> {
    let minimise = (plan.order() == Order::Minhash).then(|| Box::new(Minimise) as Box<dyn Step>);
    let marking = marked.map(MarkedDuplicates::new_marking_step);
    marking.into_iter().chain(minimise).chain(filters).chain(recalibration).collect()
}

impl RunState<'_> {
    /// Merges reads, applies `steps`, and writes the reads to `target`: the output, or the file of
    /// a stage. `counter` counts their bases.
    pub(super) fn write_merged(
        &self,
        (crew, merge): (Crew, Merge),
        steps: &[Box<dyn Step>],
        counter: Option<&CovariateCounter>,
        extra: Option<&ExtraWriter<'_>>,
        target: &mut (impl PartTarget + Send),
        range: OutputRange,
    ) -> Result<WrittenRecords> {
        let pipeline = self.output_pipeline(Tap::BeforeLate, steps, counter, extra);
        merge::write_to_sink(crew, merge, pipeline, &self.header, target, range, self.console)
    }
}
