//! Threads that work, and meet at locks, simulated event by event.
//!
//! Every thread goes round a cycle: it works alone on a batch of reads, then enters one critical section after the other.
//! A section is held for a time; handing it to the next thread takes a time that depends on the kind of lock; threads wait in
//! the order in which they came. Threads on one core slow each other down ([`Machine`]), those that wait awake as well.
//!
//! Not simulated: caches and memory bandwidth, storage, the distance between cores, threads that lose their core while they
//! hold a lock. A time that has begun is not changed by what others do later. The same arguments give the same answer.

mod events;
mod machine;
mod random;

pub use machine::Machine;

use std::collections::VecDeque;

use events::{Event, Events};
use random::Random;

/// A kind of lock: how long it takes to hand it over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lock {
    /// Each thread waits awake for a word of its own, as in the lock of Mellor-Crummey and Scott.
    Queue {
        /// From one thread to the next.
        handoff: f64,
    },
    /// Threads sleep while they wait.
    Futex {
        /// From one thread to the next, if that is awake.
        handoff: f64,
        /// More than that if it sleeps.
        wake: f64,
    },
    /// All threads wait awake for the same word.
    Spin {
        /// From one thread to the next while nobody else waits.
        handoff: f64,
        /// The fraction that each waiting thread adds to that.
        crowding: f64,
    },
}

impl Lock {
    fn handoff(self, waiting: usize) -> f64 {
        match self {
            Lock::Queue { handoff } => handoff,
            Lock::Futex { handoff, wake } => handoff + if waiting > 0 { wake } else { 0.0 },
            Lock::Spin { handoff, crowding } => handoff * (1.0 + crowding * waiting as f64),
        }
    }

    fn sleeps(self) -> bool {
        matches!(self, Lock::Futex { .. })
    }
}

/// A critical section of the cycle.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// Which of the locks; the same one may be entered several times.
    pub lock: usize,
    /// Microseconds for which it is held, on a core that no other thread uses.
    pub hold: f64,
}

/// The cycle that every thread repeats.
#[derive(Clone, Debug)]
pub struct Cycle {
    /// Reads that are taken at a time.
    pub batch: f64,
    /// Microseconds of work for a read outside all locks, on a core that no other thread uses.
    pub work: f64,
    /// Standard deviation of that, as a fraction.
    pub spread: f64,
    /// The locks, and how many there are of each: a thread uses always the same one.
    pub locks: Vec<(Lock, usize)>,
    /// The locks that are entered after the work, in this order.
    pub sections: Vec<Section>,
}

/// The result of a simulation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Reads per second.
    pub rate: f64,
    /// Part of the threads' time in which they waited for a lock.
    pub waited: f64,
}

/// Cycles that are simulated at least, and for each thread at least.
const CYCLES: [usize; 2] = [3000, 30];

/// Lets `threads` threads go round on a machine until their pace is known.
pub fn run(machine: &Machine, cycle: &Cycle, threads: usize) -> Outcome {
    let last = CYCLES[0].max(CYCLES[1] * threads);
    let first = last / 5; // those before it only warm up
    let mut floor = Floor::new(machine, cycle, threads);
    let (mut done, mut start, mut waited) = (0, 0.0, 0.0);
    while done < last {
        if floor.step() {
            done += 1;
            if done == first {
                (start, waited) = (floor.now, floor.waited);
            }
        }
    }
    let time = (floor.now - start).max(f64::MIN_POSITIVE);
    Outcome {
        rate: (last - first) as f64 * cycle.batch / time * 1e6,
        waited: (floor.waited - waited) / (time * threads as f64),
    }
}

/// The thread count of those given at which most reads pass, and the outcome there.
pub fn peak(machine: &Machine, cycle: &Cycle, threads: &[usize]) -> (usize, Outcome) {
    let mut best = (0, Outcome { rate: 0.0, waited: 0.0 });
    for &threads in threads {
        let outcome = run(machine, cycle, threads);
        if outcome.rate > best.1.rate {
            best = (threads, outcome);
        }
    }
    best
}

/// A thread that waits.
struct Waiter {
    thread: usize,
    section: usize,
    since: f64,
}

/// One lock.
#[derive(Default)]
struct Door {
    held: bool,
    queue: VecDeque<Waiter>,
}

/// All threads and locks at one moment.
struct Floor<'a> {
    machine: &'a Machine,
    cycle: &'a Cycle,
    threads: usize,
    now: f64,
    events: Events,
    random: Random,
    /// For each lock, its stripes.
    doors: Vec<Vec<Door>>,
    asleep: usize,
    waited: f64,
}

impl<'a> Floor<'a> {
    fn new(machine: &'a Machine, cycle: &'a Cycle, threads: usize) -> Self {
        let stripes =
            |&(_, stripes): &(Lock, usize)| (0..stripes.max(1)).map(|_| Door::default()).collect();
        let mut floor = Floor {
            machine,
            cycle,
            threads,
            now: 0.0,
            events: Events::default(),
            random: Random::new(1),
            doors: cycle.locks.iter().map(stripes).collect(),
            asleep: 0,
            waited: 0.0,
        };
        for thread in 0..threads {
            let spread = floor.random.fraction() * cycle.work * cycle.batch;
            floor.events.add(spread, Event { thread, section: 0 });
        }
        floor
    }

