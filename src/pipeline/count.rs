//! Counts covariates of bases for recalibration: while reads pass, or in a pass of its own over the runs, once
//! duplicates are known.
//!
//! Each thread counts by itself; its counts go into the totals at the end, or when they have become large. Sums of
//! integers do not depend on which thread counted.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use readmill_bqsr::covariate_worker::WORKER_BYTES;
use readmill_bqsr::suspects::{SiteEvents, SiteScan};
use readmill_bqsr::{CountOptions, CovariateWorker, ReadGroups, RecalReference, Report, Totals};
use readmill_engine::{Crew, map_ordered};
use readmill_format::sites::{SiteCollector, Sites};
use readmill_markdup::Verdict;
use readmill_record::{Batch, Error, RecordRef, Result, Stamp};
use readmill_sort::{Merge, Partition, Range};

use crate::process::console::Console;

/// Counts covariates, and holds the totals.
pub struct CovariateCounter {
    reference: Arc<RecalReference>,
    counting: Arc<CountOptions>,
    /// Bytes that a thread's counts may take before they go into the totals.
    most_bytes: usize,
    totals: Mutex<Totals>,
    /// Bytes of the largest counts of a thread so far.
    largest: AtomicUsize,
}

impl CovariateCounter {
    /// Creates a counter with empty totals.
    pub fn new(reference: &Arc<RecalReference>, counting: CountOptions, most_bytes: usize) -> Self {
        let (reference, counting) = (Arc::clone(reference), Arc::new(counting));
        let (totals, largest) = Default::default();
        CovariateCounter { reference, counting, most_bytes, totals, largest }
    }

    /// Returns one thread's counter.
    pub fn worker(&self) -> CovariateWorker {
        self.reference.worker(&self.counting)
    }

    /// Counts a read.
    fn count_read(
        &self,
        worker: &mut CovariateWorker,
        stamp: Stamp,
        record: RecordRef<'_>,
        dup: bool,
    ) -> Result<()> {
        if worker.counters.are_full(self.most_bytes) {
            self.merge(worker);
        }
        let place = |error: Error| error.record(stamp.ordinal()).qname(record.qname());
        worker.observe(record, dup).map_err(place)
    }

    /// Counts the reads of a batch, whose duplicates are flagged.
    pub fn count_batch(&self, worker: &mut CovariateWorker, batch: &Batch) -> Result<()> {
        let mut records = batch.records();
        records.try_for_each(|(stamp, it)| self.count_read(worker, stamp, it, it.flags().is_duplicate()))
    }

    /// Adds a thread's counts to the totals.
    pub fn merge(&self, worker: &mut CovariateWorker) {
        self.largest.fetch_max(worker.counters.bytes(), Relaxed);
        self.totals.lock().unwrap_or_else(PoisonError::into_inner).add(&mut worker.counters);
    }

    /// Returns the bytes that one thread took to count, and those of the totals.
    pub fn used_bytes(&self) -> (u64, u64) {
        let totals = self.totals.lock().unwrap_or_else(PoisonError::into_inner);
        ((WORKER_BYTES + self.largest.load(Relaxed)) as u64, totals.heap_bytes() as u64)
    }

    /// Returns all counts.
    pub fn into_totals(self) -> Totals {
        self.totals.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the report of all counts, and the number of bases.
    pub fn report(self) -> Result<(Report, u64)> {
        let (reference, counting) = (Arc::clone(&self.reference), Arc::clone(&self.counting));
        report(self.into_totals(), &reference.groups, &counting)
    }
}

/// Returns the report of counts of reads of these groups, and the number of bases.
pub fn report(totals: Totals, groups: &ReadGroups, counting: &CountOptions) -> Result<(Report, u64)> {
    let tables = totals.tables(groups.names());
    let mismatches = tables.groups.iter().map(|group| &group.events[0]);
    let rows = mismatches.flat_map(|table| table.seen());
    let bases = rows.map(|(_, row)| row.total.observations).sum();
    Ok((Report::new(&tables, counting.arguments.clone())?, bases))
}

/// Whether a read is a duplicate: by the verdict, or else by its flag.
fn is_duplicate(verdict: Option<&Verdict>, stamp: Stamp, record: RecordRef<'_>) -> bool {
    let flagged = || record.flags().is_duplicate();
    verdict.map_or_else(flagged, |verdict| verdict.is_duplicate(stamp))
}

/// Counts all reads of a merge, in output order. Their bytes stay where they are.
pub fn count_runs(
    crew: Crew,
    mut merge: Merge,
    counter: &CovariateCounter,
    verdict: Option<&Verdict>,
    console: &Console,
) -> Result<()> {
    let count = |worker: &mut CovariateWorker, range: Range| {
        let mut records = 0;
        Partition::from(range.order()?).gather(|stamp, raw| {
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
        || counter.worker(),
        count,
        |records| {
            console.advance(records);
            Ok(())
        },
    )?;
    workers.into_iter().for_each(|mut worker| counter.merge(&mut worker));
    Ok(())
}

/// Finds positions at which the reads, sorted by coordinate, differ from the reference so often that the sample must
/// differ; also returns their number.
pub fn find_suspects(
    crew: Crew,
    merge: Merge,
    counter: &CovariateCounter,
    verdict: Option<&Verdict>,
    mut found: SiteCollector,
    console: &Console,
) -> Result<(Sites, u64)> {
    let mut pile = SiteScan::default();
    compare_runs(crew, merge, counter, verdict, console, |seen| {
        pile.add(seen, |contig, position| found.push(contig, position, position + 1))
    })?;
    pile.finish(|contig, position| found.push(contig, position, position + 1))?;
    found.finish()
}

/// Compares all reads of a merge, sorted by coordinate, with the reference; `each` takes where they begin, end and differ,
/// in their order.
pub fn compare_runs(
    crew: Crew,
    mut merge: Merge,
    counter: &CovariateCounter,
    verdict: Option<&Verdict>,
    console: &Console,
    mut each: impl FnMut(SiteEvents) -> Result<()> + Send,
) -> Result<()> {
    let suspect = |worker: &mut CovariateWorker, range: Range| {
        let (mut seen, mut records) = (SiteEvents::default(), 0);
        Partition::from(range.order()?).gather(|stamp, raw| {
            let record = RecordRef::new(raw);
            records += 1;
            let suspected = worker.suspect(record, is_duplicate(verdict, stamp, record), &mut seen);
            suspected.map_err(|error| error.record(stamp.ordinal()).qname(record.qname()))
        })?;
        Ok((seen, records))
    };
    let claim = || Ok::<_, Error>(merge.next_range());
    map_ordered(
        crew,
        claim,
        || counter.worker(),
        suspect,
        |(seen, records)| {
            console.advance(records);
            each(seen)
        },
    )?;
    Ok(())
}
