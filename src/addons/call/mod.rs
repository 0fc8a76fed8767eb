//! Variants, with the records of GATK HaplotypeCaller.
//!
//! | file | contents |
//! |---|---|
//! | `request` | which variants are called, and which files are written |
//! | `tally` | finds regions in output order, calls them on any thread, and joins their records |
//! | `walk` | the regions of the contigs, one after the other |
//! | `vcf_file` | compresses the records, and writes them with their index |
//! | `counts` | the number of variants of each kind, for the description of the run |

mod counts;
mod request;
mod tally;
mod vcf_file;
mod walk;

use std::path::Path;
use std::sync::Arc;

use readmill_engine::Crew;
use readmill_process::atomic_file::AtomicFile;
use readmill_record::{DynOrderedTally, Error, Result, SharedOrderedTally};

use super::add_on::{
    AddOn, AddOnSetup, CompleteFiles, FileSetup, MemoryShare, OrderedCount, RunFacts, RunningAddOn,
};
use super::planned_file::{FileTime, PlannedFile};
use tally::{CALLING, CallTally};

pub use request::{CallIntervals, CallRequest};

/// The name of the numbers of variants among the reports of `--json`.
const VARIANTS: &str = "variants";

impl AddOn for CallRequest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self, run: &RunFacts) -> Result<()> {
        if !run.has_reference {
            let what = "variants are called by comparison with a reference, but there is none";
            return Err(Error::usage(what).hint("give the FASTA file of the reads with --reference"));
        }
        Ok(())
    }

    fn output_files(&self) -> Vec<PlannedFile<'_>> {
        let files = [("variant_calls", Some(&self.file)), ("variant_calls_index", self.index.as_ref())];
        let files = files.into_iter().filter_map(|(name, path)| Some(PlannedFile::new(name, path?)));
        files.map(|file| PlannedFile { time: FileTime::WhileCounting, ..file }).collect()
    }

    fn shown_output(&self) -> Option<&Path> {
        Some(&self.file)
    }

    fn memory_shares(&self, _: &RunFacts, crew: Crew) -> Vec<MemoryShare> {
        vec![MemoryShare { name: CALLING, bytes: tally::usual_bytes(crew) }]
    }

    fn order(&self) -> Option<OrderedCount> {
        Some(OrderedCount { memory: CALLING, sorted_count: Some("variant calling") })
    }

    fn stage_refusal(&self) -> Option<&'static str> {
        Some("variants are called by one process, in the order of all reads (--call)")
    }

    fn start(&self, setup: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
        let tally = Arc::new(CallTally::new(self, setup)?);
        let ordered = vec![SharedOrderedTally::new_shared(&tally, setup.ledger)];
        Ok(Box::new(RunningCall { tally, ordered }))
    }
}

/// Calls variants of the main output, and writes their file while it calls.
struct RunningCall {
    tally: Arc<CallTally>,
    /// The same tally as a trait object, until the run takes it.
    ordered: Vec<Arc<dyn DynOrderedTally>>,
}

impl RunningAddOn for RunningCall {
    fn take_ordered_tallies(&mut self) -> Vec<Arc<dyn DynOrderedTally>> {
        std::mem::take(&mut self.ordered)
    }

    fn open_files(&self, files: Vec<(usize, AtomicFile)>, _: &FileSetup<'_>) -> Result<()> {
        self.tally.open_files(files.into_iter().map(|(_, file)| file))
    }

    fn complete_files(&self) -> Result<CompleteFiles> {
        let Some((files, counts)) = self.tally.complete()? else { return Ok(CompleteFiles::default()) };
        let values = vec![(VARIANTS, counts)];
        let files = files.into_iter().enumerate().collect();
        Ok(CompleteFiles { files, values, ..CompleteFiles::default() })
    }
}
