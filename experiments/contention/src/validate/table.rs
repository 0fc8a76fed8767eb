//! The published, fitted and predicted figures of a machine.

use super::costs::{Costs, Program, Way};
use crate::published::Peak;
use crate::simulate::{Cycle, Machine, peak};

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
pub struct Table<'a> {
    /// Of all machines.
    pub published: &'a [Peak],
    /// The machine.
    pub machine: &'a Machine,
}

impl Table<'_> {
    pub fn rows(&self) -> impl Iterator<Item = Peak> {
        self.published.iter().copied().filter(|peak| peak.machine == self.machine.name)
    }

    pub fn rate(&self, aligner: &str, way: &str) -> f64 {
        self.rows()
            .find(|peak| (peak.aligner, peak.way) == (aligner, way))
            .map_or(f64::NAN, |peak| peak.rate)
    }

    pub fn program(&self, aligner: &str) -> Program {
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
    pub fn peak(&self, cycle: &Cycle) -> (f64, usize) {
        let series: Vec<usize> = (1..=SERIES).map(|i| self.machine.threads() * i / SERIES).collect();
        let (threads, outcome) = peak(self.machine, cycle, &series);
        (outcome.rate, threads)
    }

    pub fn predict(&self, costs: &Costs) -> Vec<Row> {
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
    pub fn fit(&self) -> Costs {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_do_not_care_for_the_direction() {
        assert_eq!(factor(2.0, 1.0), factor(1.0, 2.0));
    }
}
