//! The trait of programs that count reads in any order, and the code that merges the counts of all
//! threads.

use std::marker::PhantomData;
use std::sync::{Mutex, MutexGuard, PoisonError};

use readmill_format::report::ReportContents;
use readmill_record::{Error, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::collector::{ReadCollector, ReadContext};
use crate::program::{MetricProgram, MetricSetup, ProgramNeeds, RunningProgram};
use crate::read::PreparedRead;
use crate::run_end::RunEnd;
use crate::selection::{MetricSelection, PicardProgram};

/// A program that counts reads in any order.
///
/// Each thread has its own counts and adds reads to them. At the end, the counts of all threads are
/// merged in an arbitrary order, so they must be integers. A job in stages serializes the counts
/// between its stages.
///
/// The following example is a complete program. Its row in [`PROGRAMS`](crate::PROGRAMS) would be
/// `in_any_order::<DuplicateCount>()`:
///
/// ```
/// use readmill_qc::{
///     MetricProgram, MetricSetup, PicardProgram, PreparedRead, ReadContext, ReadMetric, RunEnd, in_any_order,
/// };
/// use readmill_format::metrics::MetricsRow;
/// use readmill_format::report::ReportContents;
/// use readmill_record::Result;
///
///
/// /// CountDuplicates: the number of reads that are marked as duplicates.
/// struct DuplicateCount;
///
/// impl ReadMetric for DuplicateCount {
///     const PROGRAM: PicardProgram =
///         PicardProgram { name: "CountDuplicates", endings: &[".duplicate_count"] };
///     type Counts = u64;
///
///     fn start_run(_: &MetricSetup<'_>) -> Result<Self> {
///         Ok(DuplicateCount)
///     }
///     fn count_read(&self, counts: &mut u64, read: &PreparedRead<'_>, _: &mut ReadContext<'_>) -> Result<()> {
///         *counts += u64::from(read.flags.is_duplicate());
///         Ok(())
///     }
///     fn merge_counts(&self, into: &mut u64, from: u64) {
///         *into += from;
///     }
///     fn make_reports(&self, total: u64, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
///         let mut row = MetricsRow::default();
///         row.push_integer(total);
///         Ok(end.make_files(&Self::PROGRAM, |[file]| file.set_table("DuplicateCount", &["DUPLICATES"], [row])))
///     }
/// }
///
/// let row = in_any_order::<DuplicateCount>();
/// assert_eq!(row.programs()[0].name, "CountDuplicates");
/// assert!(!row.needs().reference);
/// ```
pub trait ReadMetric: Send + Sync + Sized + 'static {
    /// Picard's name of the program, and the endings of its files.
    const PROGRAM: PicardProgram;

    /// The reference and order that the program needs. By default it needs neither.
    const NEEDS: ProgramNeeds = ProgramNeeds::NOTHING;

    /// Whether the program also counts secondary and supplementary records. By default it gets only
    /// the primary record of each read.
    const COUNTS_ALL_RECORDS: bool = false;

    /// The counts of one thread. They start empty, and stages store them.
    type Counts: Default + Send + Serialize + DeserializeOwned;

    /// Returns the memory in bytes that the program takes on this number of threads, see
    /// [`MetricProgram::min_bytes`].
    fn min_bytes(_threads: u64) -> u64 {
        0
    }

    /// Creates the metric for one run from its options and input files.
    ///
    /// # Errors
    /// An input file is malformed or does not match the header, see [`MetricProgram::start_run`].
    fn start_run(setup: &MetricSetup<'_>) -> Result<Self>;

    /// Adds a record to the counts of one thread.
    ///
    /// # Errors
    /// The counts need more memory than `context` allows, or the reference cannot be read.
    fn count_read(
        &self,
        counts: &mut Self::Counts,
        read: &PreparedRead<'_>,
        context: &mut ReadContext<'_>,
    ) -> Result<()>;

    /// Completes intermediate sums that [`ReadMetric::count_read`] keeps for speed. Called after each
    /// batch, so that counts are complete when threads are merged.
    fn flush_sums(&self, _counts: &mut Self::Counts) {}

    /// Adds the counts of another thread or stage.
    fn merge_counts(&self, into: &mut Self::Counts, from: Self::Counts);

    /// Returns the contents of the program's files, computed from the counts of all reads. Called
    /// once, at the end of the run.
    ///
    /// # Errors
    /// The reference cannot be read.
    fn make_reports(&self, total: Self::Counts, end: &RunEnd<'_>) -> Result<Vec<ReportContents>>;
}

/// Returns the row of the program `M` in [`PROGRAMS`](crate::PROGRAMS).
pub const fn in_any_order<M: ReadMetric>() -> &'static dyn MetricProgram {
    &InAnyOrder(PhantomData::<M>)
}

struct InAnyOrder<M>(PhantomData<M>);

impl<M: ReadMetric> MetricProgram for InAnyOrder<M> {
    fn programs(&self) -> &'static [PicardProgram] {
        const { &[M::PROGRAM] }
    }

    fn needs(&self) -> ProgramNeeds {
        M::NEEDS
    }

    fn min_bytes(&self, _: &MetricSelection, threads: u64) -> u64 {
        M::min_bytes(threads)
    }

    fn start_run(&self, setup: &MetricSetup<'_>) -> Result<Box<dyn RunningProgram>> {
        Ok(Box::new(SharedReadMetric { metric: M::start_run(setup)?, total: Mutex::default() }))
    }
}

