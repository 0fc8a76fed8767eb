//! How well the simulator foretells measurements that it has not seen.
//!
//! For each of the machines of Langmead et al. 2018, a few times are fitted to what one program did there ([`FITTED`]); what the
//! other programs did is then predicted. Work per read is taken from the way of reading that suffers least from locks, so the
//! rows of that way tell nothing and are left out.

use crate::simulate::{Cycle, Lock, Machine, Section, peak};

/// The geometric mean of factors, and the greatest.
pub fn summary(factors: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let count = factors.clone().count().max(1) as f64;
    let sum: f64 = factors.clone().map(f64::ln).sum();
    ((sum / count).exp(), factors.fold(1.0, f64::max))
}

/// The machines of the paper. A core with two threads is taken to do 1.3 times what it does with one, and one of Knights
/// Landing with four 1.7 times.
pub fn machines() -> [Machine; 3] {
    [
        Machine::new("Skylake", 48, &[1.0, 1.3]),
        Machine::new("Broadwell", 56, &[1.0, 1.3]),
        Machine::new("KNL", 68, &[1.0, 1.45, 1.6, 1.7]),
    ]
}

/// All that comes of the comparison.
pub struct Validation {
    /// The fitted values of each machine.
    pub costs: Vec<(Machine, Costs)>,
    /// Ways of reading.
    pub ways: Vec<Row>,
    /// Kinds of locks.
    pub locks: Vec<Row>,
}

/// Fits and predicts everything.
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

/// The best that one program did in one way on one machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The machine: `Skylake`, `Broadwell` or `KNL`.
    pub machine: &'static str,
    /// The program: `HISAT`, `Bowtie` or `Bowtie 2`.
    pub aligner: &'static str,
    /// How it read and what locks it used, as the file says.
    pub way: &'static str,
    /// Threads at which it did best.
    pub threads: usize,
    /// Reads per second.
    pub rate: f64,
}

/// All of them, as they stand in the file.
///
/// The published measurements of Langmead et al. 2018, of unpaired reads; `data/langmead2018.tsv` says where they are
/// from.
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

/// One of the programs, on one of the machines.
#[derive(Clone, Copy, Debug)]
struct Program {
    /// Microseconds of work for a read.
    work: f64,
    /// Reads in a padded block of 12,288 bytes. What is done to a read in a critical section takes as long as it has bytes.
    reads_in_block: f64,
}

/// Times in microseconds, fitted to published measurements. `scan`, `parse` and `write` are per read of 100 bases.
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
const READ_OF_SCAN: f64 = 1.0 / 12.0;

/// Standard deviation of the work for a read, as a fraction.
const SPREAD: f64 = 0.5;

impl Costs {
    /// The costs that follow from the times between reads of the ways O, D, B and L, if the critical section is never empty.
    fn guess([o, d, b, l]: [f64; 4]) -> Self {
        let handoff = (d - b) * 32.0 / 31.0;
        let scan = b - handoff / 32.0;
        Costs { handoff, scan, parse: (o - d).max(0.0), write: l - handoff / READS_IN_BLOCK }
    }

    /// Goes so many microseconds per read towards what is published.
    fn correct(&mut self, o: f64, d: f64, b: f64, l: f64) {
        let towards = |time: &mut f64, by: f64| *time = (*time + by).max(0.01);
        towards(&mut self.handoff, (d - b) * 32.0 / 31.0);
        towards(&mut self.scan, b - (d - b) / 31.0);
        towards(&mut self.parse, o - d);
        towards(&mut self.write, l);
    }

    /// The cycle of every thread of the program that reads this way.
    fn cycle(&self, program: &Program, way: Way) -> Cycle {
        self.cycle_with(Lock::Queue { handoff: self.handoff }, program, way)
    }

    /// The same with another kind of lock.
    fn cycle_with(&self, lock: Lock, program: &Program, way: Way) -> Cycle {
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

/// The program whose measurements are fitted.
pub const FITTED: &str = "HISAT";

/// The ways of reading to which the fit is made, on one output file.
const WAYS: [&str; 4] = ["O", "D", "B", "L"];

/// Ways that are predicted for the fitted program, too: more output files.
const STRIPED: [&str; 3] = ["L2", "L4", "L8"];

/// The published figures of one way of reading, beside those of the simulator.
#[derive(Clone, Debug)]
pub struct Row {
    /// The measured value.
    pub published: Peak,
    /// Whether the fit has seen it.
    pub fitted: bool,
    /// Reads per second at the best number of threads, and that number.
    pub predicted: (f64, usize),
    /// Reads per second if this did not slow anything down: for ways of reading, the best way of the same program; for
    /// locks, the queueing lock.
    pub null: f64,
}

impl Row {
    /// How far off the prediction is, as a factor above 1.
    pub fn error(&self) -> f64 {
        factor(self.predicted.0, self.published.rate)
    }

    /// How far off the null model is.
    pub fn null_error(&self) -> f64 {
        factor(self.null, self.published.rate)
    }
}

fn factor(a: f64, b: f64) -> f64 {
    (a / b).max(b / a)
}

/// The published figures of one machine.
struct Table<'a> {
    /// Of all machines.
    published: &'a [Peak],
    /// The machine.
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
        // The way that suffers least: processes of their own, or a file for each 16th thread.
        let best = self.rate(aligner, "L16").max(self.rate(aligner, "MP"));
        let work = self.machine.capacity(self.machine.threads()) / best * 1e6;
        // Reads of 50 bases: 70 of them take a block, as 44 reads of 100 bases do.
        if aligner == "Bowtie" {
            Program { work, reads_in_block: 70.0 }
        } else {
            Program { work, reads_in_block: 44.0 }
        }
    }

    /// The best reads per second, and the number of threads.
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

    /// Finds the times with which the simulator says of [`FITTED`] what was published: each row tells most of one of them.
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

/// Numbers of threads that are tried, evenly up to all that the machine has.
const SERIES: usize = 12;

/// Corrections of a fit.
const ROUNDS: usize = 6;

/// A kind of lock, by its name in the published tables, and by what it costs beyond a queueing lock.
type Kind = (&'static str, fn(f64, f64) -> Lock);

const KINDS: [Kind; 2] = [
    ("spin", |handoff, crowding| Lock::Spin { handoff, crowding }),
    ("futex", |handoff, wake| Lock::Futex { handoff, wake }),
];

/// The published figures of both kinds of all programs, beside those of the simulator.
///
/// Kinds of locks: what they cost beyond the queueing lock, fitted to one program and predicted for the others.
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

/// The price at which the fitted program is as fast as published: more costs time, so it is found by halving.
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
