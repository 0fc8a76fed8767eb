//! The count of what depends on the order of reads, for a run: any thread makes the piece of a batch, and pieces are taken in
//! their order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_record::{OrderedTally, Result};

use super::join::{OrderTotals, StatsJoin};
use super::piece::{StatsPiece, StatsPieceMaker};
use super::settings::StatsSettings;

/// The count of what depends on the order of reads.
#[derive(Debug)]
pub struct StatsOrder {
    settings: Arc<StatsSettings>,
    /// `None` before the first piece.
    join: Mutex<Option<StatsJoin>>,
}

impl StatsOrder {
    /// The count by these settings.
    pub fn new(settings: StatsSettings) -> Self {
        StatsOrder { settings: Arc::new(settings), join: Mutex::default() }
    }

    pub(super) fn settings(&self) -> &Arc<StatsSettings> {
        &self.settings
    }

    /// A contig of the file of regions that the header lacks, if there is one.
    pub fn unknown_contig(&self) -> Option<&str> {
        self.settings.targets.as_ref()?.unknown.as_deref()
    }

    /// Returns the totals of all pieces; `None` if no pieces were expected, so that the order of reads is not known.
    pub(super) fn finish(&self) -> Option<OrderTotals> {
        self.join().take().map(StatsJoin::finish)
    }

    fn empty_join(&self) -> StatsJoin {
        let options = &self.settings.options;
        StatsJoin::new(options.gc_bin, options.remove_overlaps)
    }

    fn join(&self) -> MutexGuard<'_, Option<StatsJoin>> {
        self.join.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OrderedTally for StatsOrder {
    const MEMORY: &'static str = "depths of statistics";
    const USUAL_PIECE_BYTES: u64 = 1 << 18;
    type Piece = StatsPiece;
    type Maker = StatsPieceMaker;

    fn maker(self: &Arc<Self>) -> StatsPieceMaker {
        StatsPieceMaker::new(&self.settings)
    }

    fn piece_bytes(piece: &StatsPiece) -> u64 {
        piece.heap_bytes()
    }

    fn max_bytes_to_add(&self, piece: &StatsPiece) -> u64 {
        self.join()
            .as_ref()
            .map_or_else(|| self.empty_join().most_bytes(piece), |it| it.most_bytes(piece))
    }

    fn heap_bytes(&self) -> u64 {
        self.join().as_ref().map_or(0, StatsJoin::heap_bytes)
    }

    fn begin(&self) {
        *self.join() = Some(self.empty_join());
    }

    fn restart(&self) -> Result<()> {
        self.begin();
        Ok(())
    }

    fn add(&self, piece: StatsPiece) -> Result<()> {
        self.join().get_or_insert_with(|| self.empty_join()).add(piece);
        Ok(())
    }
}
