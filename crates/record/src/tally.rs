//! The trait of all tallies of a pipeline, and its form as a trait object.
//!
//! Each thread counts on its own, and its counts are merged when the thread is done:
//!
//! ```text
//! SharedTally ──worker()──► TallyWorker (one for each thread) ──merge──► total ──finish──► result
//! ```

use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::batch::Batch;
use crate::detail::Detail;
use crate::error::{Error, Result};

/// A metric: counts properties of the reads without changing them.
///
/// The counts of all threads are merged at the end, in any order. So counts must be integers, because
/// sums of floating-point numbers would depend on the number of threads.
///
/// ```
/// use readmill_record::{Batch, DynTally, Result, SharedTally, Tally};
///
/// struct Bases;
///
/// impl Tally for Bases {
///     type Partial = u64;
///     type Total = u64;
///
///     fn observe(&self, sum: &mut u64, batch: &Batch) -> Result<()> {
///         *sum += batch.records().map(|(_, record)| record.l_seq() as u64).sum::<u64>();
///         Ok(())
///     }
///     fn merge(&self, into: &mut u64, from: u64) {
///         *into += from;
///     }
///     fn finish(&self, total: u64) -> Result<u64> {
///         Ok(total)
///     }
/// }
///
/// let tally = SharedTally::new(Bases);
/// let mut worker = tally.make_worker(); // one for each thread
/// worker.observe(&Batch::default())?;
/// worker.merge_into_total();
/// assert_eq!(tally.take_total()?, 0);
/// # Ok::<(), readmill_record::Error>(())
/// ```
pub trait Tally: Send + Sync {
    /// The counts of one thread. A job in stages writes them to disk between its stages.
    type Partial: Send + Default + Serialize + DeserializeOwned;
    type Total;

    /// Returns the memory in bytes of the counts of `threads` threads, of the result and of its text, if
    /// they grow with the header. The few KiB that every tally needs are not counted.
    fn memory_bytes(&self, _threads: u64) -> u64 {
        0
    }

    /// Returns how much of each read the tally needs. Readers do not decode the rest.
    fn detail(&self) -> Detail {
        Detail::Whole
    }

    fn observe(&self, partial: &mut Self::Partial, batch: &Batch) -> Result<()>;

    fn merge(&self, into: &mut Self::Partial, from: Self::Partial);

    fn finish(&self, total: Self::Partial) -> Result<Self::Total>;
}

/// A [`SharedTally`] as a trait object, so that a pipeline can hold tallies of any kind in one list.
pub trait DynTally: Send + Sync {
    fn make_worker(&self) -> Box<dyn TallyWorker + '_>;

    fn reset_total(&self);

    /// Returns the serialized total so far, which another run can add ([`DynTally::add_saved`]). Stages
    /// of a job and processes of a distributed run exchange totals in this form.
    fn save_total(&self) -> Result<Vec<u8>>;

    /// Adds the total that another run has saved.
    ///
    /// # Errors
    /// Fails if the bytes are not the total of a tally of this kind.
    fn add_saved(&self, saved: &[u8]) -> Result<()>;

    fn memory_bytes(&self, threads: u64) -> u64;

    fn detail(&self) -> Detail;
}

pub trait TallyWorker: Send {
    fn observe(&mut self, batch: &Batch) -> Result<()>;

    /// Adds the counts of this thread to the total. Called once, when the thread is done.
    fn merge_into_total(self: Box<Self>);
}

pub struct SharedTally<T: Tally> {
    tally: T,
    total: Mutex<T::Partial>,
}

impl<T: Tally> SharedTally<T> {
    pub fn new(tally: T) -> Self {
        SharedTally { tally, total: Mutex::default() }
    }

    /// Returns the result once the run is over, and resets the total to zero.
    pub fn take_total(&self) -> Result<T::Total> {
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        self.tally.finish(std::mem::take(&mut *total))
    }
}

impl<T: Tally> DynTally for SharedTally<T> {
    fn make_worker(&self) -> Box<dyn TallyWorker + '_> {
        Box::new(SharedTallyWorker { shared: self, partial: T::Partial::default() })
    }

    fn reset_total(&self) {
        *self.total.lock().unwrap_or_else(PoisonError::into_inner) = T::Partial::default();
    }

    fn save_total(&self) -> Result<Vec<u8>> {
        let total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        postcard::to_stdvec(&*total)
            .map_err(|error| Error::bug(format!("counts cannot be stored: {error}")))
    }

    fn add_saved(&self, saved: &[u8]) -> Result<()> {
        let more = postcard::from_bytes(saved)
            .map_err(|error| Error::input(format!("the stored counts cannot be read: {error}")))?;
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        self.tally.merge(&mut total, more);
        Ok(())
    }

    fn memory_bytes(&self, threads: u64) -> u64 {
        self.tally.memory_bytes(threads)
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

    fn merge_into_total(self: Box<Self>) {
        let mut total = self.shared.total.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.tally.merge(&mut total, self.partial);
    }
}
