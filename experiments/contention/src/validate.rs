//! Tests how well the simulator predicts measurements that it was not fitted to.
//!
//! For each machine of Langmead et al. 2018, a few times are fitted to the published results of one
//! program ([`FITTED`]); the results of the other programs are then predicted. The work per read is
//! taken from the way of reading that suffers least from locks. The rows of that way would always
//! agree, so they are omitted.

use crate::simulate::{Cycle, Lock, Machine, Section, peak};

pub fn summary(factors: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = factors.clone().count().max(1) as f64;
    let sum: f64 = factors.clone().map(f64::ln).sum();
    ((sum / count).exp(), factors.fold(1.0, f64::max))
}

/// Returns the machines of the paper. A core with two threads is assumed to do 1.3 times the work
/// of one thread, and a core of Knights Landing with four threads 1.7 times.
pub fn machines() -> [Machine; 3] {
    [
        Machine::new("Skylake", 48, &[1.0, 1.3]),
        Machine::new("Broadwell", 56, &[1.0, 1.3]),
        Machine::new("KNL", 68, &[1.0, 1.45, 1.6, 1.7]),
    ]
}

pub struct Validation {
    pub costs: Vec<(Machine, Costs)>,
    pub ways: Vec<Row>,
    pub locks: Vec<Row>,
}

pub fn validate() -> Validation {
    let published = peaks();
    let (mut costs, mut ways, mut locks) = (Vec::new(), Vec::new(), Vec::new());
    for machine in machines() {
        let table = Table { published: &published, machine: &machine };
        let fitted = table.fit();
        ways.extend(table.predict(&fitted));
        locks.extend(predict_locks(&table, &fitted));
        costs.push((machine, fitted));
    }
    Validation { costs, ways, locks }
}

/// The best published throughput of one program with one way of reading on one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// `Skylake`, `Broadwell` or `KNL`.
    pub machine: &'static str,
    /// `HISAT`, `Bowtie` or `Bowtie 2`.
    pub aligner: &'static str,
    pub way: &'static str,
    pub threads: usize,
    pub rate: f64,
}

/// Reads the published results of Langmead et al. 2018 for unpaired reads. `data/langmead2018.tsv`
/// names their source.
fn peaks() -> Vec<Peak> {
    include_str!("../data/langmead2018.tsv").lines().filter_map(published_peak).collect()
}

fn published_peak(line: &'static str) -> Option<Peak> {
    let mut fields = line.split('\t').filter(|_| !line.starts_with('#'));
    let [machine, aligner, way] = [fields.next()?, fields.next()?, fields.next()?];
    let [threads, thousands] = [fields.next()?, fields.next()?];
    Some(Peak {
        machine,
        aligner,
        way,
        threads: threads.parse().ok()?,
        rate: thousands.parse::<f64>().ok()? * 1e3,
    })
}

/// A way of reading in the paper, and the number of output files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    parsing: Parsing,
    outputs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Parsing {
    /// A record is read and parsed while the lock is held.
    Original,
    /// A record is read while the lock is held, and parsed afterwards.
    Deferred,
    /// Like deferred, 32 records at a time.
    Batches,
    /// A block of 12,288 bytes is read while the lock is held. Records do not cross its ends.
    Blocks,
}

impl Way {
    fn named(name: &str) -> Way {
        let (parsing, outputs) = match (name.get(..1), name.get(1..)) {
            (Some("D"), _) => (Parsing::Deferred, 1),
            (Some("B"), _) => (Parsing::Batches, 1),
            (Some("L"), Some(outputs)) => (Parsing::Blocks, outputs.parse().unwrap_or(1)),
            _ => (Parsing::Original, 1),
        };
        Way { parsing, outputs }
    }
}

#[derive(Clone, Copy, Debug)]
struct Program {
    work: f64,
    /// Reads in a padded block of 12,288 bytes. It gives the length of a read, to which times in
    /// critical sections are proportional.
    reads_in_block: f64,
}

/// Times in microseconds that are fitted to published results. `scan`, `parse` and `write` are per
/// read of 100 bases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    pub handoff: f64,
    /// Finding the end of a record, character by character.
    pub scan: f64,
    pub parse: f64,
    pub write: f64,
}

const READS_IN_BLOCK: f64 = 44.0;

/// Time of reading a block without looking at it, as a fraction of the time of scanning it. The
/// tables do not determine it: with 0 or 1/4 the mean errors are the same to 1 %.
const READ_OF_SCAN: f64 = 1.0 / 12.0;

