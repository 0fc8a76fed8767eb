//! Memory that is charged before a run, and taken by all threads as counts grow.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::{Error, Result};

/// Memory that counts may take on all threads together. It is charged before the run.
#[derive(Debug)]
pub struct Room {
    bytes: u64,
    left: AtomicU64,
    user: &'static RoomUser,
}

/// A user of the memory of a room, for the error where it is not enough.
#[derive(Debug)]
pub struct RoomUser {
    /// The user, as the subject of the message.
    pub what: &'static str,
    /// Why it may be too much.
    pub why: &'static str,
    /// The way out.
    pub hint: &'static str,
}

impl Room {
    /// A room of so many bytes.
    pub fn new(bytes: u64, user: &'static RoomUser) -> Self {
        Room { bytes, left: AtomicU64::new(bytes), user }
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
        let RoomUser { what, why, hint } = self.user;
        Err(Error::usage(format!("{what} need more than {} MiB: {why}", self.bytes >> 20)).hint(*hint))
    }

    /// Gives bytes back that were taken.
    pub fn give_back(&self, bytes: u64) {
        self.left.fetch_add(bytes, Relaxed);
    }

    /// Makes a list at least `needed` long, and at most as long as a power of two or `most`. The charge is twice what it grows by: lists of
    /// two threads exist while they are added.
    #[inline]
    pub fn lengthen<T: Clone + Default>(
        &self,
        list: &mut Vec<T>,
        needed: usize,
        most: usize,
    ) -> Result<()> {
        if list.len() >= needed { Ok(()) } else { self.grow(list, needed, most) }
    }

    #[cold]
    fn grow<T: Clone + Default>(&self, list: &mut Vec<T>, needed: usize, most: usize) -> Result<()> {
        let more = needed.next_power_of_two().min(most).max(needed) - list.len();
        self.take(2 * (more * size_of::<T>()) as u64)?;
        list.reserve_exact(more);
        list.resize(list.len() + more, T::default());
        Ok(())
    }
}
