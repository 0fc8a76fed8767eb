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

use readmill_record::{Changes, Step};
use readmill_sort::{Minimise, Order};

use crate::plan::Plan;
use crate::run::tallies::changes_of_marking_and_recalibration;

/// Returns the changes that the late steps may make to reads, without filters and without steps of a
/// calling program.
pub fn changes_of_late_steps(plan: &Plan) -> Changes {
    let changes = changes_of_marking_and_recalibration(plan);
    if plan.order() == Order::Minhash { changes.union(&Minimise.changes()) } else { changes }
}

/// Returns the late steps in order: flag duplicates (`marking`), add the field of reads sorted by minimiser, drop
/// and edit flagged reads (`filters`), recalibrate base qualities.
///
/// The last steps are not included. They are a separate field of `BatchPipeline`, because the
/// recalibration counter takes reads before these steps.
pub fn order_late_steps(
    plan: &Plan,
    marking: Option<Box<dyn Step>>,
    filters: Vec<Box<dyn Step>>,
    recalibration: Option<Box<dyn Step>>,
) -> Vec<Box<dyn Step>> {
    let minimise = (plan.order() == Order::Minhash).then(|| Box::new(Minimise) as Box<dyn Step>);
    marking.into_iter().chain(minimise).chain(filters).chain(recalibration).collect()
}
