//! Locks that differ in how threads wait, written after the papers that introduced them.
//!
//! Langmead et al. 2018 compare a spin lock, the system's mutex and a queueing lock, and mention
//! two more that know which threads are near each other; those are here, too. Threads are numbered
//! from 0, and each belongs to a NUMA node, of which there may be only one.
#![allow(clippy::disallowed_methods, reason = "threads are measured here")]

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Test and test-and-set: all threads spin on the same word.
    Spin,
    /// The mutex of the standard library, a futex on Linux: waiting threads sleep.
    Futex,
    /// Mellor-Crummey and Scott 1991: each thread spins on a word of its own, and yields after a
    /// while.
    Queue,
    /// Radovic and Hagersten 2003: threads on another node than the holder's look less often.
    Backoff,
    /// Dice, Marathe and Shavit 2015: one queue on each node; the lock is passed to a thread of the
    /// same node if possible.
    Cohort,
}

impl LockKind {
    pub const ALL: [LockKind; 5] =
        [LockKind::Spin, LockKind::Futex, LockKind::Queue, LockKind::Backoff, LockKind::Cohort];

    pub fn name(self) -> &'static str {
        match self {
            LockKind::Spin => "spin (TTAS)",
            LockKind::Futex => "futex (std Mutex)",
            LockKind::Queue => "queue (MCS)",
            LockKind::Backoff => "hierarchical backoff",
            LockKind::Cohort => "cohort",
        }
    }

    pub fn make_lock(self, threads: usize, nodes: usize) -> Box<dyn Lock + Send> {
        match self {
            LockKind::Spin => Box::new(Spin::default()),
            LockKind::Futex => Box::new(Futex::default()),
            LockKind::Queue => Box::new(Queue::new(threads)),
            LockKind::Backoff => Box::new(Backoff::new(threads, nodes)),
            LockKind::Cohort => Box::new(Cohort::new(threads, nodes)),
        }
    }
}

/// A lock that runs one critical section at a time.
///
/// Locks identify threads by number, not by address, so they are made for a fixed number of
/// threads.
pub trait Lock: Sync {
    /// Runs `critical` while no other thread runs under this lock. `critical` must not panic: other
    /// threads would wait forever.
    fn run_critical(&self, thread: usize, critical: &mut dyn FnMut());
}

/// Returns the node of a thread. Threads are divided evenly among the nodes.
fn node_of_thread(thread: usize, threads: usize, nodes: usize) -> usize {
    thread * nodes / threads.max(1)
}

/// Keeps data that one thread writes on cache lines of its own. 128 bytes, since processors fetch
/// two lines at a time.
#[repr(align(128))]
#[derive(Default)]
struct CachePadded<T>(T);

/// Number of looks before a waiting thread yields its core.
const SPINS_BEFORE_YIELD: u32 = 128;

