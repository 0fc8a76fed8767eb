//! Tests how well the simulator predicts measurements that it was not fitted to.
//!
//! For each machine of Langmead et al. 2018, a few times are fitted to the published results of one
//! program ([`FITTED`]); the results of the other programs are then predicted. The work per read is
//! taken from the way of reading that suffers least from locks. The rows of that way would always
//! agree, so they are omitted.

use crate::simulate::{CriticalSection, Cycle, LockModel, SimulatedMachine, find_peak};

pub fn factor_summary(factors: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = factors.clone().count().max(1) as f64;
    let sum: f64 = factors.clone().map(f64::ln).sum();
    ((sum / count).exp(), factors.fold(1.0, f64::max))
}

/// Returns the machines of the paper. A core with two threads is assumed to do 1.3 times the work
/// of one thread, and a core of Knights Landing with four threads 1.7 times.
pub fn paper_machines() -> [SimulatedMachine; 3] {
    [
        SimulatedMachine::new("Skylake", 48, &[1.0, 1.3]),
        SimulatedMachine::new("Broadwell", 56, &[1.0, 1.3]),
        SimulatedMachine::new("KNL", 68, &[1.0, 1.45, 1.6, 1.7]),
    ]
}

pub struct Validation {
    pub costs: Vec<(SimulatedMachine, FittedCosts)>,
    pub ways: Vec<PredictedRow>,
    pub locks: Vec<PredictedRow>,
}

pub fn validate_simulator() -> Validation {
    let published = published_peaks();
    let (mut costs, mut ways, mut locks) = (Vec::new(), Vec::new(), Vec::new());
    for machine in paper_machines() {
        let table = MachineTable { published: &published, machine: &machine };
        let fitted = table.fit_costs();
        ways.extend(table.predict_ways(&fitted));
        locks.extend(predict_locks(&table, &fitted));
        costs.push((machine, fitted));
    }
    Validation { costs, ways, locks }
}

/// The best published throughput of one program with one way of reading on one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedPeak {
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
fn published_peaks() -> Vec<PublishedPeak> {
    include_str!("../data/langmead2018.tsv").lines().filter_map(published_peak).collect()
}

fn published_peak(line: &'static str) -> Option<PublishedPeak> {
    let mut fields = line.split('\t').filter(|_| !line.starts_with('#'));
    let [machine, aligner, way] = [fields.next()?, fields.next()?, fields.next()?];
    let [threads, thousands] = [fields.next()?, fields.next()?];
    Some(PublishedPeak {
        machine,
        aligner,
        way,
        threads: threads.parse().ok()?,
        rate: thousands.parse::<f64>().ok()? * 1e3,
    })
}

/// A way of reading in the paper, and the number of output files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PublishedWay {
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

impl PublishedWay {
    fn from_name(name: &str) -> PublishedWay {
        let (parsing, outputs) = match (name.get(..1), name.get(1..)) {
            (Some("D"), _) => (Parsing::Deferred, 1),
            (Some("B"), _) => (Parsing::Batches, 1),
            (Some("L"), Some(outputs)) => (Parsing::Blocks, outputs.parse().unwrap_or(1)),
            _ => (Parsing::Original, 1),
        };
        PublishedWay { parsing, outputs }
    }
}

#[derive(Clone, Copy, Debug)]
struct ProgramCost {
    work: f64,
    /// Reads in a padded block of 12,288 bytes. It gives the length of a read, to which times in
    /// critical sections are proportional.
    reads_in_block: f64,
}

/// Times in microseconds that are fitted to published results. `scan`, `parse` and `write` are per
/// read of 100 bases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FittedCosts {
    pub handoff: f64,
    /// Finding the end of a record, character by character.
    pub scan: f64,
    pub parse: f64,
    pub write: f64,
}

const READS_IN_BLOCK: f64 = 44.0;

/// Time of reading a block without looking at it, as a fraction of the time of scanning it. The
/// tables do not determine it: with 0 or 1/4 the mean errors are the same to 1 %.
const READ_BY_SCAN_RATIO: f64 = 1.0 / 12.0;

/// Standard deviation of the work per read, as a fraction.
const SPREAD: f64 = 0.5;

impl FittedCosts {
    /// Computes first values from the times between reads with the ways O, D, B and L, as if the
    /// critical section were never empty.
    fn initial_guess([o, d, b, l]: [f64; 4]) -> Self {
        let handoff = (d - b) * 32.0 / 31.0;
        let scan = b - handoff / 32.0;
        FittedCosts { handoff, scan, parse: (o - d).max(0.0), write: l - handoff / READS_IN_BLOCK }
    }

