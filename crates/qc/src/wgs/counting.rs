//! The shared state of the programs for whole genomes in a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_format::intervals::Intervals;

use super::join::{WgsJoin, WgsTotals};
use super::rules::WgsRules;
use super::territory::Territory;
use crate::adapters::{Adapters, DEFAULT_ADAPTERS};
use crate::depth::reads::Reads;
use crate::reference::ReferenceContigs;

/// The state of the programs for whole genomes in a run.
///
/// It is an ordered tally. On any thread, a `WgsMaker` selects the reads and bases of a batch that
/// count, and counts their depths in a `WgsPiece`. [`WgsJoin`] adds the pieces in read order: it
/// handles mates and caps across pieces, and counts positions by depth once no later read can cover
/// them. [`take_totals`](Self::take_totals) returns the totals.
pub(crate) struct WgsCounting {
    pub(super) rules: Vec<WgsRules>,
    pub(super) reference: ReferenceContigs,
    pub(super) intervals: Option<Intervals>,
    pub(super) adapters: Adapters,
    contigs: u32,
    join: Mutex<WgsJoin>,
    spare: Mutex<Vec<Reads>>,
}

/// Maximum number of empty lists of reads that are kept, so that their memory can be reused.
const MAX_SPARE: usize = 8;

impl WgsCounting {
    pub(crate) const THREAD_BYTES: u64 = ReferenceContigs::THREAD_BYTES + (1 << 20);

    /// Creates the count with these rules, for a header with this number of contigs. Counts only
    /// within `intervals`, if given.
    pub(crate) fn new(
        rules: Vec<WgsRules>,
        reference: ReferenceContigs,
        intervals: Option<Intervals>,
        contigs: u32,
    ) -> Arc<Self> {
        Arc::new(WgsCounting {
            join: Mutex::new(WgsJoin::new(&rules, intervals.as_ref())),
            spare: Mutex::default(),
            rules,
            reference,
            intervals,
            adapters: Adapters::new(&DEFAULT_ADAPTERS),
            contigs,
        })
    }

    pub(super) fn bytes_of_lists(&self) -> u64 {
        self.lock_spare().iter().map(|reads| reads.heap_bytes() as u64).sum()
    }

    /// Keeps the memory of a list of reads for [`WgsCounting::empty_reads`]. Reads are discarded.
    pub(super) fn keep_for_reuse(&self, mut reads: Reads) {
        let mut spare = self.lock_spare();
        if spare.len() < MAX_SPARE {
            reads.clear();
            spare.push(reads);
        }
    }

    /// Returns an empty list of reads, with the memory of an earlier list if possible, because
    /// allocating is slow.
    pub(super) fn empty_reads(&self) -> Reads {
        self.lock_spare().pop().unwrap_or_default()
    }

    /// Returns the totals of all pieces, for each of the rules, and resets them.
    pub(crate) fn take_totals(&self) -> Vec<WgsTotals> {
        std::mem::replace(&mut *self.lock_join(), self.empty_join()).into_totals()
    }

    pub(super) fn territory(&self) -> Territory<'_> {
        Territory {
            reference: &self.reference,
            intervals: self.intervals.as_ref(),
            contigs: self.contigs,
        }
    }

    pub(super) fn empty_join(&self) -> WgsJoin {
        WgsJoin::new(&self.rules, self.intervals.as_ref())
    }

    fn lock_spare(&self) -> MutexGuard<'_, Vec<Reads>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lock_join(&self) -> MutexGuard<'_, WgsJoin> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
