//! Tallies of any kind in a run: each thread learns by itself, and its part is added when the thread is done.

use std::sync::{Mutex, PoisonError};

use readmill_record::Tally;
use readmill_record::{Batch, Result};

/// A tally with what it has learnt so far, as a run takes it.
pub trait DynTally: Send + Sync {
    /// A thread's part in it.
    fn worker(&self) -> Box<dyn TallyWorker + '_>;

    /// Forgets what was learnt.
    fn reset(&self);
}

/// A thread's part in a tally.
pub trait TallyWorker: Send {
    /// Learns from the reads of a batch.
    fn observe(&mut self, batch: &Batch) -> Result<()>;

    /// Adds what was learnt to the whole.
    fn merge(self: Box<Self>);
}

/// A tally, and what all threads have learnt.
pub struct SharedTally<T: Tally> {
    tally: T,
    total: Mutex<T::Partial>,
}

impl<T: Tally> SharedTally<T> {
    /// Nothing learnt yet.
    pub fn new(tally: T) -> Self {
        SharedTally { tally, total: Mutex::default() }
    }

    /// The result, once the run is over; what was learnt is taken out.
    pub fn total(&self) -> Result<T::Total> {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        self.tally.finish(std::mem::take(&mut *total))
    }
}

impl<T: Tally> DynTally for SharedTally<T> {
    fn worker(&self) -> Box<dyn TallyWorker + '_> {
        Box::new(SharedTallyWorker { shared: self, partial: T::Partial::default() })
    }

    fn reset(&self) {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) = T::Partial::default();
    }
}

struct SharedTallyWorker<'a, T: Tally> {
    shared: &'a SharedTally<T>,
    partial: T::Partial,
}

impl<T: Tally> TallyWorker for SharedTallyWorker<'_, T> {
    fn observe(&mut self, batch: &Batch) -> Result<()> {
        self.shared.tally.observe(&mut self.partial, batch)
    }

    fn merge(self: Box<Self>) {
        let mut total = self.shared.total.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.tally.merge(&mut total, self.partial);
    }
}