    /// Corrects the times by the differences between published and simulated microseconds per read.
    fn correct_by(&mut self, o: f64, d: f64, b: f64, l: f64) {
        let towards = |time: &mut f64, by: f64| *time = (*time + by).max(0.01);
        towards(&mut self.handoff, (d - b) * 32.0 / 31.0);
        towards(&mut self.scan, b - (d - b) / 31.0);
        towards(&mut self.parse, o - d);
        towards(&mut self.write, l);
    }

    /// Returns the cycle of each thread, with a queueing lock.
    fn queue_cycle(&self, program: &ProgramCost, way: PublishedWay) -> Cycle {
        self.cycle_with(LockModel::Queue { handoff: self.handoff }, program, way)
    }

    fn cycle_with(&self, lock: LockModel, program: &ProgramCost, way: PublishedWay) -> Cycle {
        let bytes = READS_IN_BLOCK / program.reads_in_block; // of a read, compared with the fitted program
        let (scan, parse, write) = (self.scan * bytes, self.parse * bytes, self.write * bytes);
        let (batch, read, alone) = match way.parsing {
            Parsing::Original => (1.0, scan + parse, 0.0),
            Parsing::Deferred => (1.0, scan, parse),
            Parsing::Batches => (32.0, scan, parse),
            Parsing::Blocks => (program.reads_in_block, scan * READ_BY_SCAN_RATIO, scan + parse),
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
                CriticalSection { lock: 0, hold: write * batch },
                CriticalSection { lock: 1, hold: read * batch },
            ],
        }
    }
}

/// The program whose measurements are fitted.
pub const FITTED: &str = "HISAT";

const FITTED_WAYS: [&str; 4] = ["O", "D", "B", "L"];

/// Ways with several output files, which are predicted for the fitted program, too.
const STRIPED_WAYS: [&str; 3] = ["L2", "L4", "L8"];

#[derive(Clone, Debug)]
pub struct PredictedRow {
    pub published: PublishedPeak,
    pub fitted: bool,
    /// Reads per second with the best number of threads, and that number.
    pub predicted: (f64, usize),
    /// Prediction of the null model, in which nothing slows threads down: for ways of reading, the
    /// best way of the same program; for locks, the queueing lock.
    pub null: f64,
}

impl PredictedRow {
    pub fn error(&self) -> f64 {
        error_factor(self.predicted.0, self.published.rate)
    }

    pub fn null_error(&self) -> f64 {
        error_factor(self.null, self.published.rate)
    }
}

fn error_factor(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

struct MachineTable<'a> {
    published: &'a [PublishedPeak],
    machine: &'a SimulatedMachine,
}

impl MachineTable<'_> {
    fn published_rows(&self) -> impl Iterator<Item = PublishedPeak> {
        self.published.iter().copied().filter(|peak| peak.machine == self.machine.name)
    }

    fn published_rate(&self, aligner: &str, way: &str) -> f64 {
        self.published_rows()
            .find(|peak| (peak.aligner, peak.way) == (aligner, way))
            .map_or(f64::NAN, |peak| peak.rate)
    }

    fn program_cost(&self, aligner: &str) -> ProgramCost {
        // The way with the least locking: separate processes, or one file for 16 threads.
        let best = self.published_rate(aligner, "L16").max(self.published_rate(aligner, "MP"));
        let work = self.machine.capacity(self.machine.threads()) / best * 1e6;
        // 70 reads of 50 bases fill a block, like 44 reads of 100 bases.
        if aligner == "Bowtie" {
            ProgramCost { work, reads_in_block: 70.0 }
        } else {
            ProgramCost { work, reads_in_block: 44.0 }
        }
    }

    /// Returns the highest simulated reads per second, and the number of threads.
    fn simulated_peak(&self, cycle: &Cycle) -> (f64, usize) {
        let series: Vec<usize> =
            (1..=THREAD_STEPS).map(|i| self.machine.threads() * i / THREAD_STEPS).collect();
        let (threads, outcome) = find_peak(self.machine, cycle, &series);
        (outcome.rate, threads)
    }

    fn predict_ways(&self, costs: &FittedCosts) -> Vec<PredictedRow> {
        let is_row =
            |peak: &PublishedPeak| FITTED_WAYS.contains(&peak.way) || STRIPED_WAYS.contains(&peak.way);
        let row = |published: PublishedPeak| {
            let aligner = published.aligner;
            let cycle =
                costs.queue_cycle(&self.program_cost(aligner), PublishedWay::from_name(published.way));
            let best =
                self.published_rows().filter(|peak| peak.aligner == aligner).map(|peak| peak.rate);
            PredictedRow {
                published,
                fitted: aligner == FITTED && FITTED_WAYS.contains(&published.way),
                predicted: self.simulated_peak(&cycle),
                null: best.fold(0.0, f64::max),
            }
        };
        self.published_rows().filter(is_row).map(row).collect()
    }

    /// Finds the times for which the simulator reproduces the published results of [`FITTED`]. Each
    /// row mostly determines one of them.
    fn fit_costs(&self) -> FittedCosts {
        let program = self.program_cost(FITTED);
        let per_read = |way| 1e6 / self.published_rate(FITTED, way);
        let mut costs = FittedCosts::initial_guess(FITTED_WAYS.map(per_read));
        for _ in 0..FIT_ROUNDS {
            let [o, d, b, l] = FITTED_WAYS.map(|way| {
                per_read(way)
                    - 1e6
                        / self
                            .simulated_peak(&costs.queue_cycle(&program, PublishedWay::from_name(way)))
                            .0
            });
            costs.correct_by(o, d, b, l);
        }
        costs
    }
}

