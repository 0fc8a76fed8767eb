//! The counts of one thread, and the resources that all programs share on this thread.

use readmill_record::{CountingRoom, Result};
use serde::{Deserialize, Serialize};

use crate::levels::{Levels, MetricsUnit};
use crate::read::PreparedRead;
use crate::reference::{ReferenceContigs, ReferencePages};

/// Resources that a thread lends to all programs while they count its reads: the reference, the
/// groups of reads, and the limit of memory.
pub struct ReadContext<'a> {
    /// The reference, if the run has one and a program compares reads with it.
    pub(crate) reference: Option<&'a ReferenceContigs>,
    /// The window of the reference that this thread has read.
    pub(crate) pages: ReferencePages,
    pub(crate) levels: &'a Levels,
    /// Limits the memory of counts that grow with the reads, such as histograms of insert sizes.
    pub(crate) room: &'a CountingRoom,
}

impl<'a> ReadContext<'a> {
    pub(crate) fn new(
        reference: Option<&'a ReferenceContigs>,
        levels: &'a Levels,
        room: &'a CountingRoom,
    ) -> Self {
        ReadContext { reference, pages: ReferencePages::default(), levels, room }
    }
}

/// The counts of one program on one thread, as a trait object. [`ReadMetric`](crate::ReadMetric)
/// implements it for every program.
pub trait ReadCollector: Send {
    /// Returns whether the program also counts secondary and supplementary records
    /// ([`ReadMetric::COUNTS_ALL_RECORDS`](crate::ReadMetric::COUNTS_ALL_RECORDS)).
    fn counts_all_records(&self) -> bool;

    /// Adds those of the records that the program counts, in their order.
    ///
    /// # Errors
    /// Fails if [`ReadMetric::count_read`](crate::ReadMetric::count_read) fails.
    fn count_reads(&mut self, reads: &[PreparedRead<'_>], context: &mut ReadContext<'_>) -> Result<()>;

    /// Completes intermediate sums after each batch, see
    /// [`ReadMetric::flush_sums`](crate::ReadMetric::flush_sums).
    fn flush_sums(&mut self);

    /// Adds the counts of this thread to the counts of the run. Called when the thread has no more
    /// reads.
    fn merge_into_total(self: Box<Self>);
}

/// Separate counts for each group of read groups, see [`Levels`]. Each row of a metrics file is the
/// sum of one or more groups.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ByGroup<T>(Vec<T>);

impl<T: Clone + Default> ByGroup<T> {
    /// Returns the counts of a group. The list is allocated at the first call, and its memory is
    /// charged.
    ///
    /// # Errors
    /// The memory limit does not allow it.
    #[inline]
    pub fn group_counts(&mut self, group: usize, context: &ReadContext<'_>) -> Result<&mut T> {
        let groups = context.levels.groups;
        context.room.lengthen_list(&mut self.0, groups, groups)?;
        Ok(&mut self.0[group])
    }

    /// Adds the counts of another thread, group by group, with `merge`.
    pub fn merge_groups(&mut self, from: Self, merge: impl Fn(&mut T, &T)) {
        if self.0.is_empty() {
            self.0 = from.0;
        } else {
            self.0.iter_mut().zip(&from.0).for_each(|(into, from)| merge(into, from));
        }
    }

    /// Returns each row of the file with the sum of the counts of its groups.
    pub fn sum_by_unit<'a>(
        &self,
        levels: &'a Levels,
        merge: impl Fn(&mut T, &T),
    ) -> Vec<(&'a MetricsUnit, T)> {
        let sum = |unit: &MetricsUnit| {
            let mut sum = T::default();
            unit.groups.iter().filter_map(|&group| self.0.get(group)).for_each(|it| merge(&mut sum, it));
            sum
        };
        levels.units.iter().map(|unit| (unit, sum(unit))).collect()
    }
}
