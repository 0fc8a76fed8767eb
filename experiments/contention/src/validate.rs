//! How well the simulator foretells measurements that it has not seen.
//!
//! For each of the machines of Langmead et al. 2018, a few times are fitted to what one program did there ([`FITTED`]); what the
//! other programs did is then predicted. Work per read is taken from the way of reading that suffers least from locks, so the
//! rows of that way tell nothing and are left out.

mod costs;
mod locks;
mod table;

pub use costs::{Costs, Program, Way};
pub use table::{FITTED, Row};

use table::Table;

use crate::published::peaks;
use crate::simulate::Machine;

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
        locks.extend(locks::predict(&table, &fitted));
        costs.push((machine, fitted));
    }
    Validation { costs, ways, locks }
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
}
