//! Projects the throughput of each way of reading to a machine with many cores, if critical
//! sections take as long there as here.
//!
//! Nothing here was run on such a machine. The projection omits storage, memory bandwidth, the
//! output, and the cost of distance within a large machine beyond one handoff of a lock.

use crate::files::ReadCost;
use crate::simulate::{self, Cycle, LockModel, SimulatedMachine};

/// A way of reading, as far as the projection needs it.
#[derive(Clone, Debug)]
pub struct WayCost {
    pub name: String,
    /// Reads that are taken together.
    pub batch: f64,
    /// Number of critical sections for each batch.
    pub visits: usize,
    /// Time per read, in all critical sections together and in total.
    pub section: ReadCost,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub threads: usize,
    pub rate: f64,
    pub of_ideal: f64,
}

/// Returns the machine to project to: two threads on each core, which together do 1.3 times the
/// work of one.
pub fn projected_machine(cores: usize) -> SimulatedMachine {
    SimulatedMachine::new("projected", cores, &[1.0, 1.3])
}

/// Returns the reads per second if input were free, with `work` microseconds for each read.
pub fn ideal_rate(machine: &SimulatedMachine, work: f64, threads: usize) -> f64 {
    machine.capacity(threads) / work * 1e6
}

/// Simulates a way of reading with `work` microseconds for each read and `handoff` microseconds for
/// passing the lock on.
pub fn project_way(
    machine: &SimulatedMachine,
    way: &WayCost,
    work: f64,
    handoff: f64,
    threads: usize,
) -> Point {
    let WayCost { batch, visits, section, .. } = way;
    let held = section.held * batch / *visits as f64 / 1e3;
    let cycle = Cycle {
        batch: *batch,
        work: work + (section.all - section.held) / 1e3,
        spread: 0.5,
        locks: vec![(LockModel::Queue { handoff }, 1)],
        sections: vec![simulate::CriticalSection { lock: 0, hold: held }; *visits],
    };
    let rate = simulate::simulate_threads(machine, &cycle, threads).rate;
    Point { threads, rate, of_ideal: rate / ideal_rate(machine, work, threads) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_for_longer_allows_less() {
        let machine = projected_machine(256);
        let of = |held: f64, batch: f64| {
            let section = ReadCost { held, all: held + 50.0 };
            let way = WayCost { name: String::new(), batch, visits: 1, section };
            project_way(&machine, &way, 20.0, 1.0, 512)
        };
        let (one, many, block) = (of(500.0, 2.0), of(100.0, 2048.0), of(0.1, 2048.0));
        assert!(one.rate < 1.1e6 && many.rate < 1.01e7, "{one:?} {many:?}");
        assert!(many.of_ideal > 0.3 && block.of_ideal > 0.95, "{many:?} {block:?}");
    }
}
