//! The hierarchical backoff lock of Radovic and Hagersten 2003, without its throttling of whole nodes: the lock's word says
//! on which node it is held, and threads of other nodes look at it less often, so that it rather stays where it is.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::exclusion::{Apart, Lock, node};
use super::patience::pause;

/// Nobody holds it.
const FREE: usize = 0;

/// How long to wait before looking again: at first and at most, on the holder's node and on others.
const NEAR: (u32, u32) = (16, 1024);
const FAR: (u32, u32) = (256, 16_384);

pub struct Backoff {
    /// The node of the holder and 1.
    holder: Apart<AtomicUsize>,
    threads: usize,
    nodes: usize,
}

impl Backoff {
    pub fn new(threads: usize, nodes: usize) -> Self {
        Backoff { holder: Apart::default(), threads, nodes }
    }

    /// Waits until nobody else holds it.
    pub fn enter(&self, thread: usize) {
        let own = node(thread, self.threads, self.nodes) + 1;
        let mut waits = 0;
        while let Err(other) = self.take(own) {
            let (first, most) = if other == own { NEAR } else { FAR };
            pause((first << waits.min(16)).min(most));
            waits += 1;
        }
    }

    fn take(&self, own: usize) -> Result<usize, usize> {
        self.holder.0.compare_exchange(FREE, own, Ordering::Acquire, Ordering::Relaxed)
    }

    /// Lets others have it.
    pub fn leave(&self) {
        self.holder.0.store(FREE, Ordering::Release);
    }
}

impl Lock for Backoff {
    fn hold(&self, thread: usize, critical: &mut dyn FnMut()) {
        self.enter(thread);
        critical();
        self.leave();
    }
}
