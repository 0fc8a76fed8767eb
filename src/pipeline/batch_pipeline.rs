//! The work on each batch of reads within one thread: tallies, steps, counting for recalibration,
//! and routing to extra outputs.
//!
//! A [`BatchPipeline`] is built once for a pass and shared by all threads. Each thread creates a
//! [`PipelineWorker`] from it, passes its batches to the worker, and adds the worker's counts to the
//! totals at the end of the pass.
//!
//! ```text
//! tallies_before → filters → steps → counter → last_steps → tallies_after → extra → main_output_tallies
//!                  │ dropped reads                                          │ routed reads
//!                  └──────────────────────► extra outputs ◄─────────────────┘
//! ```

use readmill_bqsr::CovariateWorker;
use readmill_filters::route::SegmentCounts;
use readmill_record::{Batch, Detail, DynTally, Result, Span, Step, TallyWorker};

use super::count::CovariateCounter;
use super::{StepCounts, ThreadSteps, add_step_counts, apply_steps, fork_steps};
use crate::outputs::extra_writer::ExtraWriter;
use crate::outputs::routing::{self, RoutedRecords, Router};

pub type DynTallies<'a> = Vec<&'a dyn DynTally>;

/// The stages that every batch of a pass goes through, in the order of the fields. A stage that a
/// run does not need is empty or `None`.
#[derive(Clone, Default)]
pub struct BatchPipeline<'a> {
    pub tallies_before: DynTallies<'a>,
    /// Filters whose dropped reads are written to an extra output (`--move-to FILE=dropped`). They
    /// run before all other steps.
    pub filters: Option<RoutedFilters<'a>>,
    pub steps: &'a [Box<dyn Step>],
    /// Counts covariates for recalibration, after `steps` have marked duplicates.
    pub counter: Option<&'a CovariateCounter>,
    /// Steps that run last, when `counter` has seen the reads: filters that run after all other steps,
    /// and late steps of a program that uses the library.
    pub last_steps: &'a [Box<dyn Step>],
    /// Tallies of the reads after all steps, before any of them is moved to an extra output.
    pub tallies_after: DynTallies<'a>,
    pub extra: Option<&'a ExtraWriter<'a>>,
    pub main_output_tallies: DynTallies<'a>,
}

#[derive(Clone, Copy)]
pub struct RoutedFilters<'a> {
    /// Steps that only drop reads and never change them, so that the dropped reads are those whose
    /// spans are missing afterwards.
    pub steps: &'a [Box<dyn Step>],
    pub place: usize,
}

struct FilterWorker {
    steps: ThreadSteps,
    place: usize,
    before: Vec<Span>,
}

impl FilterWorker {
    fn apply_filters(&mut self, batch: &mut Batch, routed: &mut RoutedRecords) -> Result<()> {
        self.before.clear();
        self.before.extend_from_slice(&batch.spans);
        apply_steps(&mut self.steps, batch)?;
        if batch.len() < self.before.len() {
            routed.places.push((self.place, routing::copy_dropped_reads(&self.before, batch)?));
        }
        Ok(())
    }
}

pub struct PipelineWorker<'a> {
    tallies_before: Vec<Box<dyn TallyWorker + 'a>>,
    filters: Option<FilterWorker>,
    steps: ThreadSteps,
    counter: Option<(&'a CovariateCounter, CovariateWorker)>,
    last_steps: ThreadSteps,
    tallies_after: Vec<Box<dyn TallyWorker + 'a>>,
    extra: Option<(&'a ExtraWriter<'a>, Router, SegmentCounts)>,
    main_output_tallies: Vec<Box<dyn TallyWorker + 'a>>,
}

impl<'a> BatchPipeline<'a> {
    /// Returns which parts of a read the pipeline needs. The reader does not decode the other
    /// parts, which saves most of the time of commands that need only flags or positions.
    pub fn required_detail(&self) -> Detail {
        if self.filters.is_some() || self.counter.is_some() || self.extra.is_some() {
            return Detail::Whole;
        }
        let tallies = [&self.tallies_before, &self.tallies_after, &self.main_output_tallies];
        let tallies = tallies.into_iter().flatten().map(|tally| tally.detail());
        let steps = self.steps.iter().chain(self.last_steps).map(|step| step.detail());
        steps.chain(tallies).max().unwrap_or(Detail::Flags)
    }

    pub fn new_worker(&self) -> PipelineWorker<'a> {
        let workers =
            |tallies: &DynTallies<'a>| tallies.iter().map(|tally| tally.make_worker()).collect();
        PipelineWorker {
            tallies_before: workers(&self.tallies_before),
            filters: self.filters.map(|filters| FilterWorker {
                steps: fork_steps(filters.steps),
                place: filters.place,
                before: Vec::new(),
            }),
            steps: fork_steps(self.steps),
            counter: self.counter.map(|counter| (counter, counter.new_worker())),
            last_steps: fork_steps(self.last_steps),
            tallies_after: workers(&self.tallies_after),
            extra: self.extra.map(|writer| (writer, writer.router(), SegmentCounts::default())),
            main_output_tallies: workers(&self.main_output_tallies),
        }
    }
}

impl PipelineWorker<'_> {
    /// Passes a batch through all stages and leaves the reads for the main output in it. Returns
    /// the reads for the extra outputs, which the caller must pass on in input order.
    pub fn process_batch(&mut self, batch: &mut Batch) -> Result<RoutedRecords> {
        self.tallies_before.iter_mut().try_for_each(|worker| worker.observe(batch))?;
        let mut dropped = RoutedRecords::default();
        if let Some(filters) = &mut self.filters {
            filters.apply_filters(batch, &mut dropped)?;
        }
        apply_steps(&mut self.steps, batch)?;
        if let Some((counter, worker)) = &mut self.counter {
            counter.count_batch(worker, batch)?;
        }
        apply_steps(&mut self.last_steps, batch)?;
        self.tallies_after.iter_mut().try_for_each(|worker| worker.observe(batch))?;
        let mut routed = match &mut self.extra {
            Some((writer, router, segments)) => {
                writer.encode_full_buffers()?;
                routing::route_batch(router, batch, segments)?
            }
            None => RoutedRecords::default(),
        };
        routed.places.append(&mut dropped.places);
        self.main_output_tallies.iter_mut().try_for_each(|worker| worker.observe(batch))?;
        Ok(routed)
    }

    /// Adds this thread's counts to `sums`, to the recalibration totals, and to the shared tallies.
    /// Called once for each worker, after the pass.
    pub fn merge_counts_into(mut self, sums: &mut StepCounts) {
        let filters = self.filters.iter().map(|filters| &filters.steps);
        add_step_counts(sums, filters.chain([&self.steps, &self.last_steps]));
        if let Some((counter, worker)) = &mut self.counter {
            counter.merge_worker_counts(worker);
        }
        if let Some((writer, _, segments)) = self.extra {
            writer.add_segment_counts(segments);
        }
        self.tallies_before
            .into_iter()
            .chain(self.tallies_after)
            .chain(self.main_output_tallies)
            .for_each(TallyWorker::merge_into_total);
    }
}
