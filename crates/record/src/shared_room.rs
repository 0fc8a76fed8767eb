//! Memory that is charged before a run and then divided among threads while their counts grow.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::{Error, Result};

/// A fixed number of bytes for the counts of all threads together, which was charged before the run.
///
/// Metrics and FastQC modules grow with read length, tiles and quality values. They take bytes from the
/// room without a lock. If the room is too small for an input, the run fails with an error instead of
/// using more memory.
///
/// ```
/// use readmill_record::{CountingRoom, CountingRoomUser};
///
/// static USER: CountingRoomUser = CountingRoomUser { what: "the metrics", why: "the reads are long", hint: "raise -m" };
/// let room = CountingRoom::new(1 << 20, &USER);
/// room.take_bytes(1000)?;
/// let error = room.take_bytes(1 << 20).unwrap_err();
/// assert_eq!(error.to_string(), "the metrics need more than 1 MiB: the reads are long; raise -m");
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Debug)]
pub struct CountingRoom {
    bytes: u64,
    left: AtomicU64,
    user: &'static CountingRoomUser,
}

/// The parts of the error message for a room that is too small.
#[derive(Debug)]
pub struct CountingRoomUser {
    pub what: &'static str,
    pub why: &'static str,
    pub hint: &'static str,
}

impl CountingRoom {
    pub fn new(bytes: u64, user: &'static CountingRoomUser) -> Self {
        CountingRoom { bytes, left: AtomicU64::new(bytes), user }
    }

    /// Takes bytes before they are allocated.
    ///
    /// # Errors
    /// Fails if fewer than `bytes` bytes are left.
    pub fn take_bytes(&self, bytes: u64) -> Result<()> {
        let taken = self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(bytes));
        if taken.is_ok() {
            return Ok(());
        }
        let CountingRoomUser { what, why, hint } = self.user;
        Err(Error::usage(format!("{what} need more than {} MiB: {why}", self.bytes >> 20)).hint(*hint))
    }

    pub fn return_bytes(&self, bytes: u64) {
        self.left.fetch_add(bytes, Relaxed);
    }

    /// Extends `list` with default values to at least `needed` elements: to the next power of two, but
    /// not beyond `max_len`. Takes twice the growth from the room, because the lists of two threads
    /// exist at the same time while they are merged.
    #[inline]
    pub fn lengthen_list<T: Clone + Default>(
        &self,
        list: &mut Vec<T>,
        needed: usize,
        max_len: usize,
    ) -> Result<()> {
        if list.len() >= needed { Ok(()) } else { self.grow_list(list, needed, max_len) }
    }

    #[cold]
    fn grow_list<T: Clone + Default>(
        &self,
        list: &mut Vec<T>,
        needed: usize,
        max_len: usize,
    ) -> Result<()> {
        let more = needed.next_power_of_two().min(max_len).max(needed) - list.len();
        self.take_bytes(2 * (more * size_of::<T>()) as u64)?;
        list.reserve_exact(more);
        list.resize(list.len() + more, T::default());
        Ok(())
    }
}
