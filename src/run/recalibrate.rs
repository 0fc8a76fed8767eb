//! Base quality recalibration within a run: when bases are counted, and which step applies the
//! resulting table.

use std::sync::Arc;

use readmill_bqsr as bqsr;
use readmill_bqsr::{CountOptions, ReadGroups, RecalReference, RecalWriteOptions};
use readmill_format::sites::SiteCollector;
use readmill_format::spill::Spill;
use readmill_markdup::Verdict;
use readmill_record::{Ledger, Result, Step};
use readmill_sort::{Merge, Sources};

use super::RunState;
use crate::outputs::report_files::ReportFiles;
use crate::pipeline::count::{self, CovariateCounter};
use crate::pipeline::sort_context::SortContext;
use crate::plan;
use crate::plan::ApplyRequest;
use crate::run::memory::{Memory, RECALIBRATION};
use crate::run::recal_setup;

/// The step that recalibrates reads as they are written, and the counter of reads after that step.
type StepAndCounter = (Option<Box<dyn Step>>, Option<CovariateCounter>);

impl RunState<'_> {
    /// Opens the reference data for counting. Returns `None` if no bases are counted.
    pub(super) fn open_recal_reference(
        &self,
        spill: &Arc<Spill>,
    ) -> Result<Option<Arc<RecalReference>>> {
        let Some(wanted) = self.table_request() else { return Ok(None) };
        let ledger = &self.memory.ledger;
        let sums = self.plan.reports.is_described().then_some(&self.sums);
        let reference =
            recal_setup::open_recal_reference(wanted, &self.header, spill, ledger, sums, self.console);
        reference.map(Arc::new).map(Some)
    }

    pub(super) fn new_step_from_table_file(&self) -> Result<Option<Box<dyn Step>>> {
        let wanted = self.plan.steps.recalibration.as_ref();
        recal_setup::new_step_from_table_file(wanted, &self.header, &self.memory.ledger)
    }

    pub(super) fn table_request(&self) -> Option<&plan::TableRequest> {
        self.plan.steps.recalibration.as_ref().and_then(plan::Recalibration::table_request)
    }

    fn new_counter_with_options(
        &self,
        reference: &Arc<RecalReference>,
        counting: CountOptions,
    ) -> CovariateCounter {
        let shares = self.counting_memory(reference, &counting);
        CovariateCounter::new(reference, counting, shares.counters)
    }

    fn counting_memory(
        &self,
        reference: &RecalReference,
        counting: &CountOptions,
    ) -> recal_setup::RecalShares {
        let Memory { crew, room, .. } = self.memory;
        recal_setup::divide_counting_memory(reference, counting, room, crew.threads as u64)
    }

    pub(super) fn counting_bytes(&self, reference: Option<&RecalReference>) -> u64 {
        let wanted = self.table_request().zip(reference);
        let bootstrap = self.table_request().is_some_and(|wanted| wanted.bootstrap);
        let found =
            if bootstrap { SiteCollector::needed_bytes(self.header.references().len()) } else { 0 };
        found + wanted.map_or(0, |(wanted, it)| self.counting_memory(it, &wanted.counting).total_bytes)
    }

    pub(super) fn new_input_counter(
        &self,
        reference: Option<Arc<RecalReference>>,
    ) -> Option<CovariateCounter> {
        let counting = &self.table_request()?.counting;
        reference.map(|reference| self.new_counter_with_options(&reference, counting.clone()))
    }

    /// Builds the table from the counts, writes it to a file if requested, and returns it. `after`
    /// is true for the second table, which is counted after recalibration.
    pub(super) fn finish_table(
        &self,
        counter: CovariateCounter,
        files: &mut ReportFiles,
        after: bool,
    ) -> Result<bqsr::RecalReport> {
        let Memory { crew, ledger, .. } = &self.memory;
        let (each, totals) = counter.used_bytes();
        ledger.record_used(
            RECALIBRATION,
            each * crew.threads as u64 + recal_setup::REPORT_BYTES_PER_COUNT_BYTE * totals,
        );
        let (table, bases) = counter.into_report()?;
        self.write_table(&table, bases, files, after)?;
        Ok(table)
    }

    pub(super) fn write_table(
        &self,
        table: &bqsr::RecalReport,
        bases: u64,
        files: &mut ReportFiles,
        after: bool,
    ) -> Result<()> {
        let when = if after { " again after recalibration" } else { " for recalibration" };
        self.console.write_line(&format!("readmill: {bases} bases counted{when}"));
        if bases == 0 {
            self.console
                .write_warning("no bases were counted, because no read is usable for recalibration");
        }
        files.write_table(table, after)
    }

    /// Counts all buffered reads, and returns the step that recalibrates them as they are written.
    /// Also returns a counter for the written reads: of recalibrated reads if a second table is
    /// requested, or of unchanged reads if only a table is requested.
    pub(super) fn count_and_recalibrate(
        &self,
        context: &SortContext,
        sources: &Arc<Sources>,
        verdict: Option<&Verdict>,
        reference: Option<Arc<RecalReference>>,
        files: &mut ReportFiles,
    ) -> Result<StepAndCounter> {
        let (Some(wanted), Some(reference)) = (&self.plan.steps.recalibration, reference) else {
            return Ok((None, None));
        };
        let reference = self.exclude_found_sites(context, sources, verdict, reference)?;
        let counter = self.new_input_counter(Some(Arc::clone(&reference)));
        let Some(apply) = &wanted.apply else { return Ok((None, counter)) };
        let Some(counter) = counter else { return Ok((None, None)) };
        self.console.begin_stage("counting", None, false);
        let merge = Merge::new(Arc::clone(sources));
        count::count_runs(context.crew, merge, &counter, verdict, self.console)?;
        let table = self.finish_table(counter, files, false)?;
        let step = self.new_step_from_counts(&table, apply, reference.groups.clone())?;
        Ok((Some(step), self.new_output_counter(&reference)))
    }

    /// Returns the counter of recalibrated reads for `--bqsr-after-table`, or `None` if they are
    /// not counted.
    pub(super) fn new_output_counter(
        &self,
        reference: &Arc<RecalReference>,
    ) -> Option<CovariateCounter> {
        let wanted = self.table_request().filter(|wanted| wanted.after.is_some())?;
        let counting = CountOptions { use_original: false, ..wanted.counting.clone() };
        Some(self.new_counter_with_options(reference, counting))
    }

    /// Creates the step that recalibrates reads by the table of their own counts. Reads of a read
    /// group without counts keep their qualities.
    pub(super) fn new_step_from_counts(
        &self,
        table: &bqsr::RecalReport,
        apply: &ApplyRequest,
        groups: ReadGroups,
    ) -> Result<Box<dyn Step>> {
        // The memory is charged together with the counts.
        let recalibration = bqsr::Recalibration::new(table, &apply.applying, &Ledger::unlimited())?;
        // A read group without counted reads has no row in the table.
        let writing = RecalWriteOptions { allow_missing_group: true, ..apply.writing.clone() };
        let apply = ApplyRequest { writing, ..apply.clone() };
        Ok(recal_setup::new_recalibration_step(recalibration, &apply, groups, &self.header))
    }

    /// With `--bqsr-bootstrap`, finds the sites at which the sample differs from the reference, and
    /// returns `reference` without these sites. Otherwise returns `reference` unchanged.
    fn exclude_found_sites(
        &self,
        context: &SortContext,
        sources: &Arc<Sources>,
        verdict: Option<&Verdict>,
        reference: Arc<RecalReference>,
    ) -> Result<Arc<RecalReference>> {
        let wanted = self.table_request().filter(|wanted| wanted.bootstrap);
        let Some(counter) =
            wanted.map(|wanted| self.new_counter_with_options(&reference, wanted.counting.clone()))
        else {
            return Ok(reference);
        };
        self.console.begin_stage("comparing", None, false);
        // The memory is charged together with the counts.
        let found =
            SiteCollector::new(self.header.references().len(), &context.spill, &Ledger::unlimited())?;
        let merge = Merge::new(Arc::clone(sources));
        let (sites, n) =
            count::find_suspect_sites(context.crew, merge, &counter, verdict, found, self.console)?;
        self.console.write_line(&format!(
            "readmill: {n} positions are excluded, because too many reads differ from the reference"
        ));
        Ok(Arc::new(RecalReference { sites, ..(*reference).clone() }))
    }
}
