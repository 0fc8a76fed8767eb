//! Counts covariates of bases for recalibration, as GATK's BaseRecalibrator does.
//!
//! Reads are counted while they pass through a
//! [`BatchPipeline`](super::batch_pipeline::BatchPipeline), or, if duplicates must be known first,
//! in a separate pass over the sorted runs. Each thread has its own counts. They are added to the
//! totals at the end of the pass, or earlier if they become too large. The totals are integers, so
//! the result does not depend on which thread counted a read.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use readmill_bqsr::covariate_worker::WORKER_BYTES;
use readmill_bqsr::suspects::{SiteEvents, SiteScan};
use readmill_bqsr::{CountOptions, CovariateWorker, ReadGroups, RecalReference, RecalReport, Totals};
use readmill_engine::{Crew, map_ordered};
use readmill_format::sites::{KnownSites, SiteCollector};
use readmill_markdup::Verdict;
use readmill_process::console::Console;
use readmill_record::{Batch, Error, RecordRef, Result, Stamp};
use readmill_sort::{Merge, Partition, Range};

/// The options and totals of covariate counting, shared by all threads of a pass.
pub struct CovariateCounter {
    reference: Arc<RecalReference>,
    counting: Arc<CountOptions>,
    /// Maximum bytes of one thread's counts. Counts that reach it are added to the totals, and the
    /// thread starts again from zero.
    max_worker_bytes: usize,
    totals: Mutex<Totals>,
    peak_worker_bytes: AtomicUsize,
}

impl CovariateCounter {
    pub fn new(reference: &Arc<RecalReference>, counting: CountOptions, max_bytes: usize) -> Self {
        let (reference, counting) = (Arc::clone(reference), Arc::new(counting));
        let (totals, largest) = Default::default();
        CovariateCounter {
            reference,
            counting,
            max_worker_bytes: max_bytes,
            totals,
            peak_worker_bytes: largest,
        }
    }

    pub fn new_worker(&self) -> CovariateWorker {
        self.reference.new_worker(&self.counting)
    }

    /// Counts the bases of one read. Errors contain the read name and its number in the input.
    fn count_read(
        &self,
        worker: &mut CovariateWorker,
        stamp: Stamp,
        record: RecordRef<'_>,
        dup: bool,
    ) -> Result<()> {
        if worker.counters.are_full(self.max_worker_bytes) {
            self.merge_worker_counts(worker);
        }
        let place = |error: Error| error.record(stamp.ordinal()).qname(record.qname());
        worker.observe_read(record, dup).map_err(place)
    }

    /// Counts the reads of a batch. A read is a duplicate if flag 0x400 is set.
    pub fn count_batch(&self, worker: &mut CovariateWorker, batch: &Batch) -> Result<()> {
        let mut records = batch.records();
        records.try_for_each(|(stamp, it)| self.count_read(worker, stamp, it, it.flags().is_duplicate()))
    }

    pub fn merge_worker_counts(&self, worker: &mut CovariateWorker) {
        self.peak_worker_bytes.fetch_max(worker.counters.bytes(), Relaxed);
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).add_counters(&mut worker.counters);
    }

    /// Returns the peak memory of one thread's counts, and the memory of the totals, in bytes.
    pub fn used_bytes(&self) -> (u64, u64) {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        ((WORKER_BYTES + self.peak_worker_bytes.load(Relaxed)) as u64, totals.heap_bytes() as u64)
    }

    pub fn into_totals(self) -> Totals {
        self.totals.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn into_report(self) -> Result<(RecalReport, u64)> {
        let (reference, counting) = (Arc::clone(&self.reference), Arc::clone(&self.counting));
        build_report(self.into_totals(), &reference.groups, &counting)
    }
}

