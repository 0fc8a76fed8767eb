//! Marks duplicates within a run, in three steps: when all input has been read, duplicates are
//! resolved; when the reads are in order, reads whose mark depends on read names are decided; and
//! when reads are written, the marks are set.

use std::sync::Arc;

use readmill_markdup::apply::FlaggedCounts;
use readmill_markdup::grouping::StatedOrder;
use readmill_markdup::metrics::LibraryCounts;
use readmill_markdup::optical::CANDIDATE_BYTES;
use readmill_markdup::{
    ApplyMarks, DuplicateCounts, DuplicateEnds, EndStore, Libraries, MarkOptions, Resolved, Verdict,
};
use readmill_record::{Charge, Error, Header, Result, Step};
use readmill_sort::Sources;

use super::RunState;
use super::summary::{self, RunSummary};
use crate::outputs::report_files::{self, ReportFiles};
use crate::pipeline::duplicates::DuplicateResolver;
use crate::pipeline::recollect::collect_ends_again;
use crate::pipeline::sort_buffer::SortBuffer;
use crate::pipeline::sort_context::{ENDS, SortContext, arena_in_use_error};
use crate::pipeline::undecided;
use crate::plan::{Duplicates, Plan};

/// The duplicates, after all input has been read. With samtools' rules, the marks of some reads
/// depend on read names and are still undecided; [`ResolvedDuplicates::decide_by_names`] decides
/// them.
pub struct ResolvedDuplicates {
    resolved: Resolved,
    charge: Charge,
    writing: MarkOptions,
    libraries: Arc<Libraries>,
}

/// The final verdict on every read of a run, or of a range in the `write` stage. Contains the step
/// that sets the flags, and counts the flags that are set.
pub struct MarkedDuplicates {
    verdict: Arc<Verdict>,
    _charge: Charge,
    apply: ApplyMarks,
    counted: Arc<FlaggedCounts>,
    libraries: Arc<Libraries>,
    by_samtools: bool,
}

/// Returns the fields that marking writes. DT is cleared only if a read has it.
pub(super) fn mark_options(wanted: &Duplicates, has_dt: bool) -> MarkOptions {
    MarkOptions { clear_dt: wanted.writing.clear_dt && has_dt, ..wanted.writing.clone() }
}

/// Writes the duplication metrics, in Picard's format and as JSON, and keeps the counts by tile and
/// those of molecules.
/// `flagged` are the duplicates of each library, counted as the reads were written.
pub(super) fn write_picard_metrics(
    plan: &Plan,
    libraries: &Libraries,
    tally: &DuplicateCounts,
    flagged: Vec<LibraryCounts>,
    files: &mut ReportFiles,
) -> Result<()> {
    let metrics = report_files::duplication_metrics(libraries, flagged, &tally.sizes);
    files.write_metrics(plan, &metrics)?;
    files.keep_tiles(libraries, &tally.tiles);
    tally.molecules.iter().for_each(|molecules| files.keep_molecules(molecules));
    Ok(())
}

