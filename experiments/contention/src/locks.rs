//! Locks that differ in how threads wait, in the order of the papers that brought them.
//!
//! Langmead et al. 2018 compare a spin lock, the system's mutex and a queueing lock, and name two more that know which threads
//! are near each other; those are here, too. A thread has a number from 0 on and belongs to a node, of which there may be one.
#![allow(clippy::disallowed_methods, reason = "threads are measured here")]

mod backoff;
mod cohort;
mod exclusion;
mod futex;
mod patience;
mod queue;
mod spin;

pub use exclusion::Lock;

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Test and test-and-set: all wait awake for one word.
    Spin,
    /// The mutex of the standard library, on Linux a futex: those that wait sleep.
    Futex,
    /// Mellor-Crummey and Scott 1991: each waits awake for a word of its own, and gives way to others after a while.
    Queue,
    /// Radovic and Hagersten 2003: those on another node than the holder's look less often.
    Backoff,
    /// Dice, Marathe and Shavit 2015: a queue on each node, and the lock goes to the next on the same node if it can.
    Cohort,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 5] = [Kind::Spin, Kind::Futex, Kind::Queue, Kind::Backoff, Kind::Cohort];

    /// Its name in the tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Spin => "spin (TTAS)",
            Kind::Futex => "futex (std Mutex)",
            Kind::Queue => "queue (MCS)",
            Kind::Backoff => "hierarchical backoff",
            Kind::Cohort => "cohort",
        }
    }

    /// A lock for so many threads on so many nodes.
    pub fn lock(self, threads: usize, nodes: usize) -> Box<dyn Lock + Send> {
        match self {
            Kind::Spin => Box::new(spin::Spin::default()),
            Kind::Futex => Box::new(futex::Futex::default()),
            Kind::Queue => Box::new(queue::Queue::new(threads)),
            Kind::Backoff => Box::new(backoff::Backoff::new(threads, nodes)),
            Kind::Cohort => Box::new(cohort::Cohort::new(threads, nodes)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

    /// Threads that add to a number without an atomic addition, and look whether they are alone.
    fn crowd(kind: Kind, threads: usize, nodes: usize, turns: u64) {
        let (lock, count, inside) =
            (kind.lock(threads, nodes), AtomicU64::new(0), AtomicBool::new(false));
        let (start, broken) = (Barrier::new(threads), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (lock, count, inside, start, broken) = (&lock, &count, &inside, &start, &broken);
                scope.spawn(move || {
                    start.wait();
                    for turn in 0..turns {
                        lock.hold(thread, &mut || {
                            broken.fetch_or(inside.swap(true, Relaxed), Relaxed);
                            let before = count.load(Relaxed);
                            if turn % 64 == 0 {
                                std::thread::yield_now(); // the holder loses its core
                            }
                            count.store(before + 1, Relaxed);
                            inside.store(false, Relaxed);
                        });
                    }
                });
            }
        });
        assert!(!broken.into_inner(), "{kind:?}: two threads held it at once");
        assert_eq!(count.into_inner(), threads as u64 * turns, "{kind:?} lost an update");
    }

    #[test]
    fn one_thread_at_a_time_holds_a_lock_no_update_is_lost_and_all_get_their_turns() {
        for kind in Kind::ALL {
            for (threads, nodes) in [(1, 1), (2, 1), (2, 2), (7, 2)] {
                crowd(kind, threads, nodes, 500);
            }
        }
    }
}