/// A metric with the sum of the counts of all threads that have finished.
struct SharedReadMetric<M: ReadMetric> {
    metric: M,
    total: Mutex<M::Counts>,
}

impl<M: ReadMetric> SharedReadMetric<M> {
    fn lock_total(&self) -> MutexGuard<'_, M::Counts> {
        self.total.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: ReadMetric> RunningProgram for SharedReadMetric<M> {
    fn make_collector(&self) -> Option<Box<dyn ReadCollector + '_>> {
        Some(Box::new(ThreadCounts { shared: self, counts: M::Counts::default() }))
    }

    fn reset_counts(&self) {
        *self.lock_total() = M::Counts::default();
    }

    fn serialize_state(&self) -> Result<Vec<u8>> {
        postcard::to_stdvec(&*self.lock_total())
            .map_err(|error| Error::bug(format!("counts cannot be stored: {error}")))
    }

    fn add_serialized_state(&self, saved: &[u8]) -> Result<()> {
        let more = postcard::from_bytes(saved).map_err(|error| {
            Error::input(format!("these are not the counts of such a tally: {error}"))
        })?;
        self.metric.merge_counts(&mut self.lock_total(), more);
        Ok(())
    }

    fn make_reports(&self, end: &RunEnd<'_>) -> Result<Vec<ReportContents>> {
        let total = std::mem::take(&mut *self.lock_total());
        self.metric.make_reports(total, end)
    }
}

struct ThreadCounts<'a, M: ReadMetric> {
    shared: &'a SharedReadMetric<M>,
    counts: M::Counts,
}

impl<M: ReadMetric> ReadCollector for ThreadCounts<'_, M> {
    fn counts_all_records(&self) -> bool {
        M::COUNTS_ALL_RECORDS
    }

    fn count_reads(&mut self, reads: &[PreparedRead<'_>], context: &mut ReadContext<'_>) -> Result<()> {
        reads
            .iter()
            .filter(|read| M::COUNTS_ALL_RECORDS || read.flags.is_primary())
            .try_for_each(|read| self.shared.metric.count_read(&mut self.counts, read, context))
    }

    fn flush_sums(&mut self) {
        self.shared.metric.flush_sums(&mut self.counts);
    }

    fn merge_into_total(self: Box<Self>) {
        self.shared.metric.merge_counts(&mut self.shared.lock_total(), self.counts);
    }
}
