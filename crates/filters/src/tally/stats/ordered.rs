//! The count of what depends on the order of reads, for a run: any thread makes the piece of a batch, and pieces are taken in
//! their order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_record::{Charge, Result};

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
    /// The name of its memory.
    pub const NAME: &'static str = "depths of statistics";

    /// Bytes of memory of a piece, as a rule.
    pub const USUAL_PIECE: u64 = 1 << 18;

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

    /// One thread's maker of pieces.
    pub fn maker(&self) -> StatsPieceMaker {
        StatsPieceMaker::new(&self.settings)
    }

    /// Expects pieces: without any, the order of reads is not known.
    pub fn begin(&self) {
        *self.join() = Some(self.empty_join());
    }

    /// Takes the next piece. The memory of all that waits is paid by `charge`.
    ///
    /// # Errors
    /// It is not free.
    pub fn take(&self, piece: StatsPiece, charge: &mut Charge) -> Result<()> {
        let mut join = self.join();
        let join = join.get_or_insert_with(|| self.empty_join());
        charge.around(join.most_bytes(&piece), || {
            join.add(piece);
            Ok(((), join.heap_bytes()))
        })
    }

    /// The totals of all pieces; `None` if none were expected.
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
