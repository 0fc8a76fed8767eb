//! The simulator beside what was published.

use std::fmt::Write;

use crate::plot::{Axis, Figure, Panel, Scale, Series, Style};
use crate::validate::{FITTED, Row, Validation, summary};

const ALIGNERS: [&str; 3] = ["HISAT", "Bowtie", "Bowtie 2"];

/// The tables.
pub fn describe(validation: &Validation) -> String {
    let mut text = format!(
        "### Validation\n\nFitted to {FITTED}, O, D, B and L with one output; microseconds, for reads of 100 bases.\n\n\
         | machine | cores | handoff of a queueing lock | scan | parse | write |\n|---|---|---|---|---|---|\n"
    );
    for (machine, costs) in &validation.costs {
        let _ = writeln!(
            text,
            "| {} | {} | {:.2} | {:.2} | {:.2} | {:.2} |",
            machine.name, machine.cores, costs.handoff, costs.scan, costs.parse, costs.write
        );
    }
    text += "\n| program | rows | n | seen by the fit | error of the simulator, geometric mean (worst) | null model |\n|---|---|---|---|---|---|\n";
    let striped = |row: &Row| row.published.way.len() > 1;
    for aligner in ALIGNERS {
        let own = |row: &&Row| row.published.aligner == aligner;
        let ways =
            |with: bool| validation.ways.iter().filter(own).filter(move |row| striped(row) == with);
        line(&mut text, aligner, "O, D, B, L", &ways(false).collect::<Vec<_>>());
        line(&mut text, aligner, "L with 2, 4, 8 outputs", &ways(true).collect::<Vec<_>>());
        for (name, title) in [("spin", "O with a spin lock"), ("futex", "O with a futex")] {
            let rows = validation.locks.iter().filter(own).filter(|row| row.published.way == name);
            line(&mut text, aligner, title, &rows.collect::<Vec<_>>());
        }
    }
    text += "\nErrors are factors: ×1.25 is 25 % too many or 20 % too few. The null model says that ways of reading make no difference \
             (all do what the best one does), and that locks make none (all do what the queueing lock does).\n\n";
    text += &cells(validation);
    text + "\n"
}

/// Every row that the fit has not seen: programs and ways from top to bottom, machines from left to right.
fn cells(validation: &Validation) -> String {
    let machines: Vec<&str> =
        validation.costs.iter().map(|(machine, _)| machine.name.as_str()).collect();
    let mut text = format!(
        "Peaks in thousand reads/s (threads there): published → simulated, error of the simulator / of the null model.\n\n\
         | program | way | {} |\n|---|---|{}\n",
        machines.join(" | "),
        "---|".repeat(machines.len())
    );
    let all = || validation.ways.iter().chain(&validation.locks).filter(|row| !row.fitted);
    let peak = |rate: f64, threads| format!("{:.0} ({threads})", rate / 1e3);
    for first in all().filter(|row| Some(&row.published.machine) == machines.first()) {
        let (aligner, way) = (first.published.aligner, first.published.way);
        let _ = write!(text, "| {aligner} | {way} |");
        for row in all().filter(|row| (row.published.aligner, row.published.way) == (aligner, way)) {
            let published = peak(row.published.rate, row.published.threads);
            let (simulated, error) = (peak(row.predicted.0, row.predicted.1), row.error());
            let _ = write!(text, " {published} → {simulated}, ×{error:.2} / ×{:.2} |", row.null_error());
        }
        text += "\n";
    }
    text
}

fn line(text: &mut String, aligner: &str, rows: &str, all: &[&Row]) {
    let (mean, worst) = summary(all.iter().map(|row| row.error()));
    let (null, null_worst) = summary(all.iter().map(|row| row.null_error()));
    let seen = if all.iter().all(|row| row.fitted) { "yes" } else { "no" };
    let _ = writeln!(
        text,
        "| {aligner} | {rows} | {} | {seen} | ×{mean:.2} (×{worst:.2}) | ×{null:.2} (×{null_worst:.2}) |",
        all.len()
    );
}

/// Simulated over published, all rows.
pub fn figure(validation: &Validation) -> Figure {
    let axis = |name: &str| Axis { name: name.into(), scale: Scale::Log, from: 3e4, to: 3e6 };
    let series = |name: &str, style| Series { name: name.into(), style };
    let fitted = series(&format!("{FITTED}, what was fitted"), Style::Rings);
    let others = ALIGNERS.iter().map(|aligner| series(&format!("{aligner}, predicted"), Style::Marks));
    let mut panels = Vec::new();
    for (title, rows) in
        [("ways of reading", &validation.ways), ("O with other locks", &validation.locks)]
    {
        let of = |fitted: bool, aligner: &str| {
            let rows =
                rows.iter().filter(|row| row.fitted == fitted && row.published.aligner == aligner);
            rows.map(|row| (row.published.rate, row.predicted.0)).collect::<Vec<_>>()
        };
        let mut points = vec![(0, vec![(3e4, 3e4), (3e6, 3e6)]), (1, of(true, FITTED))];
        points.extend(
            ALIGNERS.iter().enumerate().map(|(number, aligner)| (number + 2, of(false, aligner))),
        );
        let (x, y) = (axis("published reads per second"), axis("simulated reads per second"));
        panels.push(Panel { title: title.into(), x, y, points });
    }
    let title = "Peak throughput of unpaired reads on three machines: simulated and published".into();
    let series = [series("equal", Style::Dashes), fitted].into_iter().chain(others).collect();
    Figure { title, series, panels }
}
