//! A pool of buffers that later tickets reuse.
//!
//! A pool holds at most `limit` idle values and never waits. Its lock is held for a push or a pop, never
//! while a value is made or dropped.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Recycles buffers: a new ticket takes the buffers of a finished one, so that a pass stops allocating
/// after its first tickets.
///
/// The most recently returned value is taken first, because it is the most likely to be in a CPU cache.
///
/// ```
/// use readmill_engine::Pool;
///
/// let pool = Pool::new(1);
/// pool.put(vec![1, 2, 3]);
/// pool.put(Vec::new()); // the pool is full: dropped
/// let mut buffer = pool.take().unwrap_or_default();
/// buffer.clear();
/// assert!(buffer.capacity() >= 3 && pool.take().is_none());
/// ```
#[derive(Debug)]
pub struct Pool<T> {
    limit: usize,
    idle: Mutex<Vec<T>>,
}

impl<T: Send> Pool<T> {
    pub fn new(limit: usize) -> Self {
        Pool { limit, idle: Mutex::new(Vec::new()) }
    }

    /// Takes an idle value. Returns `None` if there is none; the caller then creates one.
    pub fn take(&self) -> Option<T> {
        self.lock_idle().pop()
    }

    pub fn put(&self, value: T) {
        let mut idle = self.lock_idle();
        if idle.len() < self.limit {
            idle.push(value);
            return;
        }
        drop(idle); // `value` is dropped after this, not under the lock
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<T>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn the_last_put_is_the_first_taken() {
        let pool = Pool::new(2);
        assert_eq!(pool.take(), None);
        pool.put(1);
        pool.put(2);
        assert_eq!((pool.take(), pool.take(), pool.take()), (Some(2), Some(1), None));
    }

    #[test]
    fn a_full_pool_drops_what_comes() {
        let (kept, dropped) = (Arc::new(()), Arc::new(()));
        let pool = Pool::new(1);
        pool.put(kept.clone());
        pool.put(dropped.clone());
        assert_eq!((Arc::strong_count(&kept), Arc::strong_count(&dropped)), (2, 1));
    }
}
