//! The trait of all locks, and the node of a thread.

/// Lets one thread at a time do something.
pub trait Lock: Sync {
    /// Does something while no other thread does anything under this lock. `critical` must not panic: others would wait
    /// forever.
    fn hold(&self, thread: usize, critical: &mut dyn FnMut());
}

/// The node of a thread, where threads are divided evenly.
pub fn node(thread: usize, threads: usize, nodes: usize) -> usize {
    thread * nodes / threads.max(1)
}

/// Keeps what one thread writes off the cache lines of others; two lines are fetched at a time.
#[repr(align(128))]
#[derive(Default)]
pub struct Apart<T>(pub T);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_divided_evenly() {
        assert_eq!([0, 3, 4, 7].map(|thread| node(thread, 8, 2)), [0, 0, 1, 1]);
        assert_eq!(node(6, 7, 1), 0);
    }
}
