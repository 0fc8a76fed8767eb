//! The shared state of the programs for targets in a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::join::{TargetJoin, TargetTotals};
use super::rules::TargetRules;
use crate::adapters::{Adapters, DEFAULT_ADAPTERS};
use crate::depth::USUAL_PIECE_BYTES;
use crate::depth::sensitivity;
use crate::levels::Levels;

/// The state of the programs for targets in a run.
///
/// It is an ordered tally. On any thread, a `TargetMaker` applies Picard's filters to the reads of
/// a batch, and counts bases and depths in a `TargetPiece`, for each row of the tables.
/// [`TargetJoin`] adds the pieces in read order, and closes a position once no later read can cover
/// it. [`take_totals`](Self::take_totals) returns the totals.
pub(crate) struct TargetCounting {
    pub(super) rules: Vec<TargetRules>,
    pub(super) adapters: Adapters,
    pub(super) levels: Arc<Levels>,
    /// Number of rows of a table and, for each group of reads, the rows to which it belongs, see
    /// [`Levels::rows_by_group`].
    pub(super) units: usize,
    pub(super) units_of_group: Vec<Vec<usize>>,
    /// Usual memory in bytes of a piece.
    pub(super) usual_piece_bytes: u64,
    join: Mutex<TargetJoin>,
}

impl TargetCounting {
    pub(crate) const THREAD_BYTES: u64 = 1 << 20;

    pub(crate) fn new(rules: Vec<TargetRules>, levels: &Arc<Levels>) -> Arc<Self> {
        let (units, units_of_group) = levels.rows_by_group();
        let max_rows = units_of_group.iter().map(Vec::len).max().unwrap_or(0);
        Arc::new(TargetCounting {
            usual_piece_bytes: (rules.len() * max_rows) as u64 * USUAL_PIECE_BYTES,
            join: Mutex::new(TargetJoin::new(&rules, units)),
            rules,
            adapters: Adapters::new(&DEFAULT_ADAPTERS),
            levels: Arc::clone(levels),
            units,
            units_of_group,
        })
    }

    /// Returns the memory in bytes of the result and its text, without the part that grows with the
    /// depth.
    pub(crate) fn result_bytes(&self) -> u64 {
        let each = |rules: &TargetRules| {
            let cap = u64::from(rules.cap) + 1;
            let targets = rules.targets.intervals().len() as u64;
            let per_target = if rules.per_target { 160 } else { 0 };
            self.units as u64 * (targets * (64 + per_target) + 64 * cap + (1 << 14))
                + sensitivity::memory_bytes(cap)
        };
        self.rules.iter().map(each).sum()
    }

    /// Returns the totals of all pieces and resets them: for each program, one for each row.
    pub(crate) fn take_totals(&self) -> Vec<Vec<TargetTotals>> {
        let empty = TargetJoin::new(&self.rules, self.units);
        std::mem::replace(&mut *self.lock_join(), empty).into_totals(&self.rules)
    }

    pub(super) fn lock_join(&self) -> MutexGuard<'_, TargetJoin> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
