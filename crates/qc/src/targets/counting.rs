//! The count of a run, which takes pieces in their order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_record::{OrderedTally, Result};

use super::join::{TargetJoin, TargetTotals};
use super::maker::TargetMaker;
use super::piece::TargetPiece;
use super::rules::TargetRules;
use crate::adapters::{Adapters, DEFAULT_ADAPTERS};
use crate::depth::sensitivity;
use crate::depth::{ORDERED_MEMORY, USUAL_PIECE_BYTES};
use crate::levels::Levels;

/// The count of a run.
pub(crate) struct TargetCounting {
    pub(super) rules: Vec<TargetRules>,
    pub(super) adapters: Adapters,
    pub(super) levels: Arc<Levels>,
    /// How many rows a table has, and the numbers of those to which each group of reads adds.
    pub(super) units: usize,
    pub(super) units_of_group: Vec<Vec<usize>>,
    join: Mutex<TargetJoin>,
}

impl TargetCounting {
    /// Bytes of memory of a thread that makes pieces.
    pub(crate) const THREAD_BYTES: u64 = 1 << 20;

    /// The count by the rules of each program.
    pub(crate) fn new(rules: Vec<TargetRules>, levels: &Arc<Levels>) -> Arc<Self> {
        let (units, units_of_group) = levels.rows();
        Arc::new(TargetCounting {
            join: Mutex::new(TargetJoin::new(&rules, units)),
            rules,
            adapters: Adapters::new(&DEFAULT_ADAPTERS),
            levels: Arc::clone(levels),
            units,
            units_of_group,
        })
    }

    /// Bytes of memory of its result and the text of that, as far as it does not grow with the depth.
    pub(crate) fn result_bytes(&self) -> u64 {
        let each = |rules: &TargetRules| {
            let cap = u64::from(rules.cap) + 1;
            let targets = rules.targets.intervals().len() as u64;
            let per_target = if rules.per_target { 160 } else { 0 };
            self.units as u64 * (targets * (64 + per_target) + 64 * cap + (1 << 14))
                + sensitivity::bytes(cap)
        };
        self.rules.iter().map(each).sum()
    }

    /// Returns the totals of all pieces: by the rules of each program, what is known of each row.
    pub(crate) fn finish(&self) -> Vec<Vec<TargetTotals>> {
        let empty = TargetJoin::new(&self.rules, self.units);
        std::mem::replace(&mut *self.join(), empty).finish(&self.rules)
    }

    fn join(&self) -> MutexGuard<'_, TargetJoin> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OrderedTally for TargetCounting {
    const MEMORY: &'static str = ORDERED_MEMORY;
    const USUAL_PIECE_BYTES: u64 = USUAL_PIECE_BYTES;
    const TRIMS: bool = true;
    type Piece = TargetPiece;
    type Maker = TargetMaker;

    fn maker(self: &Arc<Self>) -> TargetMaker {
        TargetMaker::new(Arc::clone(self))
    }

    fn piece_bytes(piece: &TargetPiece) -> u64 {
        piece.heap_bytes()
    }

    fn max_bytes_to_add(&self, piece: &TargetPiece) -> u64 {
        self.heap_bytes() + TargetJoin::growth(piece)
    }

    /// Includes what grew with the depth of the targets.
    fn heap_bytes(&self) -> u64 {
        self.join().heap_bytes()
    }

    fn restart(&self) -> Result<()> {
        *self.join() = TargetJoin::new(&self.rules, self.units);
        Ok(())
    }

    fn add(&self, piece: TargetPiece) -> Result<()> {
        self.join().add(piece, &self.rules)
    }
}
