//! Writes sorted reads: in a run that sorts, and in the `write` stage of a job.

use readmill_engine::Crew;
use readmill_record::{Result, Step};
use readmill_sort::Merge;

use super::RunState;
use crate::outputs::PartTarget;
use crate::outputs::extra_writer::ExtraWriter;
use crate::pipeline::count::CovariateCounter;
use crate::pipeline::merge::{self, OutputRange, WrittenRecords};
use crate::pipeline::tap::Tap;

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
