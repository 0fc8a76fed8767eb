//! The modules of FastQC in a run: their counters, and the memory of these.

use readmill_engine::Crew;
use readmill_fastqc::FastqcRun;

use crate::plan::{FastqcRequest, Plan};

/// The counters of the inputs of a plan. Longer reads and more tiles than usual may take `more` bytes.
pub fn counters(request: &FastqcRequest, more: u64) -> FastqcRun {
    let names = request.reports.iter().map(|report| report.name.clone());
    FastqcRun::new(names, request.options, more)
}

/// The bytes that they take, beside those for unusual reads.
pub fn memory(request: &FastqcRequest, plan: &Plan, crew: Crew) -> u64 {
    let lanes = plan.aligning.iter().flat_map(|aligning| &aligning.lanes);
    let files = lanes.map(|lane| lane.files.len()).max().unwrap_or(1);
    counters(request, 0).memory_bytes(crew.in_flight as u64, files as u64)
}
