//! What is counted of the parts of an output, in their order: one piece for each ordered tally of the run.

use std::sync::Arc;

use readmill_record::{Batch, BatchCounter, DynOrderedTally, OrderedPiece, Result};

/// The ordered tallies of a run, in the order in which their pieces are stored.
pub type OrderedTallies = Vec<Arc<dyn DynOrderedTally>>;

/// How parts are counted.
#[derive(Clone, Default)]
pub struct CountSettings {
    pub tallies: OrderedTallies,
    /// Bases of the reference that the longest read of the job spans: parts that are stored leave out what no other part
    /// can reach. `None` if parts are not stored.
    pub max_span: Option<u32>,
}

/// The pieces of a part of the output, one for each tally.
pub struct PartCounts(Vec<OrderedPiece>);

/// Counts parts on one thread.
pub struct PartCounter {
    counters: Vec<Box<dyn BatchCounter>>,
    max_span: Option<u32>,
}

impl CountSettings {
    /// Returns one thread's counter; `None` if nothing is counted.
    pub fn counter(&self) -> Option<PartCounter> {
        let counters = self.tallies.iter().map(|tally| tally.counter()).collect();
        (!self.tallies.is_empty()).then_some(PartCounter { counters, max_span: self.max_span })
    }
}

impl PartCounter {
    /// Counts a batch.
    ///
    /// # Errors
    /// The reads are not sorted by coordinate, or the memory is not free.
    pub fn count(&mut self, batch: &Batch) -> Result<PartCounts> {
        let counters = self.counters.iter_mut();
        counters
            .map(|counter| counter.count(batch, self.max_span))
            .collect::<Result<_>>()
            .map(PartCounts)
    }
}

impl PartCounts {
    /// Appends the pieces to `bytes`; returns how many bytes were added.
    ///
    /// # Errors
    /// A piece cannot be encoded.
    pub fn store(&self, bytes: &mut Vec<u8>) -> Result<u64> {
        let before = bytes.len();
        self.0.iter().try_for_each(|piece| piece.store(bytes))?;
        Ok((bytes.len() - before) as u64)
    }

    /// Reads what [`PartCounts::store`] has written for a part that the same tallies counted.
    ///
    /// # Errors
    /// The bytes are not those pieces, or their memory is not free.
    pub fn load(mut bytes: &[u8], tallies: &OrderedTallies) -> Result<Self> {
        let mut pieces = Vec::with_capacity(tallies.len());
        for tally in tallies {
            let (piece, rest) = tally.load(bytes)?;
            pieces.push(piece);
            bytes = rest;
        }
        Ok(PartCounts(pieces))
    }

    /// Adds each piece to its tally. Parts are added in the order of the output.
    ///
    /// # Errors
    /// The reads lie before those of the part before, the memory of what waits is not free, or a file of a tally
    /// cannot be written.
    pub fn add_to(self, tallies: &OrderedTallies) -> Result<()> {
        tallies.iter().zip(self.0).try_for_each(|(tally, piece)| tally.add(piece))
    }
}
