//! Coverage, in mosdepth's formats.
//!
//! | file | contents |
//! |---|---|
//! | `request` | which reads are counted, and which files are written |
//! | `tally` | joins the pieces of all output parts, and writes them in order |

mod request;
mod tally;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use readmill_coverage::piles::PEAK_WINDOW_BASES;
use readmill_engine::Crew;
use readmill_record::{DynOrderedTally, Result, SharedOrderedTally};
use serde_json::{Value, json};

use super::add_on::{
    AddOn, AddOnSetup, CompleteFiles, FileSetup, MemoryShare, OrderedCount, RunFacts, RunningAddOn,
};
use super::planned_file::{FileTime, PlannedFile};
use readmill_process::atomic_file::AtomicFile;
use tally::{COVERAGE, CoverageTally, NamedPile};

pub use request::CoverageRequest;

/// The name of the deepest windows among the reports of `--json`.
const PILES: &str = "deepest_windows";

impl AddOn for CoverageRequest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn input_files(&self) -> Vec<&Path> {
        self.bed.iter().map(PathBuf::as_path).collect()
    }

    fn output_files(&self) -> Vec<PlannedFile<'_>> {
        let files = self.files.iter().map(|&(ending, ref path)| {
            let file = PlannedFile::new(ending.trim_start_matches('.'), path);
            PlannedFile { time: FileTime::WhileCounting, ..file }
        });
        files.collect()
    }

    fn prefix(&self) -> Option<&Path> {
        Some(&self.prefix)
    }

    fn memory_shares(&self, _: &RunFacts, crew: Crew) -> Vec<MemoryShare> {
        vec![MemoryShare { name: COVERAGE, bytes: tally::usual_bytes(crew.in_flight) }]
    }

    fn order(&self) -> Option<OrderedCount> {
        Some(OrderedCount { memory: COVERAGE, sorted_count: Some("coverage") })
    }

    fn start(&self, setup: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
        let endings = self.files.iter().map(|(ending, _)| *ending).collect();
        let tally = Arc::new(CoverageTally::new(self, setup.header));
        let ordered = vec![SharedOrderedTally::new_shared(&tally, setup.ledger)];
        Ok(Box::new(RunningCoverage { tally, ordered, endings }))
    }
}

/// Counts the coverage of the main output, and writes the files while it counts.
struct RunningCoverage {
    tally: Arc<CoverageTally>,
    /// The same tally as a trait object, until the run takes it.
    ordered: Vec<Arc<dyn DynOrderedTally>>,
    /// The file name suffixes, in the requested order.
    endings: Vec<&'static str>,
}

impl RunningAddOn for RunningCoverage {
    fn take_ordered_tallies(&mut self) -> Vec<Arc<dyn DynOrderedTally>> {
        std::mem::take(&mut self.ordered)
    }

    fn open_files(&self, files: Vec<(usize, AtomicFile)>, setup: &FileSetup<'_>) -> Result<()> {
        let files = files.into_iter().map(|(number, file)| (self.endings[number], file));
        self.tally.open_files(files.collect(), setup)
    }

    fn complete_files(&self) -> Result<CompleteFiles> {
        let Some(complete) = self.tally.complete()? else { return Ok(CompleteFiles::default()) };
        let number = |ending| self.endings.iter().position(|other| *other == ending);
        let files = complete.files.into_iter();
        let files = files.filter_map(|(ending, file)| Some((number(ending)?, file))).collect();
        let reports = complete.reports.into_iter();
        let reports =
            reports.filter_map(|(file, report)| Some((number(file.file_suffix())?, report))).collect();
        let piles = (!complete.deepest.is_empty()).then(|| (PILES, piles_to_json(&complete.deepest)));
        let (values, charge) = (piles.into_iter().collect(), Some(complete.charge));
        Ok(CompleteFiles { files, reports, values, charge })
    }
}

/// Returns the deepest windows, each with its position and depths.
fn piles_to_json(deepest: &[NamedPile]) -> Value {
    let row = |(contig, pile): &NamedPile| {
        json!({
            "contig": contig,
            "start": pile.start,
            "end": pile.end,
            "mean_depth": pile.mean_depth(),
            "max_depth": pile.max_depth,
        })
    };
    let rows: Vec<Value> = deepest.iter().map(row).collect();
    json!({ "window": PEAK_WINDOW_BASES, "rows": rows })
}
