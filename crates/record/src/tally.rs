//! The trait of all tallies of a pipeline, and tallies of any kind as trait objects: each thread tallies by itself, and its
//! part is merged when the thread is done.

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::batch::Batch;
use crate::detail::Detail;
use crate::error::{Error, Result};

/// Counts something of reads without changing them.
///
/// The counts of all threads are merged at the end, in any order: they must be integers, so that the result
/// is the same for any number of threads.
pub trait Tally: Send + Sync {
    /// The counts of one thread. A job in stages stores them between its stages.
    type Partial: Send + Default + Serialize + DeserializeOwned;
    /// The result for all reads.
    type Total;

    /// Bytes of memory that it takes on so many threads, with its result and the text of that, where they grow with the
    /// header. The few KiB that every tally takes are not counted.
    fn bytes(&self, _threads: u64) -> u64 {
        0
    }

    /// How much of each read it looks at; the rest need not be decoded.
    fn detail(&self) -> Detail {
        Detail::Whole
    }

    /// Counts the reads of a batch.
    fn observe(&self, partial: &mut Self::Partial, batch: &Batch) -> Result<()>;

    /// Adds the counts of another thread.
    fn merge(&self, into: &mut Self::Partial, from: Self::Partial);

    /// Makes the result from the counts of all threads.
    fn finish(&self, total: Self::Partial) -> Result<Self::Total>;
}

/// The text of a file that a tally becomes.
pub enum ReportText {
    /// The whole text.
    Whole(Vec<u8>),
    /// A long one, whose parts are made one after the other.
    Parts(Box<dyn Iterator<Item = Vec<u8>> + Send>),
}

impl From<Vec<u8>> for ReportText {
    fn from(text: Vec<u8>) -> Self {
        ReportText::Whole(text)
    }
}

/// A tally and its total so far, as a trait object.
pub trait DynTally: Send + Sync {
    /// Returns one thread's worker.
    fn worker(&self) -> Box<dyn TallyWorker + '_>;

    /// Resets the total.
    fn reset(&self);

    /// Returns the total so far, to be added to that of another run.
    fn save(&self) -> Result<Vec<u8>>;

    /// Adds the total of another run.
    ///
    /// # Errors
    /// The bytes are not of such a tally.
    fn add(&self, saved: &[u8]) -> Result<()>;

    /// Returns the bytes of memory that it takes on so many threads, as [`Tally::bytes`].
    fn bytes(&self, threads: u64) -> u64;

    /// How much of each read it looks at, as [`Tally::detail`].
    fn detail(&self) -> Detail;
}

/// One thread's worker of a tally.
pub trait TallyWorker: Send {
    /// Adds the reads of a batch.
    fn observe(&mut self, batch: &Batch) -> Result<()>;

    /// Merges this part into the total.
    fn merge(self: Box<Self>);
}

/// A tally with the total of all threads.
pub struct SharedTally<T: Tally> {
    tally: T,
    total: Mutex<T::Partial>,
}

impl<T: Tally> SharedTally<T> {
    /// Creates a tally with an empty total.
    pub fn new(tally: T) -> Self {
        SharedTally { tally, total: Mutex::default() }
    }

    /// Returns the result once the run is over, and resets the total.
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

    fn save(&self) -> Result<Vec<u8>> {
        let total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        postcard::to_stdvec(&*total)
            .map_err(|error| Error::bug(format!("counts cannot be stored: {error}")))
    }

    fn add(&self, saved: &[u8]) -> Result<()> {
        let more = postcard::from_bytes(saved).map_err(|error| {
            Error::input(format!("these are not the counts of such a tally: {error}"))
        })?;
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        self.tally.merge(&mut total, more);
        Ok(())
    }

    fn bytes(&self, threads: u64) -> u64 {
        self.tally.bytes(threads)
    }

    fn detail(&self) -> Detail {
        self.tally.detail()
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