/// Waits until a condition holds: spins at first, then yields between two looks.
fn wait_until(mut so: impl FnMut() -> bool) {
    let mut looks = 0;
    while !so() {
        if looks < SPINS_BEFORE_YIELD {
            looks += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

/// Waits for the time of this many looks. A long wait also yields.
fn spin_for(looks: u32) {
    (0..looks).for_each(|_| spin_loop());
    if looks >= SPINS_BEFORE_YIELD {
        yield_now();
    }
}

/// Test and test-and-set. It never yields, even if the holder has lost its core.
#[derive(Default)]
struct Spin(CachePadded<AtomicBool>);

impl Lock for Spin {
    fn run_critical(&self, _: usize, critical: &mut dyn FnMut()) {
        let Spin(CachePadded(held)) = self;
        while held.swap(true, Ordering::Acquire) {
            while held.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
        critical();
        held.store(false, Ordering::Release);
    }
}

#[derive(Default)]
struct Futex(CachePadded<Mutex<()>>);

impl Lock for Futex {
    fn run_critical(&self, _: usize, critical: &mut dyn FnMut()) {
        let _guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        critical();
    }
}

/// No thread, or nothing passed on yet.
const NONE: usize = 0;

/// What a holder passes to the next thread: only its turn, or also the second lock that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Handoff {
    Turn = 1,
    More = 2,
}

#[derive(Default)]
struct WaitSlot {
    next: AtomicUsize,
    left: AtomicUsize,
}

/// The queueing lock of Mellor-Crummey and Scott 1991. Threads refer to each other by number
/// instead of by pointer.
struct Queue {
    last: CachePadded<AtomicUsize>,
    places: Vec<CachePadded<WaitSlot>>,
}

impl Queue {
    fn new(threads: usize) -> Self {
        Queue {
            last: CachePadded::default(),
            places: (0..threads).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Waits for the thread's turn and returns what the previous thread passed on.
    fn enter(&self, thread: usize) -> Handoff {
        let place = &self.places[thread].0;
        place.next.store(NONE, Ordering::Relaxed);
        place.left.store(NONE, Ordering::Relaxed);
        let before = self.last.0.swap(thread + 1, Ordering::AcqRel);
        if before == NONE {
            return Handoff::Turn;
        }
        self.places[before - 1].0.next.store(thread + 1, Ordering::Release);
        wait_until(|| place.left.load(Ordering::Acquire) != NONE);
        if place.left.load(Ordering::Relaxed) == Handoff::More as usize {
            Handoff::More
        } else {
            Handoff::Turn
        }
    }

    /// Returns whether another thread is already known to wait after this one.
    fn is_followed(&self, thread: usize) -> bool {
        self.places[thread].0.next.load(Ordering::Acquire) != NONE
    }

    /// Passes the turn to the next thread. `Handoff::More` may only be passed after
    /// [`Queue::is_followed`] returned true.
    fn leave(&self, thread: usize, left: Handoff) {
        let next = &self.places[thread].0.next;
        if next.load(Ordering::Acquire) == NONE {
            let alone = (thread + 1, NONE);
            if self
                .last
                .0
                .compare_exchange(alone.0, alone.1, Ordering::AcqRel, Ordering::Relaxed)
                .is_ok()
            {
                return;
            }
            // A thread has entered the queue but not stored its number yet.
            wait_until(|| next.load(Ordering::Acquire) != NONE);
        }
        let next = next.load(Ordering::Acquire);
        self.places[next - 1].0.left.store(left as usize, Ordering::Release);
    }
}

impl Lock for Queue {
    fn run_critical(&self, thread: usize, critical: &mut dyn FnMut()) {
        self.enter(thread);
        critical();
        self.leave(thread, Handoff::Turn);
    }
}

const FREE: usize = 0;

/// Looks to wait before looking again, at first and at most: if the holder is on the same node, and
/// if not.
const NEAR_BACKOFF: (u32, u32) = (16, 1024);
const FAR_BACKOFF: (u32, u32) = (256, 16_384);

/// The hierarchical backoff lock of Radovic and Hagersten 2003, without its throttling of whole
/// nodes.
///
/// The lock's word contains the node of the holder. Threads of other nodes look at it less often,
/// so that the lock tends to stay on its node.
struct Backoff {
    holder: CachePadded<AtomicUsize>,
    threads: usize,
    nodes: usize,
}

impl Backoff {
    fn new(threads: usize, nodes: usize) -> Self {
        Backoff { holder: CachePadded::default(), threads, nodes }
    }

    fn enter(&self, thread: usize) {
        let own = node_of_thread(thread, self.threads, self.nodes) + 1;
        let mut waits = 0;
        while let Err(other) = self.try_take(own) {
            let (first, max_backoff) = if other == own { NEAR_BACKOFF } else { FAR_BACKOFF };
            spin_for((first << waits.min(16)).min(max_backoff));
            waits += 1;
        }
    }

    fn try_take(&self, own: usize) -> Result<usize, usize> {
        self.holder.0.compare_exchange(FREE, own, Ordering::Acquire, Ordering::Relaxed)
    }

    fn leave(&self) {
        self.holder.0.store(FREE, Ordering::Release);
    }
}

impl Lock for Backoff {
    fn run_critical(&self, thread: usize, critical: &mut dyn FnMut()) {
        self.enter(thread);
        critical();
        self.leave();
    }
}

/// Maximum number of times that the lock stays on a node while threads of other nodes wait.
const MAX_LOCAL_HANDOFFS: usize = 64;

/// The queue of a node, and the number of times in a row that it has kept the lock.
struct Node {
    queue: Queue,
    kept: CachePadded<AtomicUsize>,
}

/// Lock cohorting of Dice, Marathe and Shavit 2015: one lock for the machine, and a queue on each
/// node.
///
/// A holder passes both to the next thread on its node, until that has happened [`MAX_LOCAL_HANDOFFS`] times;
/// then other nodes get their turn.
struct Cohort {
    /// Needs no thread numbers, since only the first thread of a node enters it.
    machine: Backoff,
    nodes: Vec<Node>,
    threads: usize,
}

impl Cohort {
    fn new(threads: usize, nodes: usize) -> Self {
        let make = |_| Node { queue: Queue::new(threads), kept: CachePadded::default() };
        Cohort { machine: Backoff::new(1, 1), nodes: (0..nodes.max(1)).map(make).collect(), threads }
    }
}

impl Lock for Cohort {
    fn run_critical(&self, thread: usize, critical: &mut dyn FnMut()) {
        let Node { queue, kept } = &self.nodes[node_of_thread(thread, self.threads, self.nodes.len())];
        if queue.enter(thread) == Handoff::Turn {
            self.machine.enter(0);
        }
        critical();
        // Only the holder accesses the count.
        let times = kept.0.load(Ordering::Relaxed);
        if times < MAX_LOCAL_HANDOFFS && queue.is_followed(thread) {
            kept.0.store(times + 1, Ordering::Relaxed);
            queue.leave(thread, Handoff::More);
        } else {
            kept.0.store(0, Ordering::Relaxed);
            self.machine.leave();
            queue.leave(thread, Handoff::Turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use super::*;

    /// Lets threads add to a number without an atomic addition, and check that each is alone.
    fn crowd(kind: LockKind, threads: usize, nodes: usize, turns: u64) {
        let (lock, count, inside) =
            (kind.make_lock(threads, nodes), AtomicU64::new(0), AtomicBool::new(false));
        let (start, broken) = (Barrier::new(threads), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let (lock, count, inside, start, broken) = (&lock, &count, &inside, &start, &broken);
                scope.spawn(move || {
                    start.wait();
                    for turn in 0..turns {
                        lock.run_critical(thread, &mut || {
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
        for kind in LockKind::ALL {
            for (threads, nodes) in [(1, 1), (2, 1), (2, 2), (7, 2)] {
                crowd(kind, threads, nodes, 500);
            }
        }
    }

    #[test]
    fn threads_are_divided_evenly() {
        assert_eq!([0, 3, 4, 7].map(|thread| node_of_thread(thread, 8, 2)), [0, 0, 1, 1]);
        assert_eq!(node_of_thread(6, 7, 1), 0);
    }
}