    /// Lets the next thing happen; says whether a thread has ended its cycle.
    fn step(&mut self) -> bool {
        let Some((now, Event { thread, section })) = self.events.next() else { return true };
        self.now = now;
        // A thread comes from the section before, unless it has worked.
        if section > 0 {
            self.leave(section - 1, thread);
        }
        if section < self.cycle.sections.len() {
            self.enter(section, thread);
            return false;
        }
        let Cycle { batch, work, spread, .. } = *self.cycle;
        let work = self.random.gamma(work * batch, spread / batch.sqrt()) / self.speed();
        self.events.add(now + work, Event { thread, section: 0 });
        true
    }

    fn enter(&mut self, section: usize, thread: usize) {
        let Section { lock, .. } = self.cycle.sections[section];
        let stripe = thread % self.doors[lock].len();
        let door = &mut self.doors[lock][stripe];
        if std::mem::replace(&mut door.held, true) {
            door.queue.push_back(Waiter { thread, section, since: self.now });
            self.asleep += usize::from(self.cycle.locks[lock].0.sleeps());
        } else {
            self.hold(section, thread, 0);
        }
    }

    fn leave(&mut self, section: usize, thread: usize) {
        let Section { lock, .. } = self.cycle.sections[section];
        let stripe = thread % self.doors[lock].len();
        let door = &mut self.doors[lock][stripe];
        let waiting = door.queue.len();
        let Some(Waiter { thread, section, since }) = door.queue.pop_front() else {
            door.held = false;
            return;
        };
        self.asleep -= usize::from(self.cycle.locks[lock].0.sleeps());
        self.waited += self.now - since;
        self.hold(section, thread, waiting);
    }

    /// Gives the lock of a section to a thread, one of so many that waited.
    fn hold(&mut self, section: usize, thread: usize, waiting: usize) {
        let Section { lock, hold } = self.cycle.sections[section];
        let free = self.now + self.cycle.locks[lock].0.handoff(waiting) + hold / self.speed();
        self.events.add(free, Event { thread, section: section + 1 });
    }

    /// How fast a thread runs that is awake, compared with one alone on its core.
    fn speed(&self) -> f64 {
        let awake = (self.threads - self.asleep).max(1);
        self.machine.capacity(awake) / awake as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: Lock = Lock::Queue { handoff: 1.0 };

    fn cycle(work: f64, locks: &[(Lock, usize)], holds: &[(usize, f64)]) -> Cycle {
        let sections = holds.iter().map(|&(lock, hold)| Section { lock, hold }).collect();
        Cycle { batch: 1.0, work, spread: 0.5, locks: locks.to_vec(), sections }
    }

    fn close(rate: f64, expected: f64) {
        assert!((rate / expected - 1.0).abs() < 0.02, "{rate}, not {expected}");
    }

    #[test]
    fn without_locks_reads_pass_as_fast_as_the_cores_work() {
        let machine = Machine::new("", 8, &[1.0, 1.3]);
        let free = cycle(10.0, &[], &[]);
        close(run(&machine, &free, 4).rate, 4e5);
        close(run(&machine, &free, 16).rate, 8.0 * 1.3e5);
        assert_eq!(run(&machine, &free, 16).waited, 0.0);
    }

    #[test]
    fn a_lock_that_is_always_held_sets_the_pace() {
        let machine = Machine::new("", 64, &[1.0]);
        let one = cycle(10.0, &[(QUEUE, 1)], &[(0, 3.0)]);
        close(run(&machine, &one, 64).rate, 1e6 / 4.0);
        close(run(&machine, &one, 1).rate, 1e6 / 14.0);
        let outcome = run(&machine, &one, 8);
        assert!(outcome.rate <= 2.5e5 && (0.4..0.7).contains(&outcome.waited), "{outcome:?}");
        // The same lock twice in a cycle is held twice as long, two stripes half as often.
        close(run(&machine, &cycle(10.0, &[(QUEUE, 1)], &[(0, 3.0), (0, 3.0)]), 64).rate, 1e6 / 8.0);
        close(run(&machine, &cycle(10.0, &[(QUEUE, 2)], &[(0, 3.0)]), 64).rate, 1e6 / 2.0);
    }

    #[test]
    fn the_kinds_of_locks_differ_when_threads_wait() {
        let machine = Machine::new("", 16, &[1.0]);
        let rate = |lock| run(&machine, &cycle(1.0, &[(lock, 1)], &[(0, 1.0)]), 16).rate;
        close(rate(QUEUE), 1e6 / 2.0);
        close(rate(Lock::Futex { handoff: 1.0, wake: 2.0 }), 1e6 / 4.0);
        let spin = rate(Lock::Spin { handoff: 1.0, crowding: 0.1 });
        assert!((1e6 / 3.6..1e6 / 3.0).contains(&spin), "{spin}");
    }

    #[test]
    fn those_that_sleep_leave_their_core_to_others() {
        let machine = Machine::new("", 1, &[1.0]);
        let rate = |lock| run(&machine, &cycle(1.0, &[(lock, 1)], &[(0, 4.0)]), 8).rate;
        let (awake, asleep) = (Lock::Queue { handoff: 0.0 }, Lock::Futex { handoff: 0.0, wake: 0.0 });
        assert!(rate(asleep) > 3.0 * rate(awake));
    }

    #[test]
    fn the_same_arguments_give_the_same_answer() {
        let machine = Machine::new("", 4, &[1.0, 1.3]);
        let one = cycle(5.0, &[(QUEUE, 1)], &[(0, 1.0)]);
        assert_eq!(run(&machine, &one, 7), run(&machine, &one, 7));
        assert_eq!(peak(&machine, &one, &[1, 4, 2]).0, 4);
    }
}
