//! The late steps: all steps that run after the sort. If nothing is sorted, they run after the
//! filters.
//!
//! ```text
//! early steps ─► sort ─► marking ─► minimiser ─► filters of marked reads ─► recalibration ─► last steps
//!                        └────────────────────────────── late steps ──────────────────────────────────┘
//! ```
//!
//! Runs that sort (`buffered`), runs that only stream reads (`run_streaming`) and the `write` stage of
//! a job (`stages`) all take the order of the late steps from here.

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
use crate::run::tallies::changes_of_marking_and_recalibration;

/// Returns the changes that the late steps may make to reads, without filters and without steps of a
/// calling program.
pub fn changes_of_late_steps(plan: &Plan) -> Changes {
    let changes = changes_of_marking_and_recalibration(plan);
    if plan.order() == Order::Minhash { changes.union(&Minimise.changes()) } else { changes }
}

/// Returns the late steps in order: flag duplicates, add the field of reads sorted by minimiser, drop
/// and edit flagged reads (`filters`), recalibrate base qualities.
///
/// The last steps are not included. They are a separate field of `BatchPipeline`, because the
/// recalibration counter takes reads before these steps.
pub fn order_late_steps(
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
    /// Merges reads, applies `steps` and the last steps, and writes the reads to `target`: the
    /// output, or the file of a stage. `counter` counts their bases before the last steps.
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