/// Builds the recalibration report from `totals`. Also returns the number of counted bases.
pub fn build_report(
    totals: Totals,
    groups: &ReadGroups,
    counting: &CountOptions,
) -> Result<(RecalReport, u64)> {
    let tables = totals.into_tables(groups.names());
    let mismatches = tables.groups.iter().map(|group| &group.events[0]);
    let rows = mismatches.flat_map(|table| table.seen_qualities());
    let bases = rows.map(|(_, row)| row.total.observations).sum();
    Ok((RecalReport::new(&tables, counting.arguments.clone())?, bases))
}

/// Returns whether a read is a duplicate: by the verdict of this run if duplicates were marked,
/// otherwise by its flag.
fn is_duplicate(verdict: Option<&Verdict>, stamp: Stamp, record: RecordRef<'_>) -> bool {
    let flagged = || record.flags().is_duplicate();
    verdict.map_or_else(flagged, |verdict| verdict.is_duplicate(stamp))
}

/// Counts the covariates of all reads of `merge`, in output order, without writing anything. A run
/// that marks duplicates and recalibrates needs this separate pass. `verdict` contains the
/// duplicate marks.
pub fn count_runs(
    crew: Crew,
    mut merge: Merge,
    counter: &CovariateCounter,
    verdict: Option<&Verdict>,
    console: &Console,
) -> Result<()> {
    let count = |worker: &mut CovariateWorker, range: Range| {
        let mut records = 0;
        Partition::from(range.order_records()?).gather(|stamp, raw| {
            let record = RecordRef::new(raw);
            records += 1;
            counter.count_read(worker, stamp, record, is_duplicate(verdict, stamp, record))
        })?;
        Ok(records)
    };
    let claim = || Ok::<_, Error>(merge.next_range());
    let workers = map_ordered(
        crew,
        claim,
        || counter.new_worker(),
        count,
        |records| {
            console.advance(records);
            Ok(())
        },
    )?;
    workers.into_iter().for_each(|mut worker| counter.merge_worker_counts(&mut worker));
    Ok(())
}

/// Finds positions at which the sample itself probably differs from the reference, because many of
/// its reads do. The reads of `merge` must be sorted by coordinate. Adds the positions to `found`,
/// which then replaces a file of known sites, and returns their number.
pub fn find_suspect_sites(
    crew: Crew,
    merge: Merge,
    counter: &CovariateCounter,
    verdict: Option<&Verdict>,
    mut found: SiteCollector,
    console: &Console,
) -> Result<(KnownSites, u64)> {
    let mut pile = SiteScan::default();
    scan_runs_for_mismatches(crew, merge, counter, verdict, console, |seen| {
        pile.add_batch(seen, |contig, position| found.push_site(contig, position, position + 1))
    })?;
    pile.finish(|contig, position| found.push_site(contig, position, position + 1))?;
    found.finish()
}

/// Compares all reads of `merge`, which must be sorted by coordinate, with the reference. Calls
/// `each` with the events of each range (where reads start, end and differ from the reference), in
/// coordinate order.
pub fn scan_runs_for_mismatches(
    crew: Crew,
    mut merge: Merge,
    counter: &CovariateCounter,
    verdict: Option<&Verdict>,
    console: &Console,
    mut each: impl FnMut(SiteEvents) -> Result<()> + Send,
) -> Result<()> {
    let suspect = |worker: &mut CovariateWorker, range: Range| {
        let (mut seen, mut records) = (SiteEvents::default(), 0);
        Partition::from(range.order_records()?).gather(|stamp, raw| {
            let record = RecordRef::new(raw);
            records += 1;
            let suspected =
                worker.note_mismatches(record, is_duplicate(verdict, stamp, record), &mut seen);
            suspected.map_err(|error| error.record(stamp.ordinal()).qname(record.qname()))
        })?;
        Ok((seen, records))
    };
    let claim = || Ok::<_, Error>(merge.next_range());
    map_ordered(
        crew,
        claim,
        || counter.new_worker(),
        suspect,
        |(seen, records)| {
            console.advance(records);
            each(seen)
        },
    )?;
    Ok(())
}