/// Numbers of threads that are tried, evenly up to all threads of the machine.
const THREAD_STEPS: usize = 12;

const FIT_ROUNDS: usize = 6;

/// A kind of lock: its name in the published tables, and how to make it from the handoff and its
/// additional cost.
type PublishedLock = (&'static str, fn(f64, f64) -> LockModel);

const PUBLISHED_LOCKS: [PublishedLock; 2] = [
    ("spin", |handoff, crowding| LockModel::Spin { handoff, crowding }),
    ("futex", |handoff, wake| LockModel::Futex { handoff, wake }),
];

/// Fits the additional cost of each kind of lock to one program, and predicts the other programs.
fn predict_locks(table: &MachineTable<'_>, costs: &FittedCosts) -> Vec<PredictedRow> {
    let mut rows = Vec::new();
    for (name, lock) in PUBLISHED_LOCKS {
        let price = fit_lock(table, costs, (name, lock));
        let row = |published: PublishedPeak| PredictedRow {
            published,
            fitted: published.aligner == FITTED,
            predicted: peak_with_lock(table, costs, published.aligner, lock(costs.handoff, price)),
            null: table.published_rate(published.aligner, "O"),
        };
        rows.extend(table.published_rows().filter(|peak| peak.way == name).map(row));
    }
    rows
}

fn peak_with_lock(
    table: &MachineTable<'_>,
    costs: &FittedCosts,
    aligner: &str,
    lock: LockModel,
) -> (f64, usize) {
    table.simulated_peak(&costs.cycle_with(
        lock,
        &table.program_cost(aligner),
        PublishedWay::from_name("O"),
    ))
}

/// Finds the cost at which the fitted program is as fast as published, by bisection: a higher cost
/// means lower throughput.
fn fit_lock(table: &MachineTable<'_>, costs: &FittedCosts, (name, lock): PublishedLock) -> f64 {
    let published = table.published_rate(FITTED, name);
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
        assert_eq!(factor_summary([2.0, 8.0].into_iter()), (4.0, 8.0));
    }

    #[test]
    fn what_is_fitted_is_met_and_what_is_not_is_foretold_better_than_by_nothing() {
        let Validation { costs, ways, locks } = validate_simulator();
        let of = |fitted: bool| ways.iter().filter(move |row| row.fitted == fitted);
        assert_eq!((of(true).count(), of(false).count(), locks.len()), (12, 51, 18));
        assert!(factor_summary(of(true).map(PredictedRow::error)).0 < 1.1);
        let bowtie = || of(false).filter(|row| row.published.aligner == "Bowtie");
        assert!(
            factor_summary(bowtie().map(PredictedRow::error)).0
                < factor_summary(bowtie().map(PredictedRow::null_error)).0
        );
        assert!(costs.iter().all(|(_, costs)| (0.1..10.0).contains(&costs.handoff)), "{costs:?}");
    }

    #[test]
    fn every_line_is_a_peak() {
        let peaks = published_peaks();
        assert_eq!(peaks.len(), 3 * 3 * 12);
        let of = |way| peaks.iter().find(|p| (p.machine, p.aligner, p.way) == ("KNL", "Bowtie 2", way));
        assert_eq!(of("MP").map(|p| (p.threads, p.rate)), Some((272, 70_760.0)));
    }

    #[test]
    fn factors_do_not_care_for_the_direction() {
        assert_eq!(error_factor(2.0, 1.0), error_factor(1.0, 2.0));
    }
}
