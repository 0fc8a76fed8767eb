//! The whole experiment: measurements, simulation, and the report as Markdown and plots.

mod measured;

use std::fmt::Write;
use std::{fs, io};

use measured::format_number;

use crate::files::Files;
use crate::plot::{Axis, Figure, Panel, Scale, Series, Style};
use crate::project::{self, Point, WayCost, ideal_rate, projected_machine};
use crate::simulate::SimulatedMachine;
use crate::validate::{FITTED, PredictedRow, Validation, factor_summary, validate_simulator};

pub use measured::ExperimentOptions;

/// Runs everything, writes the plots, and returns the tables as Markdown.
///
/// # Errors
///
/// If files cannot be read or written.
pub fn run_experiment(options: &ExperimentOptions) -> io::Result<String> {
    fs::create_dir_all(&options.plots)?;
    let files = Files::simulate_files(&options.directory, options.pairs)?;
    let (ways, mut text) = measured::measure_sections(&files, options)?;
    text += &measured::measure_ways(&files, options)?;
    let (locks, figure) = measured::measure_locks(&files, options)?;
    text += &locks;
    save_figure(options, "threads-locks.svg", &figure)?;
    let validation = validate_simulator();
    text += &describe_validation(&validation);
    // The shortest handoff of the three machines, which favours the ways with locks.
    let handoff = validation.costs.iter().map(|(_, costs)| costs.handoff).fold(f64::MAX, f64::min);
    let (projected, figure) = project_ways(&ways, handoff, options.cores);
    text += &projected;
    save_figure(options, "threads-validation.svg", &validation_figure(&validation))?;
    save_figure(options, "threads-projection.svg", &figure)?;
    Ok(text)
}

fn save_figure(options: &ExperimentOptions, name: &str, figure: &Figure) -> io::Result<()> {
    fs::write(options.plots.join(name), figure.to_svg())
}

/// Microseconds of work per read, and an application with about this cost.
const WORK_LEVELS: [(f64, &str); 3] =
    [(100.0, "aligning as bwa-mem does"), (20.0, "fast alignment"), (5.0, "trimming, pseudo-alignment")];

fn project_ways(ways: &[WayCost], handoff: f64, cores: usize) -> (String, Figure) {
    let machine = projected_machine(cores);
    let series: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|&n| n <= machine.threads()).collect();
    let mut text = format!(
        "### Projection\n\nSimulated, not run: {cores} cores with two threads each, which do 1.3 times the work of one; queueing locks, \
         {handoff:.2} µs from one thread to the next; critical sections as measured here. For each way million reads/s with {} \
         threads, the part of the ideal that is, and the best with any number of threads.\n\n| way |",
        machine.threads()
    );
    for (work, what) in WORK_LEVELS {
        let _ = write!(text, " {work} µs per read ({what}) |");
    }
    text += &format!("\n|---|{}\n", "---|".repeat(WORK_LEVELS.len()));
    let mut panels: Vec<Panel> =
        WORK_LEVELS.iter().map(|&(work, _)| projection_panel(&machine, work, &series)).collect();
    for (number, way) in ways.iter().enumerate() {
        let _ = write!(text, "| {} |", way.name);
        for (panel, (work, _)) in panels.iter_mut().zip(WORK_LEVELS) {
            let points: Vec<Point> = series
                .iter()
                .map(|&threads| project::project_way(&machine, way, work, handoff, threads))
                .collect();
            text += &projection_cell(&points);
            panel.points.push((number + 1, points.iter().map(|p| (p.threads as f64, p.rate)).collect()));
        }
        text += "\n";
    }
    text += "| ideal |";
    for (work, _) in WORK_LEVELS {
        let _ =
            write!(text, " {} |", format_number(ideal_rate(&machine, work, machine.threads()) / 1e6));
    }
    text += "\n\nNot in it: storage, memory bandwidth, output, threads that lose their core, distances within a large machine.\n\n";
    (text, projection_figure(cores, ways, panels))
}

