//! An arena: one block of memory that holds records while they wait to be sorted.
//!
//! Filling: any thread allocates from a shared [`Arena`] by moving one atomic cursor, and gets a slice that no
//! other thread has. Reading: [`Arena::seal`] takes the arena by value, so no such slice can be alive any more, and
//! the records become plain shared bytes. Dropping it frees all memory at once. There is no allocation, lock or
//! free per record.
#![allow(unsafe_code, reason = "hands out parts of one mapping to many threads")]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use memmap2::{MmapMut, MmapOptions};

use crate::ledger::audit;

/// From this size on an arena has pages of 2 MiB: the last of them, mostly unused, is small compared to the arena.
const LARGE: usize = 64 << 20;

/// Memory being filled.
pub struct Arena {
    map: Option<MmapMut>,
    /// Start of the map, and its size. The slice of the map itself is not used: it would overlap the slices of
    /// other threads.
    start: *mut u8,
    capacity: usize,
    used: Used,
}

/// Bytes handed out.
struct Used(AtomicUsize);

impl Drop for Used {
    fn drop(&mut self) {
        audit::unmapped(*self.0.get_mut());
    }
}

// SAFETY: `start` points into `map`, which the arena owns; disjoint parts of it are handed out by an
// atomic cursor, so sharing or sending the arena shares no byte between threads.
unsafe impl Send for Arena {}
// SAFETY: as above; `alloc` is the only way to the bytes and never gives out the same one twice.
unsafe impl Sync for Arena {}

/// Memory that is full and can be read by all threads.
pub struct Sealed {
    map: Option<MmapMut>,
    used: Used,
}

impl Arena {
    /// Asks the system for `capacity` bytes of address space; pages count as memory once they are used.
    pub fn new(capacity: usize) -> std::io::Result<Self> {
        let mut options = MmapOptions::new();
        options.len(capacity.max(1));
        if !cfg!(miri) {
            options.no_reserve_swap();
        }
        let map = options.map_anon()?;
        #[cfg(all(target_os = "linux", not(miri)))]
        if capacity >= LARGE {
            let _ = map.advise(memmap2::Advice::HugePage); // fewer page faults, where the system has them
        }
        Ok(Self::over(Some(map)))
    }

    /// An arena that holds nothing.
    pub fn empty() -> Self {
        Self::over(None)
    }

    fn over(mut map: Option<MmapMut>) -> Self {
        let (start, capacity) = match &mut map {
            Some(map) => {
                let bytes = map.len();
                (map.as_mut_ptr(), bytes)
            }
            None => (std::ptr::null_mut(), 0),
        };
        Arena { map, start, capacity, used: Used(AtomicUsize::new(0)) }
    }

    /// Capacity in bytes.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Bytes handed out.
    pub fn used(&self) -> usize {
        self.used.0.load(Relaxed)
    }

    /// Takes `len` bytes: their offset and the bytes themselves; `None` if they do not fit.
    #[allow(clippy::mut_from_ref)] // each call returns other bytes
    pub fn alloc(&self, len: usize) -> Option<(usize, &mut [u8])> {
        let fits = |used: usize| used.checked_add(len).filter(|&end| end <= self.capacity());
        if len == 0 {
            return Some((0, &mut []));
        }
        let offset = self.used.0.fetch_update(Relaxed, Relaxed, fits).ok()?;
        audit::mapped(len);
        // SAFETY: `offset..offset + len` lies in the map (checked by `fits`), the cursor gives it to
        // this call alone, and the slice's lifetime keeps the arena from being sealed or dropped.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.start.add(offset), len) };
        Some((offset, bytes))
    }

    /// Ends the filling: no more allocations, and all bytes can be read.
    pub fn seal(self) -> Sealed {
        Sealed { used: self.used, map: self.map }
    }
}

impl Sealed {
    /// All bytes that were allocated.
    pub fn bytes(&self) -> &[u8] {
        self.map.as_ref().map_or(&[], |map| &map[..self.used.0.load(Relaxed)])
    }
}

/// Prefetches the record at `offset`. No effect beyond speed.
#[inline]
pub fn prefetch(bytes: &[u8], offset: usize) {
    #[cfg(target_arch = "x86_64")]
    for line in bytes.get(offset..).unwrap_or_default().chunks(64).take(3) {
        // SAFETY: the address lies in a live slice; a prefetch reads nothing the program can see.
        unsafe {
            std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.as_ptr().cast())
        };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (bytes, offset);
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests start threads of their own")]
mod tests {
    use super::*;

    #[test]
    fn threads_get_disjoint_bytes_and_the_end_is_respected() {
        let arena = Arena::new(64 * 1000).unwrap();
        std::thread::scope(|scope| {
            for t in 0..4u8 {
                let arena = &arena;
                scope.spawn(move || {
                    for _ in 0..250 {
                        arena.alloc(64).unwrap().1.fill(t + 1);
                    }
                });
            }
        });
        assert!(arena.alloc(1).is_none());
        let sealed = arena.seal();
        for piece in sealed.bytes().chunks(64) {
            assert!(piece[0] != 0 && piece.iter().all(|&b| b == piece[0]));
        }
        assert!(Arena::new(10).unwrap().alloc(usize::MAX).is_none());
        assert!(Arena::empty().alloc(1).is_none());
    }
}
