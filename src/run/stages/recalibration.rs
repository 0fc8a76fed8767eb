//! The stages of recalibration: sites where none are known, and counts of bases.

use std::sync::Arc;

use readmill_bqsr::suspects::{SiteEvents, SiteScan};
use readmill_bqsr::{RecalReference, Totals};
use readmill_engine::Crew;
use readmill_format::sites::SiteCollector;
use readmill_format::spill::Spill;
use readmill_record::{Charge, Error, Ledger, Result};
use readmill_sort::Merge;

use super::{LoadedMarks, RangeInput};
use crate::pipeline::count::{self, CovariateCounter};
use crate::pipeline::inputs::Inputs;
use crate::run::RunState;

/// Passes the sites that a stage before has found: contig, and 0-based position.
pub type ReadSites = Box<dyn FnOnce(&mut dyn FnMut(u32, u32) -> Result<()>) -> Result<()>>;

/// A range whose bases are counted: its merge, its counter and their memory.
struct RangeCount {
    crew: Crew,
    merge: Merge,
    counter: CovariateCounter,
    marks: Option<LoadedMarks>,
    _charges: (Vec<Charge>, [Charge; 2]),
}

impl RunState<'_> {
    /// Excludes sites that a stage before has found.
    pub(super) fn exclude(
        &self,
        reference: Arc<RecalReference>,
        sites: Option<ReadSites>,
        spill: &Arc<Spill>,
    ) -> Result<Arc<RecalReference>> {
        let Some(read) = sites else { return Ok(reference) };
        // (Their memory is charged with the counts.)
        let contigs = self.header.references().len();
        let mut found = SiteCollector::new(contigs, spill, &Ledger::unlimited())?;
        read(&mut |contig, position| found.push_site(contig, position, position + 1))?;
        let (sites, _) = found.finish()?;
        Ok(Arc::new(RecalReference { sites, ..(*reference).clone() }))
    }

    fn range_count(&self, inputs: &Inputs, input: RangeInput) -> Result<RangeCount> {
        let RangeInput { slices, judgement, sites, range: [start, until], spill, .. } = input;
        let Some(reference) = self.open_recal_reference(&spill)? else {
            return Err(Error::bug("there are no bases to be counted"));
        };
        let (charges, _) = self.reserve(inputs, self.counting_bytes(Some(&reference)))?;
        let marks = self.load(judgement, &spill)?;
        let (crew, merge, merging) = self.merge_from(slices, start.as_ref(), &spill)?;
        let reference = self.exclude(reference, sites, &spill)?;
        let Some(counter) = self.new_input_counter(Some(reference)) else {
            return Err(Error::bug("there are no bases to be counted"));
        };
        let merge = merge.end_before(until.map(|until| until.border));
        Ok(RangeCount { crew, merge, counter, marks, _charges: (charges, merging) })
    }

    /// Counts the bases of the records of a range for recalibration.
    pub fn count(self, inputs: &Inputs, input: RangeInput) -> Result<Totals> {
        let range = self.range_count(inputs, input)?;
        self.console.begin_stage("counting", None, false);
        let verdict = range.marks.as_ref().map(|marks| &*marks.verdict);
        count::count_runs(range.crew, range.merge, &range.counter, verdict, self.console)?;
        Ok(range.counter.into_totals())
    }

    /// Compares the records of a range with the reference; `each` takes where they begin, end and differ, in their order.
    pub fn compare(
        self,
        inputs: &Inputs,
        input: RangeInput,
        each: impl FnMut(SiteEvents) -> Result<()> + Send,
    ) -> Result<()> {
        let range = self.range_count(inputs, input)?;
        self.console.begin_stage("comparing", None, false);
        let verdict = range.marks.as_ref().map(|marks| &*marks.verdict);
        count::scan_runs_for_mismatches(
            range.crew,
            range.merge,
            &range.counter,
            verdict,
            self.console,
            each,
        )
    }
}

/// Finds the sites at which the sample differs, from the events of all ranges in their order.
pub struct SiteFinder {
    scan: SiteScan,
    found: u64,
}

impl SiteFinder {
    /// A finder that has seen no reads.
    pub fn new() -> Self {
        SiteFinder { scan: SiteScan::default(), found: 0 }
    }

    /// Adds the next events; calls `site` with the sites that are decided by them.
    pub fn add(
        &mut self,
        events: SiteEvents,
        mut site: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let found = &mut self.found;
        self.scan.add_batch(events, |contig, position| {
            *found += 1;
            site(contig, position)
        })
    }

    /// Decides the remaining sites; returns how many there are in all.
    pub fn finish(mut self, mut site: impl FnMut(u32, u32) -> Result<()>) -> Result<u64> {
        let found = &mut self.found;
        self.scan.finish(|contig, position| {
            *found += 1;
            site(contig, position)
        })?;
        Ok(self.found)
    }
}