fn projection_cell(points: &[Point]) -> String {
    let Some(last) = points.last() else { return " |".into() };
    let best = points.iter().fold(last, |best, point| if point.rate > best.rate { point } else { best });
    let best = format!("best {} at {}", format_number(best.rate / 1e6), best.threads);
    format!(" {} ({:.1} %; {best}) |", format_number(last.rate / 1e6), last.of_ideal * 100.0)
}

fn projection_panel(machine: &SimulatedMachine, work: f64, series: &[usize]) -> Panel {
    let max_threads = machine.threads() as f64;
    let points = series.iter().map(|&threads| (threads as f64, ideal_rate(machine, work, threads)));
    Panel {
        title: format!("{work} µs of work for a read"),
        x: Axis { name: "threads".into(), scale: Scale::Doubling, from: 1.0, to: max_threads },
        y: Axis { name: "reads per second".into(), scale: Scale::Log, from: 5e3, to: 2e8 },
        points: vec![(0, points.collect())],
    }
}

fn projection_figure(cores: usize, ways: &[WayCost], panels: Vec<Panel>) -> Figure {
    let mut series = vec![Series { name: "ideal".into(), style: Style::Dashes }];
    series.extend(ways.iter().map(|way| Series { name: way.name.clone(), style: Style::Line }));
    let title = format!("Projected throughput on {cores} cores with two threads each (simulated)");
    Figure { title, series, panels }
}

const ALIGNERS: [&str; 3] = ["HISAT", "Bowtie", "Bowtie 2"];

fn describe_validation(validation: &Validation) -> String {
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
    let striped = |row: &PredictedRow| row.published.way.len() > 1;
    for aligner in ALIGNERS {
        let own = |row: &&PredictedRow| row.published.aligner == aligner;
        let ways =
            |with: bool| validation.ways.iter().filter(own).filter(move |row| striped(row) == with);
        validation_line(&mut text, aligner, "O, D, B, L", &ways(false).collect::<Vec<_>>());
        validation_line(&mut text, aligner, "L with 2, 4, 8 outputs", &ways(true).collect::<Vec<_>>());
        for (name, title) in [("spin", "O with a spin lock"), ("futex", "O with a futex")] {
            let rows = validation.locks.iter().filter(own).filter(|row| row.published.way == name);
            validation_line(&mut text, aligner, title, &rows.collect::<Vec<_>>());
        }
    }
    text += "\nErrors are factors: ×1.25 is 25 % too many or 20 % too few. The null model says that ways of reading make no difference \
             (all do what the best one does), and that locks make none (all do what the queueing lock does).\n\n";
    text += &validation_cells(validation);
    text + "\n"
}

/// Returns a table of all results that were not fitted: programs and ways from top to bottom,
/// machines from left to right.
fn validation_cells(validation: &Validation) -> String {
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

fn validation_line(text: &mut String, aligner: &str, rows: &str, all: &[&PredictedRow]) {
    let (mean, worst) = factor_summary(all.iter().map(|row| row.error()));
    let (null, null_worst) = factor_summary(all.iter().map(|row| row.null_error()));
    let seen = if all.iter().all(|row| row.fitted) { "yes" } else { "no" };
    let _ = writeln!(
        text,
        "| {aligner} | {rows} | {} | {seen} | ×{mean:.2} (×{worst:.2}) | ×{null:.2} (×{null_worst:.2}) |",
        all.len()
    );
}

fn validation_figure(validation: &Validation) -> Figure {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_experiment_runs_and_our_way_has_nothing_serial_left() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let options = ExperimentOptions {
            directory: at("data"),
            plots: at("plots"),
            pairs: 3000,
            rounds: 1,
            cores: 256,
            threads: vec![1, 3],
            work: vec![1.0],
            seconds: 0.02,
        };
        let text = run_experiment(&options).unwrap();
        for part in [
            "### Critical sections",
            "### Ways",
            "### Locks",
            "### Validation",
            "### Projection",
            "| U, unpadded (ours) |",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(fs::read_dir(at("plots")).unwrap().count() == 3);
    }
}
