//! The pipeline of a batch: tallies, steps, counting for recalibration, and routing to extra outputs.

use readmill_bqsr::CovariateWorker;
use readmill_filters::route::Segments;
use readmill_record::{Batch, Detail, DynTally, Result, Span, Step, TallyWorker};

use super::count::CovariateCounter;
use super::{StepCounts, ThreadSteps, add_counts, apply, fork_steps};
use crate::outputs::extra_writer::ExtraWriter;
use crate::outputs::routing::{self, RoutedRecords, Router};

/// Tallies.
pub type DynTallies<'a> = Vec<&'a dyn DynTally>;

/// Everything that is done to the reads of a batch, in the order of the fields.
#[derive(Clone, Default)]
pub struct BatchPipeline<'a> {
    /// Tallies of the reads as they come in.
    pub tallies_before: DynTallies<'a>,
    /// Filters that come before the steps, if the reads that they drop go to an extra output.
    pub filters: Option<RoutedFilters<'a>>,
    /// The steps.
    pub steps: &'a [Box<dyn Step>],
    /// Counts covariates of the reads that the steps have changed.
    pub counter: Option<&'a CovariateCounter>,
    /// The steps that come last.
    pub late: &'a [Box<dyn Step>],
    /// Tallies of the reads after all steps.
    pub tallies_after: DynTallies<'a>,
    /// Takes reads that go to extra outputs.
    pub extra: Option<&'a ExtraWriter<'a>>,
    /// Tallies of the reads that stay for the main output.
    pub tallies_of_main: DynTallies<'a>,
}

/// Filters whose dropped reads go to an extra output.
#[derive(Clone, Copy)]
pub struct RoutedFilters<'a> {
    /// Steps that only drop reads.
    pub steps: &'a [Box<dyn Step>],
    /// The number of the extra output.
    pub place: usize,
}

/// One thread's copies of such filters.
struct FilterWorker {
    steps: ThreadSteps,
    place: usize,
    /// The reads before the filters.
    before: Vec<Span>,
}

impl FilterWorker {
    /// Applies the filters; adds the reads that they drop to `routed`.
    fn apply(&mut self, batch: &mut Batch, routed: &mut RoutedRecords) -> Result<()> {
        self.before.clear();
        self.before.extend_from_slice(&batch.spans);
        apply(&mut self.steps, batch)?;
        if batch.len() < self.before.len() {
            routed.places.push((self.place, routing::dropped(&self.before, batch)?));
        }
        Ok(())
    }
}

/// One thread's worker for a pipeline.
pub struct PipelineWorker<'a> {
    tallies_before: Vec<Box<dyn TallyWorker + 'a>>,
    filters: Option<FilterWorker>,
    steps: ThreadSteps,
    counter: Option<(&'a CovariateCounter, CovariateWorker)>,
    late: ThreadSteps,
    tallies_after: Vec<Box<dyn TallyWorker + 'a>>,
    extra: Option<(&'a ExtraWriter<'a>, Router, Segments)>,
    tallies_of_main: Vec<Box<dyn TallyWorker + 'a>>,
}

impl<'a> BatchPipeline<'a> {
    /// How much of each read it looks at.
    pub fn detail(&self) -> Detail {
        if self.filters.is_some() || self.counter.is_some() || self.extra.is_some() {
            return Detail::Whole;
        }
        let tallies = [&self.tallies_before, &self.tallies_after, &self.tallies_of_main];
        let tallies = tallies.into_iter().flatten().map(|tally| tally.detail());
        let steps = self.steps.iter().chain(self.late).map(|step| step.detail());
        steps.chain(tallies).max().unwrap_or(Detail::Flags)
    }

    /// Returns a worker for the calling thread.
    pub fn worker(&self) -> PipelineWorker<'a> {
        let workers = |tallies: &DynTallies<'a>| tallies.iter().map(|tally| tally.worker()).collect();
        PipelineWorker {
            tallies_before: workers(&self.tallies_before),
            filters: self.filters.map(|filters| FilterWorker {
                steps: fork_steps(filters.steps),
                place: filters.place,
                before: Vec::new(),
            }),
            steps: fork_steps(self.steps),
            counter: self.counter.map(|counter| (counter, counter.worker())),
            late: fork_steps(self.late),
            tallies_after: workers(&self.tallies_after),
            extra: self.extra.map(|writer| (writer, writer.router(), Segments::default())),
            tallies_of_main: workers(&self.tallies_of_main),
        }
    }
}

impl PipelineWorker<'_> {
    /// Runs a batch through the pipeline; returns the reads that go to extra outputs.
    pub fn apply(&mut self, batch: &mut Batch) -> Result<RoutedRecords> {
        self.tallies_before.iter_mut().try_for_each(|worker| worker.observe(batch))?;
        let mut dropped = RoutedRecords::default();
        if let Some(filters) = &mut self.filters {
            filters.apply(batch, &mut dropped)?;
        }
        apply(&mut self.steps, batch)?;
        if let Some((counter, worker)) = &mut self.counter {
            counter.count_batch(worker, batch)?;
        }
        apply(&mut self.late, batch)?;
        self.tallies_after.iter_mut().try_for_each(|worker| worker.observe(batch))?;
        let mut routed = match &mut self.extra {
            Some((writer, router, segments)) => {
                writer.encode()?;
                routing::route(router, batch, segments)?
            }
            None => RoutedRecords::default(),
        };
        routed.places.append(&mut dropped.places);
        self.tallies_of_main.iter_mut().try_for_each(|worker| worker.observe(batch))?;
        Ok(routed)
    }

    /// Adds what this thread has counted to the totals.
    pub fn finish(mut self, sums: &mut StepCounts) {
        let filters = self.filters.iter().map(|filters| &filters.steps);
        add_counts(sums, filters.chain([&self.steps, &self.late]));
        if let Some((counter, worker)) = &mut self.counter {
            counter.merge(worker);
        }
        if let Some((writer, _, segments)) = self.extra {
            writer.count(segments);
        }
        self.tallies_before
            .into_iter()
            .chain(self.tallies_after)
            .chain(self.tallies_of_main)
            .for_each(TallyWorker::merge);
    }
}