/// Standard deviation of the work per read, as a fraction.
const SPREAD: f64 = 0.5;

impl Costs {
    /// Computes first values from the times between reads with the ways O, D, B and L, as if the
    /// critical section were never empty.
    fn guess([o, d, b, l]: [f64; 4]) -> Self {
        let handoff = (d - b) * 32.0 / 31.0;
        let scan = b - handoff / 32.0;
        Costs { handoff, scan, parse: (o - d).max(0.0), write: l - handoff / READS_IN_BLOCK }
    }

    /// Corrects the times by the differences between published and simulated microseconds per read.
    fn correct(&mut self, o: f64, d: f64, b: f64, l: f64) {
        let towards = |time: &mut f64, by: f64| *time = (*time + by).max(0.01);
        towards(&mut self.handoff, (d - b) * 32.0 / 31.0);
        towards(&mut self.scan, b - (d - b) / 31.0);
        towards(&mut self.parse, o - d);
        towards(&mut self.write, l);
    }

    /// Returns the cycle of each thread, with a queueing lock.
    fn cycle(&self, program: &Program, way: Way) -> Cycle {
        self.cycle_with(Lock::Queue { handoff: self.handoff }, program, way)
    }

    fn cycle_with(&self, lock: Lock, program: &Program, way: Way) -> Cycle {
        let bytes = READS_IN_BLOCK / program.reads_in_block; // of a read, compared with the fitted program
        let (scan, parse, write) = (self.scan * bytes, self.parse * bytes, self.write * bytes);
        let (batch, read, alone) = match way.parsing {
            Parsing::Original => (1.0, scan + parse, 0.0),
            Parsing::Deferred => (1.0, scan, parse),
            Parsing::Batches => (32.0, scan, parse),
            Parsing::Blocks => (program.reads_in_block, scan * READ_OF_SCAN, scan + parse),
        };
        // `work` was measured with blocks, where reads are scanned and parsed outside of locks, so
        // it contains both.
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

/// The program whose measurements are fitted.
pub const FITTED: &str = "HISAT";

const WAYS: [&str; 4] = ["O", "D", "B", "L"];

/// Ways with several output files, which are predicted for the fitted program, too.
const STRIPED: [&str; 3] = ["L2", "L4", "L8"];

#[derive(Clone, Debug)]
pub struct Row {
    pub published: Peak,
    pub fitted: bool,
    /// Reads per second with the best number of threads, and that number.
    pub predicted: (f64, usize),
    /// Prediction of the null model, in which nothing slows threads down: for ways of reading, the
    /// best way of the same program; for locks, the queueing lock.
    pub null: f64,
}

impl Row {
    pub fn error(&self) -> f64 {
        factor(self.predicted.0, self.published.rate)
    }

    pub fn null_error(&self) -> f64 {
        factor(self.null, self.published.rate)
    }
}

fn factor(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

struct Table<'a> {
    published: &'a [Peak],
    machine: &'a Machine,
}

impl Table<'_> {
    fn rows(&self) -> impl Iterator<Item = Peak> {
        self.published.iter().copied().filter(|peak| peak.machine == self.machine.name)
    }

    fn rate(&self, aligner: &str, way: &str) -> f64 {
        self.rows()
            .find(|peak| (peak.aligner, peak.way) == (aligner, way))
            .map_or(f64::NAN, |peak| peak.rate)
    }

    fn program(&self, aligner: &str) -> Program {
        // The way with the least locking: separate processes, or one file for 16 threads.
        let best = self.rate(aligner, "L16").max(self.rate(aligner, "MP"));
        let work = self.machine.capacity(self.machine.threads()) / best * 1e6;
        // 70 reads of 50 bases fill a block, like 44 reads of 100 bases.
        if aligner == "Bowtie" {
            Program { work, reads_in_block: 70.0 }
        } else {
            Program { work, reads_in_block: 44.0 }
        }
    }

    /// Returns the highest simulated reads per second, and the number of threads.
    fn peak(&self, cycle: &Cycle) -> (f64, usize) {
        let series: Vec<usize> = (1..=SERIES).map(|i| self.machine.threads() * i / SERIES).collect();
        let (threads, outcome) = peak(self.machine, cycle, &series);
        (outcome.rate, threads)
    }

    fn predict(&self, costs: &Costs) -> Vec<Row> {
        let is_row = |peak: &Peak| WAYS.contains(&peak.way) || STRIPED.contains(&peak.way);
        let row = |published: Peak| {
            let aligner = published.aligner;
            let cycle = costs.cycle(&self.program(aligner), Way::named(published.way));
            let best = self.rows().filter(|peak| peak.aligner == aligner).map(|peak| peak.rate);
            Row {
                published,
                fitted: aligner == FITTED && WAYS.contains(&published.way),
                predicted: self.peak(&cycle),
                null: best.fold(0.0, f64::max),
            }
        };
        self.rows().filter(is_row).map(row).collect()
    }

    /// Finds the times for which the simulator reproduces the published results of [`FITTED`]. Each
    /// row mostly determines one of them.
    fn fit(&self) -> Costs {
        let program = self.program(FITTED);
        let per_read = |way| 1e6 / self.rate(FITTED, way);
        let mut costs = Costs::guess(WAYS.map(per_read));
        for _ in 0..ROUNDS {
            let [o, d, b, l] = WAYS
                .map(|way| per_read(way) - 1e6 / self.peak(&costs.cycle(&program, Way::named(way))).0);
            costs.correct(o, d, b, l);
        }
        costs
    }
}

/// Numbers of threads that are tried, evenly up to all threads of the machine.
const SERIES: usize = 12;

const ROUNDS: usize = 6;

/// A kind of lock: its name in the published tables, and how to make it from the handoff and its
/// additional cost.
type Kind = (&'static str, fn(f64, f64) -> Lock);

const KINDS: [Kind; 2] = [
    ("spin", |handoff, crowding| Lock::Spin { handoff, crowding }),
    ("futex", |handoff, wake| Lock::Futex { handoff, wake }),
];

/// Fits the additional cost of each kind of lock to one program, and predicts the other programs.
fn predict_locks(table: &Table<'_>, costs: &Costs) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, lock) in KINDS {
        let price = fit_lock(table, costs, (name, lock));
        let row = |published: Peak| Row {
            published,
            fitted: published.aligner == FITTED,
            predicted: peak_with_lock(table, costs, published.aligner, lock(costs.handoff, price)),
            null: table.rate(published.aligner, "O"),
        };
        rows.extend(table.rows().filter(|peak| peak.way == name).map(row));
    }
    rows
}

fn peak_with_lock(table: &Table<'_>, costs: &Costs, aligner: &str, lock: Lock) -> (f64, usize) {
    table.peak(&costs.cycle_with(lock, &table.program(aligner), Way::named("O")))
}

/// Finds the cost at which the fitted program is as fast as published, by bisection: a higher cost
/// means lower throughput.
fn fit_lock(table: &Table<'_>, costs: &Costs, (name, lock): Kind) -> f64 {
    let published = table.rate(FITTED, name);
    let (mut low, mut high) = (0.0, 64.0);
    for _ in 0..12 {
        let price = (low + high) / 2.0;
        if peak_with_lock(table, costs, FITTED, lock(costs.handoff, price)).0 > published {
            low = price;
        } else {
            high = price;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_summed_up_by_their_geometric_mean() {
        assert_eq!(summary([2.0, 8.0].into_iter()), (4.0, 8.0));
    }

    #[test]
    fn what_is_fitted_is_met_and_what_is_not_is_foretold_better_than_by_nothing() {
        let Validation { costs, ways, locks } = validate();
        let of = |fitted: bool| ways.iter().filter(move |row| row.fitted == fitted);
        assert_eq!((of(true).count(), of(false).count(), locks.len()), (12, 51, 18));
        assert!(summary(of(true).map(Row::error)).0 < 1.1);
        let bowtie = || of(false).filter(|row| row.published.aligner == "Bowtie");
        assert!(summary(bowtie().map(Row::error)).0 < summary(bowtie().map(Row::null_error)).0);
        assert!(costs.iter().all(|(_, costs)| (0.1..10.0).contains(&costs.handoff)), "{costs:?}");
    }

    #[test]
    fn every_line_is_a_peak() {
        let peaks = peaks();
        assert_eq!(peaks.len(), 3 * 3 * 12);
        let of = |way| peaks.iter().find(|p| (p.machine, p.aligner, p.way) == ("KNL", "Bowtie 2", way));
        assert_eq!(of("MP").map(|p| (p.threads, p.rate)), Some((272, 70_760.0)));
    }

    #[test]
    fn factors_do_not_care_for_the_direction() {
        assert_eq!(factor(2.0, 1.0), factor(1.0, 2.0));
    }
}
