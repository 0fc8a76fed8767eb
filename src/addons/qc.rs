//! Picard's quality metrics.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_engine::{Crew, map_ordered};
use readmill_format::report::RunNames;
use readmill_qc::{
    MetricSelection, ORDERED_MEMORY, QcTally, ReferenceSpan, RunEnd, SpanThreads, SpanWork,
};
use readmill_record::Result;
use readmill_stats::TallyReport;

use super::add_on::{
    AddOn, AddOnNeeds, AddOnSetup, MemoryShare, OrderedCount, RoomShare, RunFacts, RunningAddOn,
};
use super::planned_file::PlannedFile;
use super::reported_tally::ReportedTally;
use crate::pipeline::tap::Tap;
use readmill_process::console::write_log_line;

/// A request for quality metrics, in files named as by Picard CollectMultipleMetrics.
#[derive(Clone, Debug)]
pub struct QcRequest {
    prefix: PathBuf,
    metrics: MetricSelection,
    files: Vec<PathBuf>,
}

/// The share of the memory for reads is one part of this number of parts: a sixteenth bounds the
/// counts for reads that are long, or that have many read groups or insert sizes.
const UNUSUAL_READ_PARTS: u64 = 16;

impl QcRequest {
    /// The name of the add-on's row in [`ADD_ONS`](super::ADD_ONS).
    pub const NAME: &'static str = "quality metrics";

    /// Creates a request for `metrics`, in files whose names begin with `prefix`.
    pub fn new(prefix: &Path, metrics: MetricSelection) -> Self {
        let file = |ending: &str| {
            let mut name = prefix.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let files = metrics.endings().map(file).collect();
        QcRequest { prefix: prefix.to_path_buf(), metrics, files }
    }
}

impl AddOn for QcRequest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self, run: &RunFacts) -> Result<()> {
        self.metrics.check_reference(run.has_reference)
    }

    fn needs(&self) -> AddOnNeeds {
        AddOnNeeds { sample: true, ..AddOnNeeds::default() }
    }

    fn input_files(&self) -> Vec<&Path> {
        self.metrics.input_files().map(PathBuf::as_path).collect()
    }

    fn output_files(&self) -> Vec<PlannedFile<'_>> {
        let files = self.metrics.endings().zip(&self.files);
        files.map(|(ending, path)| PlannedFile::new(ending.trim_start_matches('.'), path)).collect()
    }

    fn prefix(&self) -> Option<&Path> {
        Some(&self.prefix)
    }

    fn shown_output(&self) -> Option<&Path> {
        Some(&self.prefix)
    }

    fn memory_shares(&self, run: &RunFacts, crew: Crew) -> Vec<MemoryShare> {
        let pieces = self.metrics.needs_order().then(|| MemoryShare {
            name: ORDERED_MEMORY,
            bytes: self.metrics.usual_piece_bytes() * crew.in_flight as u64,
        });
        let counts = MemoryShare {
            name: QcTally::NAME,
            bytes: QcTally::min_bytes(&self.metrics, run.has_reference, crew.threads as u64),
        };
        pieces.into_iter().chain([counts]).collect()
    }

    fn room_share(&self) -> Option<RoomShare> {
        Some(RoomShare { name: "quality metrics for unusual reads", parts: UNUSUAL_READ_PARTS })
    }

    fn order(&self) -> Option<OrderedCount> {
        let program = self.metrics.ordered_program()?;
        Some(OrderedCount { memory: ORDERED_MEMORY, sorted_count: Some(program.name) })
    }

    fn start(&self, setup: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
        let reference = setup.reference.map(|fasta| fasta.open(setup.ledger)).transpose()?;
        let (crew, unusual) = (setup.crew, setup.unusual_bytes);
        let threads = crew.threads as u64;
        let tally =
            QcTally::new(&self.metrics, setup.header, reference, setup.ledger, threads, unusual)?;
        let (ordered, warnings) = (tally.ordered_tallies(setup.ledger), tally.warnings().to_vec());
        let tally = Arc::new(tally);
        let counted = Arc::clone(&tally);
        let reports = move |names: &RunNames<'_>| {
            counted.make_reports(&RunEnd {
                command: names.picard_command_line,
                started: names.started,
                threads: &CrewThreads(crew),
                warn: &|warning| write_log_line(&format!("readmill: warning: {warning}")),
            })
        };
        let (tap, report) = (Tap::MainOutput, TallyReport::of_counted(tally, reports));
        Ok(Box::new(ReportedTally { tap, report, ordered, warnings }))
    }
}

/// The threads of a run, for programs that scan the whole reference.
struct CrewThreads(Crew);

impl SpanThreads for CrewThreads {
    fn for_each_span<'a>(
        &self,
        spans: &mut (dyn Iterator<Item = Result<ReferenceSpan>> + Send),
        work: &(dyn Fn() -> SpanWork<'a> + Sync),
    ) -> Result<()> {
        map_ordered(self.0, || spans.next().transpose(), work, |work, span| work(span), |()| Ok(()))?;
        Ok(())
    }
}
