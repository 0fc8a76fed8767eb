//! Tallies of any kind in a run: each thread learns by itself, and its part is added when the thread is done.

use std::sync::{Mutex, PoisonError};

use readmill_record::Tally;
use readmill_record::{Batch, Result};

/// A tally with what it has learnt so far, as a run takes it.
pub trait Watch: Send + Sync {
    /// A thread's part in it.
    fn watcher(&self) -> Box<dyn Watcher + '_>;

    /// Forgets what was learnt.
    fn reset(&self);
}

/// A thread's part in a tally.
pub trait Watcher: Send {
    /// Learns from the reads of a batch.
    fn observe(&mut self, batch: &Batch) -> Result<()>;

    /// Adds what was learnt to the whole.
    fn keep(self: Box<Self>);
}

/// A tally, and what all threads have learnt.
pub struct Watched<T: Tally> {
    tally: T,
    total: Mutex<T::Partial>,
}

impl<T: Tally> Watched<T> {
    /// Nothing learnt yet.
    pub fn new(tally: T) -> Self {
        Watched { tally, total: Mutex::default() }
    }

    /// The result, once the run is over; what was learnt is taken out.
    pub fn total(&self) -> Result<T::Total> {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        self.tally.finish(std::mem::take(&mut *total))
    }
}

impl<T: Tally> Watch for Watched<T> {
    fn watcher(&self) -> Box<dyn Watcher + '_> {
        Box::new(Part { whole: self, learnt: T::Partial::default() })
    }

    fn reset(&self) {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) = T::Partial::default();
    }
}

struct Part<'a, T: Tally> {
    whole: &'a Watched<T>,
    learnt: T::Partial,
}

impl<T: Tally> Watcher for Part<'_, T> {
    fn observe(&mut self, batch: &Batch) -> Result<()> {
        self.whole.tally.observe(&mut self.learnt, batch)
    }

    fn keep(self: Box<Self>) {
        let mut total = self.whole.total.lock().unwrap_or_else(PoisonError::into_inner);
        self.whole.tally.merge(&mut total, self.learnt);
    }
}
