//! What happens to reads on their way out. A run in memory and the `write` stage of a job
//! take the steps and the pipeline from here, so that neither can forget one.

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

/// Returns what the steps behind the sort may change in reads, without the filters.
pub fn changes_of_later_steps(plan: &Plan) -> Changes {
    let changes = late_changes(plan);
    if plan.order() == Order::Minhash { changes.union(&Minimise.changes()) } else { changes }
}

/// Puts the steps of reads on their way out in their order: duplicates are flagged, reads
/// sorted by minimiser get its field, `filters` for flagged reads drop and edit them, and
/// base qualities are recalibrated.
///
/// The filters that come last are not among them. They belong to the pipeline, because
/// the counter of recalibration takes the reads before them.
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
    /// Merges reads, takes them through `steps`, and writes them to `target`: the output,
    /// or the file of a stage. `counter` counts their bases as they leave.
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
