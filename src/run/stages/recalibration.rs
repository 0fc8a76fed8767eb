//! The recalibration stages: find variant sites if there are no known sites, and count bases.

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

/// Passes each site that an earlier stage found (contig index and 0-based position) to a function.
pub type ReadSites = Box<dyn FnOnce(&mut dyn FnMut(u32, u32) -> Result<()>) -> Result<()>>;

/// The work of one counting stage: the merge of its reads, the counter, and their charges.
struct RangeCount {
    crew: Crew,
    merge: Merge,
    counter: CovariateCounter,
    marks: Option<LoadedMarks>,
    _charges: (Vec<Charge>, [Charge; 2]),
}

impl RunState<'_> {
    /// Returns `reference` without the sites that an earlier stage found. If there are no such
    /// sites, returns it unchanged.
    pub(super) fn exclude_stored_sites(
        &self,
        reference: Arc<RecalReference>,
        sites: Option<ReadSites>,
        spill: &Arc<Spill>,
    ) -> Result<Arc<RecalReference>> {
        let Some(read) = sites else { return Ok(reference) };
        // The memory of the sites is charged together with the counts.
        let contigs = self.header.references().len();
        let mut found = SiteCollector::new(contigs, spill, &Ledger::unlimited())?;
        read(&mut |contig, position| found.push_site(contig, position, position + 1))?;
        let (sites, _) = found.finish()?;
        Ok(Arc::new(RecalReference { sites, ..(*reference).clone() }))
    }

    /// Opens everything that is needed to count the reads of a range, and charges its memory.
    fn open_range_count(&self, inputs: &Inputs, input: RangeInput) -> Result<RangeCount> {
        let RangeInput { slices, judgement, sites, range: [start, until], spill, .. } = input;
        let Some(reference) = self.open_recal_reference(&spill)? else {
            return Err(Error::bug("there are no bases to be counted"));
        };
        let (charges, _) = self.charge_fixed_memory(inputs, self.counting_bytes(Some(&reference)))?;
        let marks = self.load_marks(judgement, &spill)?;
        let (crew, merge, merging) = self.start_merge(slices, start.as_ref(), &spill)?;
        let reference = self.exclude_stored_sites(reference, sites, &spill)?;
        let Some(counter) = self.new_input_counter(Some(reference)) else {
            return Err(Error::bug("there are no bases to be counted"));
        };
        let merge = merge.end_before(until.map(|until| until.border));
        Ok(RangeCount { crew, merge, counter, marks, _charges: (charges, merging) })
    }

    /// Counts the bases of the reads in a range of the output order, for the recalibration table.
    pub fn count_range(self, inputs: &Inputs, input: RangeInput) -> Result<Totals> {
        let range = self.open_range_count(inputs, input)?;
        self.console.begin_stage("counting", None, false);
        let verdict = range.marks.as_ref().map(|marks| &*marks.verdict);
        count::count_runs(range.crew, range.merge, &range.counter, verdict, self.console)?;
        Ok(range.counter.into_totals())
    }

    /// Compares the reads of a range with the reference, for `--bqsr-bootstrap`. `each` receives
    /// the events of each batch, in order: where reads start, end and differ from the reference.
    pub fn compare_range(
        self,
        inputs: &Inputs,
        input: RangeInput,
        each: impl FnMut(SiteEvents) -> Result<()> + Send,
    ) -> Result<()> {
        let range = self.open_range_count(inputs, input)?;
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

/// Finds sites at which the sample differs from the reference, for `--bqsr-bootstrap`. The events
/// of all ranges must be added in output order. A site is decided once no later read can overlap
/// it.
pub struct SiteFinder {
    scan: SiteScan,
    found: u64,
}

impl SiteFinder {
    pub fn new() -> Self {
        SiteFinder { scan: SiteScan::default(), found: 0 }
    }

    /// Adds the next events. Passes each site that is now decided to `site` (contig index and
    /// 0-based position).
    pub fn add_events(
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

    /// Decides the remaining sites and passes them to `site`. Returns the total number of sites
    /// found.
    pub fn finish_sites(mut self, mut site: impl FnMut(u32, u32) -> Result<()>) -> Result<u64> {
        let found = &mut self.found;
        self.scan.finish(|contig, position| {
            *found += 1;
            site(contig, position)
        })?;
        Ok(self.found)
    }
}
