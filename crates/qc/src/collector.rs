//! One thread's counts of all programs, and what they share.

use readmill_record::{CountingRoom, Result};
use serde::{Deserialize, Serialize};

use crate::levels::{Levels, Unit};
use crate::read::PreparedRead;
use crate::reference::{ReferenceContigs, ReferencePages};

/// What a thread lends to all programs while they count its reads.
pub struct ReadContext<'a> {
    /// The reference, if the run has one and a program compares reads with it.
    pub(crate) reference: Option<&'a ReferenceContigs>,
    /// Pages of the reference that this thread has read.
    pub(crate) pages: ReferencePages,
    pub(crate) levels: &'a Levels,
    /// Pays for counts that grow with the reads.
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

/// One thread's counts of one program.
pub trait ReadCollector: Send {
    /// Whether it wants secondary and supplementary records, too ([`ReadMetric::COUNTS_ALL_RECORDS`](crate::ReadMetric::COUNTS_ALL_RECORDS)).
    fn counts_all_records(&self) -> bool;

    /// Counts a read: the one virtual call of a read and program.
    ///
    /// # Errors
    /// As [`ReadMetric::add`](crate::ReadMetric::add).
    fn add(&mut self, read: &PreparedRead<'_>, context: &mut ReadContext<'_>) -> Result<()>;

    /// See [`ReadMetric::flush`](crate::ReadMetric::flush).
    fn flush(&mut self);

    /// Merges the counts into those of the run.
    fn merge(self: Box<Self>);
}

/// Counts of each group of reads, of which the rows of a file are sums.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ByGroup<T>(Vec<T>);

impl<T: Clone + Default> ByGroup<T> {
    /// Returns the counts of a group.
    #[inline]
    pub fn of(&mut self, group: usize, context: &ReadContext<'_>) -> Result<&mut T> {
        let groups = context.levels.groups;
        context.room.lengthen_list(&mut self.0, groups, groups)?;
        Ok(&mut self.0[group])
    }

    /// Adds the counts of another thread, each by `merge`.
    pub fn merge(&mut self, from: Self, merge: impl Fn(&mut T, &T)) {
        if self.0.is_empty() {
            self.0 = from.0;
        } else {
            self.0.iter_mut().zip(&from.0).for_each(|(into, from)| merge(into, from));
        }
    }

    /// Returns each unit with the sum of the counts of its groups.
    pub fn sums<'a>(&self, levels: &'a Levels, merge: impl Fn(&mut T, &T)) -> Vec<(&'a Unit, T)> {
        let sum = |unit: &Unit| {
            let mut sum = T::default();
            unit.groups.iter().filter_map(|&group| self.0.get(group)).for_each(|it| merge(&mut sum, it));
            sum
        };
        levels.units.iter().map(|unit| (unit, sum(unit))).collect()
    }
}
