//! The throughput of each way of reading on a machine with many cores, if critical sections take as long there as here.
//!
//! It is a projection: nothing here has run on such a machine. It leaves out storage, memory bandwidth, the output, and the
//! cost of distance between the parts of a large machine beyond one handoff of a lock.

use crate::files::Section;
use crate::simulate::{self, Cycle, Lock, Machine};

/// How threads come to their reads.
#[derive(Clone, Debug)]
pub struct Way {
    /// The name in tables and plots.
    pub name: String,
    /// Reads that are taken at a time.
    pub batch: f64,
    /// Times of critical sections in the cycle of a batch.
    pub visits: usize,
    /// Nanoseconds per read, in all of those together and outside.
    pub section: Section,
}

/// The throughput of one way of reading with some number of threads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Threads.
    pub threads: usize,
    /// Reads per second.
    pub rate: f64,
    /// Part of what the cores would do if reads cost nothing to come by.
    pub of_ideal: f64,
}

/// The machine for which is projected: two threads on each core, which then does 1.3 times the work.
pub fn machine(cores: usize) -> Machine {
    Machine::new("projected", cores, &[1.0, 1.3])
}

/// Reads per second if reads cost nothing to come by, at so many microseconds of work for each.
pub fn ideal(machine: &Machine, work: f64, threads: usize) -> f64 {
    machine.capacity(threads) / work * 1e6
}

/// The throughput for `work` microseconds a read, where handing over a lock takes `handoff` microseconds.
pub fn project(machine: &Machine, way: &Way, work: f64, handoff: f64, threads: usize) -> Point {
    let Way { batch, visits, section, .. } = way;
    let held = section.held * batch / *visits as f64 / 1e3;
    let cycle = Cycle {
        batch: *batch,
        work: work + (section.all - section.held) / 1e3,
        spread: 0.5,
        locks: vec![(Lock::Queue { handoff }, 1)],
        sections: vec![simulate::Section { lock: 0, hold: held }; *visits],
    };
    let rate = simulate::run(machine, &cycle, threads).rate;
    Point { threads, rate, of_ideal: rate / ideal(machine, work, threads) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_for_longer_allows_less() {
        let machine = machine(256);
        let of = |held: f64, batch: f64| {
            let section = Section { held, all: held + 50.0 };
            let way = Way { name: String::new(), batch, visits: 1, section };
            project(&machine, &way, 20.0, 1.0, 512)
        };
        let (one, many, block) = (of(500.0, 2.0), of(100.0, 2048.0), of(0.1, 2048.0));
        assert!(one.rate < 1.1e6 && many.rate < 1.01e7, "{one:?} {many:?}");
        assert!(many.of_ideal > 0.3 && block.of_ideal > 0.95, "{many:?} {block:?}");
    }
}
