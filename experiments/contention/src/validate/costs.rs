//! The critical sections of the paper's programs, and how long they take on one machine.

use crate::simulate::{Cycle, Lock, Section};

/// How a program reads, and how many files it writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    parsing: Parsing,
    outputs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Parsing {
    /// One record is read and parsed with the lock held.
    Original,
    /// One record is read with the lock held, and parsed afterwards.
    Deferred,
    /// As deferred, 32 records at a time.
    Batches,
    /// A block of 12,288 bytes is read with the lock held; records do not cross its ends.
    Blocks,
}

impl Way {
    /// The way of that name in the published tables.
    pub fn named(name: &str) -> Way {
        let (parsing, outputs) = match (name.get(..1), name.get(1..)) {
            (Some("D"), _) => (Parsing::Deferred, 1),
            (Some("B"), _) => (Parsing::Batches, 1),
            (Some("L"), Some(outputs)) => (Parsing::Blocks, outputs.parse().unwrap_or(1)),
            _ => (Parsing::Original, 1),
        };
        Way { parsing, outputs }
    }
}

/// One of the programs, on one of the machines.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Microseconds of work for a read.
    pub work: f64,
    /// Reads in a padded block of 12,288 bytes. What is done to a read in a critical section takes as long as it has bytes.
    pub reads_in_block: f64,
}

/// Microseconds that are fitted, those of reads for reads of 100 bases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Handing a queueing lock to the next thread.
    pub handoff: f64,
    /// Looking for the end of a record, character by character.
    pub scan: f64,
    /// Parsing a record.
    pub parse: f64,
    /// Writing a read.
    pub write: f64,
}

/// Reads of 100 bases in a padded block.
const READS_IN_BLOCK: f64 = 44.0;

/// Reading a block without looking at it takes this part of scanning it. The tables do not tell it: with 0 or 1/4 the mean
/// errors are the same to 1 %.
pub const READ_OF_SCAN: f64 = 1.0 / 12.0;

/// Standard deviation of the work for a read, as a fraction.
const SPREAD: f64 = 0.5;

impl Costs {
    /// The costs that follow from the times between reads of the ways O, D, B and L, if the critical section is never empty.
    pub fn guess([o, d, b, l]: [f64; 4]) -> Self {
        let handoff = (d - b) * 32.0 / 31.0;
        let scan = b - handoff / 32.0;
        Costs { handoff, scan, parse: (o - d).max(0.0), write: l - handoff / READS_IN_BLOCK }
    }

    /// Goes so many microseconds per read towards what is published.
    pub fn correct(&mut self, o: f64, d: f64, b: f64, l: f64) {
        let towards = |time: &mut f64, by: f64| *time = (*time + by).max(0.01);
        towards(&mut self.handoff, (d - b) * 32.0 / 31.0);
        towards(&mut self.scan, b - (d - b) / 31.0);
        towards(&mut self.parse, o - d);
        towards(&mut self.write, l);
    }

    /// The cycle of every thread of the program that reads this way.
    pub fn cycle(&self, program: &Program, way: Way) -> Cycle {
        self.cycle_with(Lock::Queue { handoff: self.handoff }, program, way)
    }

    /// The same with another kind of lock.
    pub fn cycle_with(&self, lock: Lock, program: &Program, way: Way) -> Cycle {
        let bytes = READS_IN_BLOCK / program.reads_in_block; // of a read, compared with the fitted program
        let (scan, parse, write) = (self.scan * bytes, self.parse * bytes, self.write * bytes);
        let (batch, read, alone) = match way.parsing {
            Parsing::Original => (1.0, scan + parse, 0.0),
            Parsing::Deferred => (1.0, scan, parse),
            Parsing::Batches => (32.0, scan, parse),
            Parsing::Blocks => (program.reads_in_block, scan * READ_OF_SCAN, scan + parse),
        };
        // All of a read's work was measured where blocks are scanned and parsed outside: it is in `work` already.
        let work = (program.work - scan - parse).max(0.0) + alone;
        Cycle {
            batch,
            work,
            spread: SPREAD,
            locks: vec![(lock, way.outputs), (lock, 1)],
            sections: vec![
                Section { lock: 0, hold: write * batch },
                Section { lock: 1, hold: read * batch },
            ],
        }
    }
}
