//! The statistics that depend on the order of reads, as an [`OrderedTally`] of a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_record::{OrderedTally, Result};

use super::join::{OrderTotals, StatsJoin};
use super::piece::{StatsPiece, StatsPieceMaker};
use super::settings::StatsSettings;

/// Counts depths, and depth by GC, from pieces that are added in read order.
///
/// A run with `--stats` on a sorted main output has one, and makes a [`Stats`](super::Stats) with it
/// that writes the result ([`Stats::in_order`](super::Stats::in_order)):
///
/// ```
/// use std::sync::Arc;
///
/// use readmill_stats::Stats;
/// use readmill_stats::stats::{StatsOrder, StatsPiece, StatsSettings};
/// use readmill_record::{OrderedTally, Tally};
///
/// let order = Arc::new(StatsOrder::new(StatsSettings::default()));
/// order.begin();
/// order.add(StatsPiece::default())?; // a batch without reads
/// let counts = Stats::in_order(true, &order).finish(Default::default())?;
/// assert!(counts.to_text().contains("# Coverage distribution."));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Debug)]
pub struct StatsOrder {
    settings: Arc<StatsSettings>,
    join: Mutex<Option<StatsJoin>>,
}

impl StatsOrder {
    pub fn new(settings: StatsSettings) -> Self {
        StatsOrder { settings: Arc::new(settings), join: Mutex::default() }
    }

    pub(super) fn settings(&self) -> &Arc<StatsSettings> {
        &self.settings
    }

    /// Returns the first contig of the target file that the header lacks, for a warning.
    pub fn unknown_contig(&self) -> Option<&str> {
        self.settings.targets.as_ref()?.unknown.as_deref()
    }

    /// Returns the totals of all pieces. `None` if neither `begin` nor `add` was called: then nothing is
    /// known about the order of reads.
    pub(super) fn take_totals(&self) -> Option<OrderTotals> {
        self.lock_join().take().map(StatsJoin::finish)
    }

    fn empty_join(&self) -> StatsJoin {
        let options = &self.settings.options;
        StatsJoin::new(options.gc_bin, options.remove_overlaps)
    }

    fn lock_join(&self) -> MutexGuard<'_, Option<StatsJoin>> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StatsOrder {
    pub const USUAL_PIECE_BYTES: u64 = 1 << 18;
}

impl OrderedTally for StatsOrder {
    const MEMORY: &'static str = "depths of statistics";
    type Piece = StatsPiece;
    type Maker = StatsPieceMaker;

    fn new_maker(self: &Arc<Self>) -> StatsPieceMaker {
        StatsPieceMaker::new(&self.settings)
    }

    fn usual_piece_bytes(&self) -> u64 {
        Self::USUAL_PIECE_BYTES
    }

    fn piece_bytes(piece: &StatsPiece) -> u64 {
        piece.heap_bytes()
    }

    fn max_bytes_to_add(&self, piece: &StatsPiece) -> u64 {
        self.lock_join()
            .as_ref()
            .map_or_else(|| self.empty_join().max_bytes_to_add(piece), |it| it.max_bytes_to_add(piece))
    }

    fn heap_bytes(&self) -> u64 {
        self.lock_join().as_ref().map_or(0, StatsJoin::heap_bytes)
    }

    fn begin(&self) {
        *self.lock_join() = Some(self.empty_join());
    }

    fn restart(&self) -> Result<()> {
        self.begin();
        Ok(())
    }

    fn add(&self, piece: StatsPiece) -> Result<()> {
        self.lock_join().get_or_insert_with(|| self.empty_join()).add_piece(piece);
        Ok(())
    }
}
