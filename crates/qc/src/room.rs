//! The memory of all counts of a run, which grow with the lengths of reads, read groups and insert sizes.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use readmill_record::{Error, Result};

/// Memory that counts may take on all threads together. It is charged before the run.
#[derive(Debug)]
pub(crate) struct Room {
    bytes: u64,
    left: AtomicU64,
}

impl Room {
    /// A room of so many bytes.
    pub fn of(bytes: u64) -> Self {
        Room { bytes, left: AtomicU64::new(bytes) }
    }

    /// Takes bytes before they are allocated.
    ///
    /// # Errors
    /// They are not left.
    pub fn take(&self, bytes: u64) -> Result<()> {
        let taken = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        if taken.is_ok() {
            return Ok(());
        }
        let what = format!(
            "the quality metrics of these reads need more than {} MiB: too many different insert sizes, read \
             groups, or long reads",
            self.bytes >> 20
        );
        Err(Error::usage(what).hint("raise -m, use fewer threads, or choose fewer metrics"))
    }

    /// Makes a list at least `needed` long, and at most as long as a power of two or `most`. The charge is twice what it grows by: lists of
    /// two threads exist while they are added.
    pub fn lengthen<T: Clone + Default>(
        &self,
        list: &mut Vec<T>,
        needed: usize,
        most: usize,
    ) -> Result<()> {
        if list.len() >= needed {
            return Ok(());
        }
        let more = needed.next_power_of_two().min(most).max(needed) - list.len();
        self.take(2 * (more * size_of::<T>()) as u64)?;
        list.reserve_exact(more);
        list.resize(list.len() + more, T::default());
        Ok(())
    }
}
