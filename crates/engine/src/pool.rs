//! Buffers that are used again.
//!
//! Holds at most `limit` idle values; never waits, so there is nothing to stop; has no errors. The lock is held for
//! a push or a pop, never while a value is made or dropped.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Recycles buffers: a new ticket takes those of a finished one.
///
/// The value that was put last is taken first, because it is the most likely to be in a cache.
#[derive(Debug)]
pub struct Pool<T> {
    limit: usize,
    idle: Mutex<Vec<T>>,
}

impl<T: Send> Pool<T> {
    /// An empty pool that keeps at most `limit` values.
    pub fn new(limit: usize) -> Self {
        Pool { limit, idle: Mutex::new(Vec::new()) }
    }

    /// Takes an idle value; `None` if there is none, and the caller makes its own.
    pub fn take(&self) -> Option<T> {
        self.idle().pop()
    }

    /// Keeps a value for the next [`Self::take`], or drops it if the pool is full.
    pub fn put(&self, value: T) {
        let mut idle = self.idle();
        if idle.len() < self.limit {
            idle.push(value);
            return;
        }
        drop(idle); // `value` is dropped after this, not under the lock
    }

    fn idle(&self) -> MutexGuard<'_, Vec<T>> {
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