impl RunState<'_> {
    /// Decides which reads are duplicates, after all input has been read. `stated` is the order
    /// that the headers state; `cut` means that a template was too long for one batch.
    pub(super) fn resolve_duplicates(
        &self,
        context: &SortContext,
        duplicate_ends: &DuplicateEnds,
        (stated, cut): (StatedOrder, bool),
        buffer: &mut SortBuffer,
        summary: &mut RunSummary,
    ) -> Result<ResolvedDuplicates> {
        let Some(wanted) = &self.plan.steps.duplicates else {
            return Err(Error::bug("there are no duplicates to be resolved"));
        };
        let writing = mark_options(wanted, buffer.ends.has_dt);
        self.console.begin_stage("marking", None, true);
        let free = context.ledger.free();
        let largest = buffer.records.saturating_mul(CANDIDATE_BYTES);
        let optical = self.plan.max_optical_bytes().min(largest);
        if buffer.ends.has_halves() && free < context.room / 4 || free < optical {
            buffer.spill_reads(context)?;
        }
        let resolver = DuplicateResolver {
            crew: context.crew,
            ledger: &context.ledger,
            max_mark_bytes: context.room / 2,
            spill: &context.spill,
            duplicate_ends,
            has_cut_template: cut,
            console: self.console,
        };
        let ends = std::mem::take(&mut buffer.ends);
        let charge = std::mem::replace(&mut buffer.ends_charge, context.ledger.empty_charge(ENDS));
        let records = buffer.records;
        let collect_again = |by_place: &DuplicateEnds, ends: &mut EndStore, charge| {
            buffer.spill_reads(context)?; // frees memory for the ends
            let sources = Arc::new(buffer.take_sources(context)?);
            let (crew, largest) = (context.crew, buffer.largest_record_bytes);
            let charge =
                collect_ends_again(crew, &sources, largest, by_place, ends, charge, self.console)?;
            buffer.runs = Arc::into_inner(sources).ok_or_else(arena_in_use_error)?.runs;
            Ok(charge)
        };
        let (resolved, charge) =
            resolver.resolve_duplicates(wanted.mode, stated, ends, charge, records, collect_again)?;
        let verdict = &resolved.verdict;
        if wanted.rules.samtools.is_some() {
            summary::log_samtools_duplicates(&verdict.tally, self.console);
        } else {
            summary::log_duplicates(&verdict.tally, &self.header, self.console);
            summary.mode = Some(verdict.mode);
        }
        let libraries = Arc::clone(&duplicate_ends.libraries);
        Ok(ResolvedDuplicates { resolved, charge, writing, libraries })
    }
}

impl ResolvedDuplicates {
    /// Decides the reads that depend on read names, in one pass over `sources`, and creates the
    /// step that sets the flags.
    pub(super) fn decide_by_names(
        self,
        state: &RunState<'_>,
        context: &SortContext,
        sources: &Arc<Sources>,
    ) -> Result<MarkedDuplicates> {
        let ResolvedDuplicates { resolved, mut charge, writing, libraries } = self;
        let Resolved { mut verdict, undecided } = resolved;
        let by_samtools = undecided.is_some();
        if let Some(undecided) = undecided {
            let bits = charge.bytes() - undecided.bytes();
            undecided::decide_by_names(
                context.crew,
                sources,
                &mut verdict,
                undecided,
                &mut charge,
                state.console,
            )?;
            charge.resize(bits + verdict.bytes_beside_bits());
        }
        let marks = MarkedDuplicates::new(Arc::new(verdict), charge, writing, libraries, &state.header);
        Ok(MarkedDuplicates { by_samtools, ..marks })
    }
}

impl MarkedDuplicates {
    /// Creates the step that sets the marks of `verdict`. `charge` is the memory of `verdict`.
    pub(super) fn new(
        verdict: Arc<Verdict>,
        charge: Charge,
        writing: MarkOptions,
        libraries: Arc<Libraries>,
        header: &Header,
    ) -> Self {
        let apply = ApplyMarks::new(Arc::clone(&verdict), writing, Arc::clone(&libraries), header);
        let counted = apply.flagged_counts();
        MarkedDuplicates { verdict, _charge: charge, apply, counted, libraries, by_samtools: false }
    }

    pub(super) fn new_marking_step(&self) -> Box<dyn Step> {
        self.apply.fork_for_thread()
    }

    pub(super) fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    /// Writes the duplication metrics (Picard's format and JSON) of the written reads, or the
    /// samtools markdup report.
    pub(super) fn write_duplication_metrics(&self, plan: &Plan, files: &mut ReportFiles) -> Result<()> {
        if self.by_samtools {
            let report = self.counted.samtools_report(&self.verdict.tally);
            return files.write_samtools_report(plan, &report);
        }
        let tally = &self.verdict.tally;
        let mut counts = tally.libraries.clone();
        self.add_flagged(&mut counts);
        write_picard_metrics(plan, &self.libraries, tally, counts, files)
    }

    /// Adds the number of duplicates flagged so far to `counts`, which has one element for each
    /// library.
    pub(super) fn add_flagged(&self, counts: &mut Vec<LibraryCounts>) {
        self.counted.add_to(counts);
    }
}
