//! One block of memory that holds records while they wait to be sorted.
//!
//! 1. Filling: all threads allocate from a shared [`Arena`]. An allocation moves one atomic cursor and
//!    returns a slice that no other thread has.
//! 2. Reading: [`Arena::seal`] takes the arena by value, so no such slice can still be in use. The
//!    records are plain shared bytes from then on.
//! 3. Dropping frees all memory at once.
//!
//! No record is allocated, locked or freed individually. The caller charges the whole arena to the
//! ledger.
#![allow(unsafe_code, reason = "hands out parts of one mapping to many threads")]

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use memmap2::{MmapMut, MmapOptions};

use crate::ledger::audit;

/// Minimum capacity, in bytes, for which 2 MiB pages are requested. In a smaller arena, the unused rest
/// of the last page would be a notable share of the whole.
#[cfg(all(target_os = "linux", not(miri)))]
const MIN_HUGE_PAGE_BYTES: usize = 64 << 20;

/// Memory that threads fill with records.
///
/// ```
/// use readmill_record::Arena;
///
/// let arena = Arena::new(100)?;
/// let (offset, bytes) = arena.alloc(3).expect("100 bytes are free");
/// bytes.copy_from_slice(b"abc");
/// assert_eq!(offset, 0);
/// assert!(arena.alloc(98).is_none()); // full: the caller continues with a new arena
/// let sealed = arena.seal();
/// assert_eq!(sealed.bytes(), b"abc");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Arena {
    map: Option<MmapMut>,
    /// Start of the map. No slice covers the whole map while threads write, because it would overlap the
    /// slices that they hold.
    start: *mut u8,
    capacity: usize,
    used: UsedBytes,
}

/// Number of bytes handed out. On drop, it is subtracted from the audit of debug builds.
struct UsedBytes(AtomicUsize);

impl Drop for UsedBytes {
    fn drop(&mut self) {
        audit::subtract_mapped(*self.0.get_mut());
    }
}

// SAFETY: `start` points into `map`, which the arena owns; disjoint parts of it are handed out by an
// atomic cursor, so sharing or sending the arena shares no byte between threads.
unsafe impl Send for Arena {}
// SAFETY: as above; `alloc` is the only way to the bytes and never gives out the same one twice.
unsafe impl Sync for Arena {}

/// An arena that is no longer filled. All threads may read its bytes.
pub struct SealedArena {
    map: Option<MmapMut>,
    used: UsedBytes,
}

impl Arena {
    /// Reserves `capacity` bytes of address space. A page uses memory only once it has been written to.
    pub fn new(capacity: usize) -> std::io::Result<Self> {
        let mut options = MmapOptions::new();
        options.len(capacity.max(1));
        if !cfg!(miri) {
            options.no_reserve_swap();
        }
        let map = options.map_anon()?;
        #[cfg(all(target_os = "linux", not(miri)))]
        if capacity >= MIN_HUGE_PAGE_BYTES {
            let _ = map.advise(memmap2::Advice::HugePage); // fewer page faults, if the system supports huge pages
        }
        Ok(Self::from_map(Some(map)))
    }

    /// Returns an arena without capacity, which replaces a full arena that is being sealed.
    pub fn empty() -> Self {
        Self::from_map(None)
    }

    fn from_map(mut map: Option<MmapMut>) -> Self {
        let (start, capacity) = match &mut map {
            Some(map) => {
                let bytes = map.len();
                (map.as_mut_ptr(), bytes)
            }
            None => (std::ptr::null_mut(), 0),
        };
        Arena { map, start, capacity, used: UsedBytes(AtomicUsize::new(0)) }
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    pub fn used(&self) -> usize {
        self.used.0.load(Relaxed)
    }

    /// Allocates `len` bytes, and returns their offset and the bytes. Returns `None` if they do not fit;
    /// a smaller allocation may still succeed.
    #[allow(clippy::mut_from_ref)] // each call returns different bytes
    pub fn alloc(&self, len: usize) -> Option<(usize, &mut [u8])> {
        let fits = |used: usize| used.checked_add(len).filter(|&end| end <= self.capacity());
        if len == 0 {
            return Some((0, &mut []));
        }
        let offset = self.used.0.fetch_update(Relaxed, Relaxed, fits).ok()?;
        audit::add_mapped(len);
        // SAFETY: `offset..offset + len` lies in the map (checked by `fits`), the cursor gives it to
        // this call alone, and the slice's lifetime keeps the arena from being sealed or dropped.
        let bytes = unsafe { std::slice::from_raw_parts_mut(self.start.add(offset), len) };
        Some((offset, bytes))
    }

    pub fn seal(self) -> SealedArena {
        SealedArena { used: self.used, map: self.map }
    }
}

impl SealedArena {
    pub fn bytes(&self) -> &[u8] {
        self.map.as_ref().map_or(&[], |map| &map[..self.used.0.load(Relaxed)])
    }
}

/// Prefetches the start of the record at `offset` (three cache lines) on x86-64; does nothing on other
/// processors. The merge prefetches records shortly before it copies them.
#[inline]
pub fn prefetch_record(bytes: &[u8], offset: usize) {
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
