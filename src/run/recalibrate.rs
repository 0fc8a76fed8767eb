//! Recalibration within a run: what is counted when, and what becomes of it.

use std::sync::Arc;

use readmill_bqsr as bqsr;
use readmill_bqsr::{Counting, Training, Writing};
use readmill_format::sites::Found;
use readmill_format::spill::Spill;
use readmill_markdup::Verdict;
use readmill_record::{Ledger, Result, Step};
use readmill_sort::{Merge, Sources};

use super::RunState;
use crate::outputs::report_files::ReportFiles;
use crate::pipeline::count::{self, CovariateCounter};
use crate::pipeline::sort_context::SortContext;
use crate::plan;
use crate::plan::Apply;
use crate::run::memory::Memory;
use crate::run::recal_setup;

/// What recalibrates reads when they leave, and what is counted then.
type StepAndCounter = (Option<Box<dyn Step>>, Option<CovariateCounter>);

impl RunState<'_> {
    /// What bases are counted against, if they are to be counted.
    pub(super) fn training(&self, spill: &Arc<Spill>) -> Result<Option<Arc<Training>>> {
        let Some(wanted) = self.table_request() else { return Ok(None) };
        let ledger = &self.memory.ledger;
        let training = recal_setup::training(wanted, &self.header, spill, ledger, self.console);
        training.map(Arc::new).map(Some)
    }

    /// The step that applies a table from a file, if that is asked for.
    pub(super) fn step_from_file(&self) -> Result<Option<Box<dyn Step>>> {
        let wanted = self.plan.steps.recalibration.as_ref();
        recal_setup::step_from_file(wanted, &self.header, &self.memory.ledger)
    }

    fn table_request(&self) -> Option<&plan::TableRequest> {
        self.plan.steps.recalibration.as_ref().and_then(plan::Recalibration::table_request)
    }

    fn counter_with(&self, training: &Arc<Training>, counting: Counting) -> CovariateCounter {
        let shares = self.shares(training, &counting);
        CovariateCounter::new(training, counting, shares.counters)
    }

    fn shares(&self, training: &Training, counting: &Counting) -> recal_setup::RecalShares {
        let Memory { crew, room, .. } = self.memory;
        recal_setup::shares(training, counting, room, crew.threads as u64)
    }

    /// Bytes beside the reads that counting takes.
    pub(super) fn recal_bytes(&self, training: Option<&Training>) -> u64 {
        let wanted = self.table_request().zip(training);
        let bootstrap = self.table_request().is_some_and(|wanted| wanted.bootstrap);
        let found = if bootstrap { Found::bytes(self.header.references().len()) } else { 0 };
        found + wanted.map_or(0, |(wanted, it)| self.shares(it, &wanted.counting).all)
    }

    /// Nothing counted yet, of reads as they come; nothing if nothing is to be counted.
    pub(super) fn new_counter(&self, training: Option<Arc<Training>>) -> Option<CovariateCounter> {
        let counting = &self.table_request()?.counting;
        training.map(|training| self.counter_with(&training, counting.clone()))
    }

    /// Writes the table of what was counted, if that is asked for, and gives it.
    pub(super) fn finish_table(
        &self,
        counter: CovariateCounter,
        files: &mut ReportFiles,
        after: bool,
    ) -> Result<bqsr::Report> {
        let (table, bases) = counter.report()?;
        let when = if after { " once more, with their new qualities" } else { " for recalibration" };
        self.console.say(&format!("readmill: {bases} bases counted{when}"));
        if bases == 0 {
            self.console.warn("no base was counted: no read is fit for recalibration");
        }
        files.write_table(&table, after)?;
        Ok(table)
    }

    /// Counts all that waits, and gives the step that recalibrates it when it leaves; and what is to be counted then:
    /// the reads as they are, if only the table is wanted, or with their new qualities.
    pub(super) fn recalibrate(
        &self,
        context: &SortContext,
        sources: &Arc<Sources>,
        verdict: Option<&Verdict>,
        training: Option<Arc<Training>>,
        files: &mut ReportFiles,
    ) -> Result<StepAndCounter> {
        let (Some(wanted), Some(training)) = (&self.plan.steps.recalibration, training) else {
            return Ok((None, None));
        };
        let training = self.bootstrap(context, sources, verdict, training)?;
        let counter = self.new_counter(Some(Arc::clone(&training)));
        let Some(apply) = &wanted.apply else { return Ok((None, counter)) };
        let Some(counter) = counter else { return Ok((None, None)) };
        self.console.stage("counting", None, false);
        let merge = Merge::new(Arc::clone(sources));
        count::count_runs(context.crew, merge, &counter, verdict, self.console)?;
        let table = self.finish_table(counter, files, false)?;
        // (What it takes is charged with the counts.)
        let recalibration = bqsr::Recalibration::new(&table, &apply.applying, &Ledger::unlimited())?;
        // Of a read group none of whose reads trains, nothing is known; the others are no worse for it.
        let writing = Writing { allow_missing_group: true, ..apply.writing.clone() };
        let apply = Apply { writing, ..apply.clone() };
        let groups = training.groups.clone();
        let step = recal_setup::step(recalibration, &apply, groups, &self.header);
        let again = wanted.table_request().filter(|wanted| wanted.after.is_some());
        let again = again.map(|wanted| {
            let counting = Counting { use_original: false, ..wanted.counting.clone() };
            self.counter_with(&training, counting)
        });
        Ok((Some(step), again))
    }

    /// Finds the sites at which the sample differs, if that is asked for, and leaves them out.
    fn bootstrap(
        &self,
        context: &SortContext,
        sources: &Arc<Sources>,
        verdict: Option<&Verdict>,
        training: Arc<Training>,
    ) -> Result<Arc<Training>> {
        let wanted = self.table_request().filter(|wanted| wanted.bootstrap);
        let Some(counter) = wanted.map(|wanted| self.counter_with(&training, wanted.counting.clone()))
        else {
            return Ok(training);
        };
        self.console.stage("comparing", None, false);
        // (What they take is charged with the counts.)
        let found = Found::new(self.header.references().len(), &context.spill, &Ledger::unlimited())?;
        let merge = Merge::new(Arc::clone(sources));
        let (sites, n) =
            count::find_suspects(context.crew, merge, (&counter, verdict), found, self.console)?;
        self.console.say(&format!("readmill: {n} positions differ too often, and are left out"));
        Ok(Arc::new(Training { sites, ..(*training).clone() }))
    }
}
