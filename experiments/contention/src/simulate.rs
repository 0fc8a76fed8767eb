//! A discrete-event simulator of threads that work and meet at locks.
//!
//! ```text
//! each thread:  work on a batch ─► section 0 ─► section 1 ─► ... ─┐
//!                ▲                                                 │
//!                └─────────────────────────────────────────────────┘
//! ```
//!
//! A section holds its lock for a time. Passing the lock to the next thread takes a time that
//! depends on the kind of lock. Threads wait in the order of their arrival. Threads on the same
//! core slow each other down ([`SimulatedMachine`]), also those that spin.
//!
//! Caches and memory bandwidth, storage, the distance between cores, and threads that lose their
//! core while they hold a lock are not simulated. The duration of an event is fixed when it begins.
//! The same arguments give the same result.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use readmill_simulate::Rng;

/// A kind of lock, with the times of passing it on, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LockModel {
    /// Each thread spins on a word of its own, as in the lock of Mellor-Crummey and Scott.
    Queue {
        /// Time from one thread to the next.
        handoff: f64,
    },
    Futex {
        /// Time from one thread to the next, if that is awake.
        handoff: f64,
        wake: f64,
    },
    /// All threads spin on the same word.
    Spin {
        /// Time from one thread to the next if no other thread waits.
        handoff: f64,
        /// Fraction of the handoff that each waiting thread adds to it.
        crowding: f64,
    },
}

impl LockModel {
    fn handoff_time(self, waiting: usize) -> f64 {
        match self {
            LockModel::Queue { handoff } => handoff,
            LockModel::Futex { handoff, wake } => handoff + if waiting > 0 { wake } else { 0.0 },
            LockModel::Spin { handoff, crowding } => handoff * (1.0 + crowding * waiting as f64),
        }
    }

