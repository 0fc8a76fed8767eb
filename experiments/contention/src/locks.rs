//! Locks that differ in how threads wait, in the order of the papers that brought them.
//!
//! Langmead et al. 2018 compare a spin lock, the system's mutex and a queueing lock, and name two more that know which threads
//! are near each other; those are here, too. A thread has a number from 0 on and belongs to a node, of which there may be one.
#![allow(clippy::disallowed_methods, reason = "threads are measured here")]

use std::hint::spin_loop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::yield_now;

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
            Kind::Spin => Box::new(Spin::default()),
            Kind::Futex => Box::new(Futex::default()),
            Kind::Queue => Box::new(Queue::new(threads)),
            Kind::Backoff => Box::new(Backoff::new(threads, nodes)),
            Kind::Cohort => Box::new(Cohort::new(threads, nodes)),
        }
    }
}

/// Lets one thread at a time do something.
pub trait Lock: Sync {
    /// Does something while no other thread does anything under this lock. `critical` must not panic: others would wait
    /// forever.
    fn hold(&self, thread: usize, critical: &mut dyn FnMut());
}

/// The node of a thread, where threads are divided evenly.
fn node(thread: usize, threads: usize, nodes: usize) -> usize {
    thread * nodes / threads.max(1)
}

/// Keeps what one thread writes off the cache lines of others; two lines are fetched at a time.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// Looks before a thread offers its core to others.
const LOOKS: u32 = 128;

/// Waits until something is so; after a while, others may run between two looks.
fn wait_until(mut so: impl FnMut() -> bool) {
    let mut looks = 0;
    while !so() {
        if looks < LOOKS {
            looks += 1;
            spin_loop();
        } else {
            yield_now();
        }
    }
}

/// Waits so many times longer than one look takes; what is long gives way to others.
fn pause(looks: u32) {
    (0..looks).for_each(|_| spin_loop());
    if looks >= LOOKS {
        yield_now();
    }
}

/// Test and test-and-set. Nobody gives way: a holder that loses its core is waited for all the same.
#[derive(Default)]
struct Spin(Apart<AtomicBool>);

impl Lock for Spin {
    fn hold(&self, _: usize, critical: &mut dyn FnMut()) {
        let Spin(Apart(held)) = self;
        while held.swap(true, Ordering::Acquire) {
            while held.load(Ordering::Relaxed) {
                spin_loop();
            }
        }
        critical();
        held.store(false, Ordering::Release);
    }
}

/// The mutex of the standard library.
#[derive(Default)]
struct Futex(Apart<Mutex<()>>);

impl Lock for Futex {
    fn hold(&self, _: usize, critical: &mut dyn FnMut()) {
        let _guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        critical();
    }
}

/// Nobody, or nothing yet.
const NONE: usize = 0;

/// The thing a holder passes to the next thread: its turn alone, or also the other lock that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Turn = 1,
    More = 2,
}

/// Where one thread waits.
#[derive(Default)]
struct Place {
    /// Who comes next: its number and 1.
    next: AtomicUsize,
    /// The thing passed to this thread.
    left: AtomicUsize,
}

/// The queueing lock of Mellor-Crummey and Scott 1991. Threads have places by their numbers instead of by pointers.
struct Queue {
    /// Who came last: its number and 1.
    last: Apart<AtomicUsize>,
    places: Vec<Apart<Place>>,
}

impl Queue {
    fn new(threads: usize) -> Self {
        Queue { last: Apart::default(), places: (0..threads).map(|_| Apart::default()).collect() }
    }

    /// Waits for its turn; says what was left.
    fn enter(&self, thread: usize) -> Left {
        let place = &self.places[thread].0;
        place.next.store(NONE, Ordering::Relaxed);
        place.left.store(NONE, Ordering::Relaxed);
        let before = self.last.0.swap(thread + 1, Ordering::AcqRel);
        if before == NONE {
            return Left::Turn;
        }
        self.places[before - 1].0.next.store(thread + 1, Ordering::Release);
        wait_until(|| place.left.load(Ordering::Acquire) != NONE);
        if place.left.load(Ordering::Relaxed) == Left::More as usize { Left::More } else { Left::Turn }
    }

