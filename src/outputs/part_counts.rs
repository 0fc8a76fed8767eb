//! The counts of an output's parts, in output order: one piece for each ordered tally of the run.

use std::sync::Arc;

use readmill_record::{Batch, BatchCounter, DynOrderedTally, OrderedPiece, Result};

/// The ordered tallies of a run, in the order in which their pieces are stored.
pub type OrderedTallies = Vec<Arc<dyn DynOrderedTally>>;

/// Which tallies count the parts.
#[derive(Clone, Default)]
pub struct CountSettings {
    pub tallies: OrderedTallies,
    /// The span, in reference bases, of the longest read of the job. Stored pieces omit what no
    /// other part can reach. `None` if parts are not stored.
    pub max_span: Option<u32>,
}

/// The pieces of one output part, one for each tally.
pub struct PartCounts(Vec<OrderedPiece>);

/// Counts parts on one thread.
pub struct PartCounter {
    counters: Vec<Box<dyn BatchCounter>>,
    max_span: Option<u32>,
}

impl CountSettings {
    /// Returns a counter for one thread, or `None` if nothing is counted.
    pub fn counter(&self) -> Option<PartCounter> {
        let counters = self.tallies.iter().map(|tally| tally.new_counter()).collect();
        (!self.tallies.is_empty()).then_some(PartCounter { counters, max_span: self.max_span })
    }
}

impl PartCounter {
    /// Counts a batch.
    ///
    /// # Errors
    /// Fails if the reads are not sorted by coordinate, or if there is too little memory.
    pub fn count(&mut self, batch: &Batch) -> Result<PartCounts> {
        let counters = self.counters.iter_mut();
        counters
            .map(|counter| counter.count(batch, self.max_span))
            .collect::<Result<_>>()
            .map(PartCounts)
    }
}

impl PartCounts {
    /// Appends the pieces to `bytes`, and returns the number of bytes added.
    ///
    /// # Errors
    /// Fails if a piece cannot be encoded.
    pub fn store(&self, bytes: &mut Vec<u8>) -> Result<u64> {
        let before = bytes.len();
        self.0.iter().try_for_each(|piece| piece.store(bytes))?;
        Ok((bytes.len() - before) as u64)
    }

    /// Reads pieces that [`PartCounts::store`] wrote with the same tallies.
    ///
    /// # Errors
    /// Fails if `bytes` does not contain these pieces, or if there is too little memory.
    pub fn load(mut bytes: &[u8], tallies: &OrderedTallies) -> Result<Self> {
        let mut pieces = Vec::with_capacity(tallies.len());
        for tally in tallies {
            let (piece, rest) = tally.load(bytes)?;
            pieces.push(piece);
            bytes = rest;
        }
        Ok(PartCounts(pieces))
    }

    /// Adds each piece to its tally. Parts must be added in output order.
    ///
    /// # Errors
    /// Fails if the reads belong before those of the previous part, if there is too little memory
    /// for pending counts, or if a file of a tally cannot be written.
    pub fn add_to(self, tallies: &OrderedTallies) -> Result<()> {
        tallies.iter().zip(self.0).try_for_each(|(tally, piece)| tally.add(piece))
    }
}
