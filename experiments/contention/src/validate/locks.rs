//! Kinds of locks: what they cost beyond the queueing lock, fitted to one program and predicted for the others.

use super::costs::{Costs, Way};
use super::table::{FITTED, Row, Table};
use crate::published::Peak;
use crate::simulate::Lock;

/// A kind of lock, by its name in the published tables, and by what it costs beyond a queueing lock.
type Kind = (&'static str, fn(f64, f64) -> Lock);

const KINDS: [Kind; 2] = [
    ("spin", |handoff, crowding| Lock::Spin { handoff, crowding }),
    ("futex", |handoff, wake| Lock::Futex { handoff, wake }),
];

/// The published figures of both kinds of all programs, beside those of the simulator.
pub fn predict(table: &Table<'_>, costs: &Costs) -> Vec<Row> {
    let mut rows = Vec::new();
    for (name, lock) in KINDS {
        let price = fit(table, costs, (name, lock));
        let row = |published: Peak| Row {
            published,
            fitted: published.aligner == FITTED,
            predicted: peak(table, costs, published.aligner, lock(costs.handoff, price)),
            null: table.rate(published.aligner, "O"),
        };
        rows.extend(table.rows().filter(|peak| peak.way == name).map(row));
    }
    rows
}

fn peak(table: &Table<'_>, costs: &Costs, aligner: &str, lock: Lock) -> (f64, usize) {
    table.peak(&costs.cycle_with(lock, &table.program(aligner), Way::named("O")))
}

/// The price at which the fitted program is as fast as published: more costs time, so it is found by halving.
fn fit(table: &Table<'_>, costs: &Costs, (name, lock): Kind) -> f64 {
    let published = table.rate(FITTED, name);
    let (mut low, mut high) = (0.0, 64.0);
    for _ in 0..12 {
        let price = (low + high) / 2.0;
        if peak(table, costs, FITTED, lock(costs.handoff, price)).0 > published {
            low = price;
        } else {
            high = price;
        }
    }
    (low + high) / 2.0
}