    fn sleeps(self) -> bool {
        matches!(self, LockModel::Futex { .. })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct CriticalSection {
    /// Index of the lock in [`Cycle::locks`]. A lock may be entered several times.
    pub lock: usize,
    /// Microseconds for which it is held, by a thread that is alone on its core.
    pub hold: f64,
}

#[derive(Clone, Debug)]
pub struct Cycle {
    pub batch: f64,
    /// Microseconds of work per read outside of locks, for a thread that is alone on its core.
    pub work: f64,
    /// Standard deviation of the work, as a fraction of it.
    pub spread: f64,
    /// The locks and the number of instances of each. A thread always uses the same instance.
    pub locks: Vec<(LockModel, usize)>,
    pub sections: Vec<CriticalSection>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SimulatedRate {
    pub rate: f64,
    /// Fraction of the threads' time that they spent waiting for locks.
    pub waited: f64,
}

const MIN_CYCLES: [usize; 2] = [3000, 30];

/// Simulates threads on a machine until their throughput is known. The first fifth of the cycles is
/// not counted.
pub fn simulate_threads(machine: &SimulatedMachine, cycle: &Cycle, threads: usize) -> SimulatedRate {
    let last = MIN_CYCLES[0].max(MIN_CYCLES[1] * threads);
    let first = last / 5; // those before it only warm up
    let mut floor = Simulation::new(machine, cycle, threads);
    let (mut done, mut start, mut waited) = (0, 0.0, 0.0);
    while done < last {
        if floor.process_event() {
            done += 1;
            if done == first {
                (start, waited) = (floor.now, floor.waited);
            }
        }
    }
    let time = (floor.now - start).max(f64::MIN_POSITIVE);
    SimulatedRate {
        rate: (last - first) as f64 * cycle.batch / time * 1e6,
        waited: (floor.waited - waited) / (time * threads as f64),
    }
}

/// Finds the number of threads with the highest throughput among those given. Returns it with its
/// outcome.
pub fn find_peak(
    machine: &SimulatedMachine,
    cycle: &Cycle,
    threads: &[usize],
) -> (usize, SimulatedRate) {
    let mut best = (0, SimulatedRate { rate: 0.0, waited: 0.0 });
    for &threads in threads {
        let outcome = simulate_threads(machine, cycle, threads);
        if outcome.rate > best.1.rate {
            best = (threads, outcome);
        }
    }
    best
}

struct Waiter {
    thread: usize,
    section: usize,
    since: f64,
}

#[derive(Default)]
struct LockInstance {
    held: bool,
    queue: VecDeque<Waiter>,
}

/// The state of the simulation: all threads and locks at one time.
struct Simulation<'a> {
    machine: &'a SimulatedMachine,
    cycle: &'a Cycle,
    threads: usize,
    now: f64,
    events: Events,
    random: Rng,
    doors: Vec<Vec<LockInstance>>,
    asleep: usize,
    waited: f64,
}

impl<'a> Simulation<'a> {
    fn new(machine: &'a SimulatedMachine, cycle: &'a Cycle, threads: usize) -> Self {
        let stripes = |&(_, stripes): &(LockModel, usize)| {
            (0..stripes.max(1)).map(|_| LockInstance::default()).collect()
        };
        let mut floor = Simulation {
            machine,
            cycle,
            threads,
            now: 0.0,
            events: Events::default(),
            random: Rng::new(1),
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

    /// Processes the next event. Returns whether a thread completed its cycle.
    fn process_event(&mut self) -> bool {
        let Some((now, Event { thread, section })) = self.events.next() else { return true };
        self.now = now;
        // A thread that has not just worked comes from the section before.
        if section > 0 {
            self.leave_section(section - 1, thread);
        }
        if section < self.cycle.sections.len() {
            self.enter_section(section, thread);
            return false;
        }
        let Cycle { batch, work, spread, .. } = *self.cycle;
        let work =
            draw_gamma(&mut self.random, work * batch, spread / batch.sqrt()) / self.awake_speed();
        self.events.add(now + work, Event { thread, section: 0 });
        true
    }

    fn enter_section(&mut self, section: usize, thread: usize) {
        let CriticalSection { lock, .. } = self.cycle.sections[section];
        let stripe = thread % self.doors[lock].len();
        let door = &mut self.doors[lock][stripe];
        if std::mem::replace(&mut door.held, true) {
            door.queue.push_back(Waiter { thread, section, since: self.now });
            self.asleep += usize::from(self.cycle.locks[lock].0.sleeps());
        } else {
            self.grant_lock(section, thread, 0);
        }
    }

    fn leave_section(&mut self, section: usize, thread: usize) {
        let CriticalSection { lock, .. } = self.cycle.sections[section];
        let stripe = thread % self.doors[lock].len();
        let door = &mut self.doors[lock][stripe];
        let waiting = door.queue.len();
        let Some(Waiter { thread, section, since }) = door.queue.pop_front() else {
            door.held = false;
            return;
        };
        self.asleep -= usize::from(self.cycle.locks[lock].0.sleeps());
        self.waited += self.now - since;
        self.grant_lock(section, thread, waiting);
    }

    /// Gives the lock of a section to a thread. `waiting` is the number of threads that waited.
    fn grant_lock(&mut self, section: usize, thread: usize, waiting: usize) {
        let CriticalSection { lock, hold } = self.cycle.sections[section];
        let free = self.now + self.cycle.locks[lock].0.handoff_time(waiting) + hold / self.awake_speed();
        self.events.add(free, Event { thread, section: section + 1 });
    }

    /// Returns the speed of an awake thread, relative to one that is alone on its core.
    fn awake_speed(&self) -> f64 {
        let awake = (self.threads - self.asleep).max(1);
        self.machine.capacity(awake) / awake as f64
    }
}

/// A thread arrives at a section of its cycle. The index after the last section means that it
/// begins its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Event {
    thread: usize,
    section: usize,
}

/// Events in the order of time; of the same time, in the order in which they were added.
#[derive(Default)]
struct Events {
    heap: BinaryHeap<Entry>,
    added: u64,
}

struct Entry {
    time: f64,
    number: u64,
    event: Event,
}

impl Events {
    fn add(&mut self, time: f64, event: Event) {
        self.added += 1;
        self.heap.push(Entry { time, number: self.added, event });
    }

    fn next(&mut self) -> Option<(f64, Event)> {
        self.heap.pop().map(|entry| (entry.time, entry.event))
    }
}

impl Ord for Entry {
    /// `BinaryHeap` returns the greatest entry first, so the earliest must be the greatest.
    fn cmp(&self, other: &Self) -> Ordering {
        other.time.total_cmp(&self.time).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

/// Cores and their throughput with several hardware threads.
#[derive(Clone, Debug, PartialEq)]
pub struct SimulatedMachine {
    pub name: String,
    pub cores: usize,
    /// Throughput of a core with 1, 2, ... threads, relative to one thread.
    together: Vec<f64>,
}

impl SimulatedMachine {
    /// Makes a machine. `together` has the throughput of a core with 1, 2, ... threads, relative to
    /// one thread.
    pub fn new(name: &str, cores: usize, together: &[f64]) -> Self {
        SimulatedMachine { name: name.to_owned(), cores, together: together.to_vec() }
    }

    /// Returns the number of hardware threads.
    pub fn threads(&self) -> usize {
        self.cores * self.together.len()
    }

    /// Returns the throughput of `threads` threads, relative to one. Threads are spread evenly over
    /// the cores; more than [`SimulatedMachine::threads`] add nothing.
    pub fn capacity(&self, threads: usize) -> f64 {
        if threads <= self.cores {
            return threads as f64;
        }
        let each = threads as f64 / self.cores as f64;
        let (whole, part) = (each as usize, each.fract());
        let with = |n: usize| self.together.get(n - 1).or(self.together.last()).copied().unwrap_or(1.0);
        self.cores as f64 * (with(whole) * (1.0 - part) + with(whole + 1) * part)
    }
}

/// Draws from the normal distribution with mean 0 and deviation 1 (Box and Muller 1958).
fn draw_normal(random: &mut Rng) -> f64 {
    let (u, v) = (1.0 - random.fraction(), random.fraction());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

/// Draws from the gamma distribution with this mean, and with `spread` times the mean as standard
/// deviation; `spread` is between 0 and 1 (Marsaglia and Tsang 2000).
fn draw_gamma(random: &mut Rng, mean: f64, spread: f64) -> f64 {
    if spread <= 0.0 || mean <= 0.0 {
        return mean;
    }
    let shape = (spread * spread).recip().max(1.0);
    let d = shape - 1.0 / 3.0;
    let c = (9.0 * d).sqrt().recip();
    loop {
        let x = draw_normal(random);
        let v = (1.0 + c * x).powi(3);
        if v > 0.0 && (1.0 - random.fraction()).ln() < 0.5 * x * x + d - d * v + d * v.ln() {
            return mean * d * v / shape;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: LockModel = LockModel::Queue { handoff: 1.0 };

    fn cycle(work: f64, locks: &[(LockModel, usize)], holds: &[(usize, f64)]) -> Cycle {
        let sections = holds.iter().map(|&(lock, hold)| CriticalSection { lock, hold }).collect();
        Cycle { batch: 1.0, work, spread: 0.5, locks: locks.to_vec(), sections }
    }

    fn close(rate: f64, expected: f64) {
        assert!((rate / expected - 1.0).abs() < 0.02, "{rate}, not {expected}");
    }

    #[test]
    fn without_locks_reads_pass_as_fast_as_the_cores_work() {
        let machine = SimulatedMachine::new("", 8, &[1.0, 1.3]);
        let free = cycle(10.0, &[], &[]);
        close(simulate_threads(&machine, &free, 4).rate, 4e5);
        close(simulate_threads(&machine, &free, 16).rate, 8.0 * 1.3e5);
        assert_eq!(simulate_threads(&machine, &free, 16).waited, 0.0);
    }

    #[test]
    fn a_lock_that_is_always_held_sets_the_pace() {
        let machine = SimulatedMachine::new("", 64, &[1.0]);
        let one = cycle(10.0, &[(QUEUE, 1)], &[(0, 3.0)]);
        close(simulate_threads(&machine, &one, 64).rate, 1e6 / 4.0);
        close(simulate_threads(&machine, &one, 1).rate, 1e6 / 14.0);
        let outcome = simulate_threads(&machine, &one, 8);
        assert!(outcome.rate <= 2.5e5 && (0.4..0.7).contains(&outcome.waited), "{outcome:?}");
        // Two visits to one lock are one of twice the time; with two instances, each is held half
        // as often.
        close(
            simulate_threads(&machine, &cycle(10.0, &[(QUEUE, 1)], &[(0, 3.0), (0, 3.0)]), 64).rate,
            1e6 / 8.0,
        );
        close(simulate_threads(&machine, &cycle(10.0, &[(QUEUE, 2)], &[(0, 3.0)]), 64).rate, 1e6 / 2.0);
    }

    #[test]
    fn the_kinds_of_locks_differ_when_threads_wait() {
        let machine = SimulatedMachine::new("", 16, &[1.0]);
        let rate = |lock| simulate_threads(&machine, &cycle(1.0, &[(lock, 1)], &[(0, 1.0)]), 16).rate;
        close(rate(QUEUE), 1e6 / 2.0);
        close(rate(LockModel::Futex { handoff: 1.0, wake: 2.0 }), 1e6 / 4.0);
        let spin = rate(LockModel::Spin { handoff: 1.0, crowding: 0.1 });
        assert!((1e6 / 3.6..1e6 / 3.0).contains(&spin), "{spin}");
    }

    #[test]
    fn those_that_sleep_leave_their_core_to_others() {
        let machine = SimulatedMachine::new("", 1, &[1.0]);
        let rate = |lock| simulate_threads(&machine, &cycle(1.0, &[(lock, 1)], &[(0, 4.0)]), 8).rate;
        let (awake, asleep) =
            (LockModel::Queue { handoff: 0.0 }, LockModel::Futex { handoff: 0.0, wake: 0.0 });
        assert!(rate(asleep) > 3.0 * rate(awake));
    }

    #[test]
    fn the_same_arguments_give_the_same_answer() {
        let machine = SimulatedMachine::new("", 4, &[1.0, 1.3]);
        let one = cycle(5.0, &[(QUEUE, 1)], &[(0, 1.0)]);
        assert_eq!(simulate_threads(&machine, &one, 7), simulate_threads(&machine, &one, 7));
        assert_eq!(find_peak(&machine, &one, &[1, 4, 2]).0, 4);
    }

    #[test]
    fn the_earliest_comes_first_and_of_one_time_the_first_that_was_added() {
        let mut events = Events::default();
        for (time, thread) in [(2.0, 0), (1.0, 1), (2.0, 2), (0.5, 3)] {
            events.add(time, Event { thread, section: 0 });
        }
        let order: Vec<usize> = std::iter::from_fn(|| events.next()).map(|(_, e)| e.thread).collect();
        assert_eq!(order, [3, 1, 0, 2]);
    }

    #[test]
    fn capacity_grows_less_where_threads_share_cores_and_not_at_all_beyond() {
        let machine = SimulatedMachine::new("", 4, &[1.0, 1.3]);
        let capacities = [1, 4, 6, 8, 9, 100].map(|n| machine.capacity(n));
        assert_eq!(machine.threads(), 8);
        for (capacity, expected) in capacities.into_iter().zip([1.0, 4.0, 4.6, 5.2, 5.2, 5.2]) {
            assert!((capacity - expected).abs() < 1e-9, "{capacity}, not {expected}");
        }
    }

    #[test]
    fn gamma_has_its_mean_and_deviation() {
        let mut random = Rng::new(3);
        for spread in [0.1, 0.5, 1.0] {
            let values: Vec<f64> = (0..40_000).map(|_| draw_gamma(&mut random, 20.0, spread)).collect();
            let mean = values.iter().sum::<f64>() / 4e4;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4e4;
            assert!((mean - 20.0).abs() < 0.4, "{mean}");
            assert!((variance.sqrt() / 20.0 / spread - 1.0).abs() < 0.03, "{variance}");
        }
        assert_eq!(draw_gamma(&mut random, 5.0, 0.0), 5.0);
    }
}