    /// Whether somebody is known to wait behind the holder.
    fn is_followed(&self, thread: usize) -> bool {
        self.places[thread].0.next.load(Ordering::Acquire) != NONE
    }

    /// Gives the turn to the next; more than that only to one that [`Queue::is_followed`] has seen.
    fn leave(&self, thread: usize, left: Left) {
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
            // Somebody has come, and is about to say so.
            wait_until(|| next.load(Ordering::Acquire) != NONE);
        }
        let next = next.load(Ordering::Acquire);
        self.places[next - 1].0.left.store(left as usize, Ordering::Release);
    }
}

impl Lock for Queue {
    fn hold(&self, thread: usize, critical: &mut dyn FnMut()) {
        self.enter(thread);
        critical();
        self.leave(thread, Left::Turn);
    }
}

/// Nobody holds it.
const FREE: usize = 0;

/// How long to wait before looking again: at first and at most, on the holder's node and on others.
const NEAR: (u32, u32) = (16, 1024);
const FAR: (u32, u32) = (256, 16_384);

/// The hierarchical backoff lock of Radovic and Hagersten 2003, without its throttling of whole nodes: the lock's
/// word says on which node it is held, and threads of other nodes look at it less often, so that it rather stays
/// where it is.
struct Backoff {
    /// The node of the holder and 1.
    holder: Apart<AtomicUsize>,
    threads: usize,
    nodes: usize,
}

impl Backoff {
    fn new(threads: usize, nodes: usize) -> Self {
        Backoff { holder: Apart::default(), threads, nodes }
    }

    /// Waits until nobody else holds it.
    fn enter(&self, thread: usize) {
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
    fn leave(&self) {
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

/// Times that the lock stays on a node while others wait.
const MOST: usize = 64;

/// The queue of a node, and how often it has kept the lock.
struct Node {
    queue: Queue,
    kept: Apart<AtomicUsize>,
}

/// Lock cohorting of Dice, Marathe and Shavit 2015: a lock for the machine, and a queue on each node. A holder leaves
/// both to the next on its node, until that has happened so often that other nodes must have their turn.
struct Cohort {
    /// Who has it is the same to it: whoever enters it is the first of a node.
    machine: Backoff,
    nodes: Vec<Node>,
    threads: usize,
}

impl Cohort {
    fn new(threads: usize, nodes: usize) -> Self {
        let make = |_| Node { queue: Queue::new(threads), kept: Apart::default() };
        Cohort { machine: Backoff::new(1, 1), nodes: (0..nodes.max(1)).map(make).collect(), threads }
    }
}

impl Lock for Cohort {
    fn hold(&self, thread: usize, critical: &mut dyn FnMut()) {
        let Node { queue, kept } = &self.nodes[node(thread, self.threads, self.nodes.len())];
        if queue.enter(thread) == Left::Turn {
            self.machine.enter(0);
        }
        critical();
        // Only the holder touches the count.
        let times = kept.0.load(Ordering::Relaxed);
        if times < MOST && queue.is_followed(thread) {
            kept.0.store(times + 1, Ordering::Relaxed);
            queue.leave(thread, Left::More);
        } else {
            kept.0.store(0, Ordering::Relaxed);
            self.machine.leave();
            queue.leave(thread, Left::Turn);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::Ordering::Relaxed;
    use std::sync::atomic::{AtomicBool, AtomicU64};

    use super::*;

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

    #[test]
    fn threads_are_divided_evenly() {
        assert_eq!([0, 3, 4, 7].map(|thread| node(thread, 8, 2)), [0, 0, 1, 1]);
        assert_eq!(node(6, 7, 1), 0);
    }
}
