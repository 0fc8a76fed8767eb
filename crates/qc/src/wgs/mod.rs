//! CollectWgsMetrics, CollectRawWgsMetrics and CollectWgsMetricsWithNonZeroCoverage: how deep the positions of the
//! reference are covered, and which bases do not count.
//!
//! | subject | module |
//! |---|---|
//! | what a batch of sorted reads adds: any thread makes it | `maker`, `reads` |
//! | its depths, where reads of one name count once | `depths` |
//! | pieces, in their order, become numbers of positions by depth | `join` |
//! | reads beyond LOCUS_ACCUMULATION_CAP | `locus_cap` |
//! | positions of the reference that count | `territory` |
//! | sensitivity to heterozygous SNPs | `sensitivity` |
//! | the files | `table` |
//!
//! ```text
//!  batch ─► WgsMaker ─► WgsPiece ─┐ any thread
//!                                 ▼ in order
//!                              WgsJoin ─► WgsTotals ─► files
//! ```
//!
//! A piece has its reads beside their depths: which bases count where a position is deeper than COVERAGE_CAP depends on the
//! reads before it. The results do not depend on where pieces begin.

mod depths;
mod join;
mod locus_cap;
mod maker;
mod reads;
mod sensitivity;
mod table;
mod territory;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_format::intervals::Intervals;
use readmill_record::Result;

pub(crate) use join::WgsTotals;
pub(crate) use maker::WgsMaker;
pub(crate) use reads::WgsPiece;
pub(crate) use table::put;
pub use territory::{TerritoryPiece, TerritoryScan};

use crate::adapters::{Adapters, DEFAULT_ADAPTERS};
use crate::options::{Options, Program};
use crate::reference::ReferenceContigs;
use join::WgsJoin;

/// The rules by which a program counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WgsRules {
    /// Reads of a lower mapping quality do not count.
    pub least_mapq: u8,
    /// Bases of a lower quality do not count. It is above 2, and at most 128.
    pub least_qual: u8,
    /// Deeper positions count as of this depth.
    pub cap: u32,
    /// Reads that start where so many lie are left out.
    pub locus_cap: u32,
    /// Whether reads without a mapped mate count.
    pub count_unpaired: bool,
}

/// Bases of lower qualities never count.
const LEAST_QUAL: u8 = 3;

/// The quality above all that count.
const NO_QUAL: u8 = 128;

impl WgsRules {
    /// The rules of a program, if it counts depths.
    fn of(program: Program, options: &Options) -> Option<Self> {
        let (mapq, qual, cap, locus_cap) = match program {
            Program::CollectWgsMetrics | Program::CollectWgsMetricsWithNonZeroCoverage => {
                (20, 20, 250, 100_000)
            }
            Program::CollectRawWgsMetrics => (0, 3, 100_000, 200_000),
            _ => return None,
        };
        let cap = options.coverage_cap.unwrap_or(cap);
        let qual = options.minimum_base_quality.unwrap_or(qual);
        Some(WgsRules {
            least_mapq: options.minimum_mapping_quality.unwrap_or(mapq),
            least_qual: qual.clamp(LEAST_QUAL, NO_QUAL),
            cap,
            locus_cap: options.locus_accumulation_cap.unwrap_or(locus_cap).max(cap),
            count_unpaired: options.count_unpaired,
        })
    }

    /// The rules that differ among the programs that are wanted.
    fn all(options: &Options) -> Vec<WgsRules> {
        let mut all = Vec::new();
        for rules in options.programs.iter().filter_map(|&program| WgsRules::of(program, options)) {
            if !all.contains(&rules) {
                all.push(rules);
            }
        }
        all
    }
}

/// The count of depths of a run.
pub(crate) struct WgsCounting {
    rules: Vec<WgsRules>,
    reference: ReferenceContigs,
    intervals: Option<Intervals>,
    adapters: Adapters,
    contigs: u32,
    join: Mutex<WgsJoin>,
}

impl WgsCounting {
    /// Bytes of memory of a thread that makes pieces.
    pub(crate) const THREAD_BYTES: u64 = ReferenceContigs::THREAD_BYTES + (1 << 20);

    /// The count for the programs that are wanted, of reads on so many `contigs`, within `intervals` if there are any; `None` if none of them counts depths.
    pub(crate) fn new(
        options: &Options,
        reference: Option<&ReferenceContigs>,
        intervals: Option<Intervals>,
        contigs: u32,
    ) -> Option<Arc<Self>> {
        let rules = WgsRules::all(options);
        let reference = reference.filter(|_| !rules.is_empty())?.clone();
        Some(Arc::new(WgsCounting {
            join: Mutex::new(WgsJoin::new(&rules, intervals.as_ref())),
            rules,
            reference,
            intervals,
            adapters: Adapters::new(&DEFAULT_ADAPTERS),
            contigs,
        }))
    }

    /// Bytes of memory of its result and the text of that.
    pub(crate) fn result_bytes(&self) -> u64 {
        let each = |rules: &WgsRules| {
            let cap = u64::from(rules.cap) + 1;
            64 * cap + sensitivity::bytes(cap)
        };
        self.rules.iter().map(each).sum()
    }

    /// One thread's maker of pieces.
    pub fn maker(self: &Arc<Self>) -> WgsMaker {
        WgsMaker::new(Arc::clone(self))
    }

    /// Takes the next piece. Returns the bytes of memory of reads that wait for those behind them.
    ///
    /// # Errors
    /// Its reads lie before those of the piece ahead of it.
    pub fn take(&self, piece: WgsPiece) -> Result<u64> {
        let mut join = self.join();
        join.add(piece)?;
        Ok(join.heap_bytes())
    }

    /// Forgets all pieces.
    pub fn restart(&self) {
        *self.join() = self.empty_join();
    }

    /// The totals of all pieces, by the rules.
    pub(crate) fn finish(&self) -> Vec<WgsTotals> {
        std::mem::replace(&mut *self.join(), self.empty_join()).finish()
    }

    /// The number of a program's rules.
    pub(crate) fn rules_of(&self, program: Program, options: &Options) -> Option<usize> {
        let rules = WgsRules::of(program, options)?;
        self.rules.iter().position(|it| *it == rules)
    }

    /// The scan of the reference for positions that count.
    pub(crate) fn scan(&self) -> TerritoryScan {
        TerritoryScan::new(self.reference.clone(), self.intervals.clone(), self.contigs)
    }

    fn empty_join(&self) -> WgsJoin {
        WgsJoin::new(&self.rules, self.intervals.as_ref())
    }

    fn join(&self) -> MutexGuard<'_, WgsJoin> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
