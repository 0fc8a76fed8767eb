//! Recalibration within a run: what is counted when, and what becomes of it.

use std::sync::Arc;

use readmill_bqsr as bqsr;
use readmill_bqsr::{Counting, Training, Writing};
use readmill_format::sites::Found;
use readmill_format::spill::Spill;
use readmill_markdup::Verdict;
use readmill_record::{Ledger, Result, Step};
use readmill_sort::{Merge, Sources};

use super::Job;
use crate::outputs::report_files::SideFiles;
use crate::pipeline::count::{self, Look};
use crate::pipeline::sort_context::Waiting;
use crate::plan;
use crate::plan::Apply;
use crate::run::memory::Memory;
use crate::run::recal_setup;

/// What recalibrates reads when they leave, and what is counted then.
type StepAndLook = (Option<Box<dyn Step>>, Option<Look>);

impl Job<'_> {
    /// What bases are counted against, if they are to be counted.
    pub(super) fn training(&self, spill: &Arc<Spill>) -> Result<Option<Arc<Training>>> {
        let Some(wanted) = self.wanted_training() else { return Ok(None) };
        let ledger = &self.memory.ledger;
        let training = recal_setup::training(wanted, &self.header, spill, ledger, self.report);
        training.map(Arc::new).map(Some)
    }

    /// The step that applies a table from a file, if that is asked for.
    pub(super) fn step_from_file(&self) -> Result<Option<Box<dyn Step>>> {
        let wanted = self.plan.steps.recalibration.as_ref();
        recal_setup::step_from_file(wanted, &self.header, &self.memory.ledger)
    }

    fn wanted_training(&self) -> Option<&plan::Training> {
        self.plan.steps.recalibration.as_ref().and_then(plan::Recalibration::training)
    }

    fn look_with(&self, training: &Arc<Training>, counting: Counting) -> Look {
        let shares = self.shares(training, &counting);
        Look::new(training, counting, shares.counters)
    }

    fn shares(&self, training: &Training, counting: &Counting) -> recal_setup::Shares {
        let Memory { crew, room, .. } = self.memory;
        recal_setup::shares(training, counting, room, crew.threads as u64)
    }

    /// Bytes beside the reads that counting takes.
    pub(super) fn beside_reads(&self, training: Option<&Training>) -> u64 {
        let wanted = self.wanted_training().zip(training);
        let bootstrap = self.wanted_training().is_some_and(|wanted| wanted.bootstrap);
        let found = if bootstrap { Found::bytes(self.header.references().len()) } else { 0 };
        found + wanted.map_or(0, |(wanted, it)| self.shares(it, &wanted.counting).all)
    }

    /// Nothing counted yet, of reads as they come; nothing if nothing is to be counted.
    pub(super) fn looks(&self, training: Option<Arc<Training>>) -> Option<Look> {
        let counting = &self.wanted_training()?.counting;
        training.map(|training| self.look_with(&training, counting.clone()))
    }

    /// Writes the table of what was counted, if that is asked for, and gives it.
    pub(super) fn settle(&self, look: Look, files: &mut SideFiles, after: bool) -> Result<bqsr::Report> {
        let (table, bases) = look.report()?;
        let when = if after { " once more, with their new qualities" } else { " for recalibration" };
        self.report.say(&format!("readmill: {bases} bases counted{when}"));
        if bases == 0 {
            self.report.warn("no base was counted: no read is fit for recalibration");
        }
        files.write_table(&table, after)?;
        Ok(table)
    }

    /// Counts all that waits, and gives the step that recalibrates it when it leaves; and what is to be counted then:
    /// the reads as they are, if only the table is wanted, or with their new qualities.
    pub(super) fn recalibrate(
        &self,
        waiting: &Waiting,
        sources: &Arc<Sources>,
        verdict: Option<&Verdict>,
        training: Option<Arc<Training>>,
        files: &mut SideFiles,
    ) -> Result<StepAndLook> {
        let (Some(wanted), Some(training)) = (&self.plan.steps.recalibration, training) else {
            return Ok((None, None));
        };
        let training = self.bootstrap(waiting, sources, verdict, training)?;
        let look = self.looks(Some(Arc::clone(&training)));
        let Some(apply) = &wanted.apply else { return Ok((None, look)) };
        let Some(look) = look else { return Ok((None, None)) };
        self.report.stage("counting", None, false);
        let merge = Merge::new(Arc::clone(sources));
        count::over_runs(waiting.crew, merge, &look, verdict, self.report)?;
        let table = self.settle(look, files, false)?;
        // (What it takes is charged with the counts.)
        let recalibration = bqsr::Recalibration::new(&table, &apply.applying, &Ledger::unlimited())?;
        // Of a read group none of whose reads trains, nothing is known; the others are no worse for it.
        let writing = Writing { allow_missing_group: true, ..apply.writing.clone() };
        let apply = Apply { writing, ..apply.clone() };
        let groups = training.groups.clone();
        let step = recal_setup::step(recalibration, &apply, groups, &self.header);
        let again = wanted.training().filter(|wanted| wanted.after.is_some());
        let again = again.map(|wanted| {
            let counting = Counting { use_original: false, ..wanted.counting.clone() };
            self.look_with(&training, counting)
        });
        Ok((Some(step), again))
    }

    /// Finds the sites at which the sample differs, if that is asked for, and leaves them out.
    fn bootstrap(
        &self,
        waiting: &Waiting,
        sources: &Arc<Sources>,
        verdict: Option<&Verdict>,
        training: Arc<Training>,
    ) -> Result<Arc<Training>> {
        let wanted = self.wanted_training().filter(|wanted| wanted.bootstrap);
        let Some(look) = wanted.map(|wanted| self.look_with(&training, wanted.counting.clone())) else {
            return Ok(training);
        };
        self.report.stage("comparing", None, false);
        // (What they take is charged with the counts.)
        let found = Found::new(self.header.references().len(), &waiting.spill, &Ledger::unlimited())?;
        let merge = Merge::new(Arc::clone(sources));
        let (sites, n) = count::suspects(waiting.crew, merge, (&look, verdict), found, self.report)?;
        self.report.say(&format!("readmill: {n} positions differ too often, and are left out"));
        Ok(Arc::new(Training { sites, ..(*training).clone() }))
    }
}
