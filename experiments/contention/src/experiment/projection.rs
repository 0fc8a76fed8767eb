//! The projection of ways of reading to many cores.

use std::fmt::Write;

use super::ratios::number;
use crate::plot::{Axis, Figure, Panel, Scale, Series, Style};
use crate::project::{self, Point, Way, ideal, machine};
use crate::simulate::Machine;

/// Microseconds of work for a read, and what takes about that long.
const WORK: [(f64, &str); 3] =
    [(100.0, "aligning as bwa-mem does"), (20.0, "fast alignment"), (5.0, "trimming, pseudo-alignment")];

/// The table and the plot.
pub fn project(ways: &[Way], handoff: f64, cores: usize) -> (String, Figure) {
    let machine = machine(cores);
    let series: Vec<usize> =
        (0..).map(|power| 1 << power).take_while(|&n| n <= machine.threads()).collect();
    let mut text = format!(
        "### Projection\n\nSimulated, not run: {cores} cores with two threads each, which do 1.3 times the work of one; queueing locks, \
         {handoff:.2} µs from one thread to the next; critical sections as measured here. For each way million reads/s with {} \
         threads, the part of the ideal that is, and the best with any number of threads.\n\n| way |",
        machine.threads()
    );
    for (work, what) in WORK {
        let _ = write!(text, " {work} µs per read ({what}) |");
    }
    text += &format!("\n|---|{}\n", "---|".repeat(WORK.len()));
    let mut panels: Vec<Panel> = WORK.iter().map(|&(work, _)| panel(&machine, work, &series)).collect();
    for (number, way) in ways.iter().enumerate() {
        let _ = write!(text, "| {} |", way.name);
        for (panel, (work, _)) in panels.iter_mut().zip(WORK) {
            let points: Vec<Point> = series
                .iter()
                .map(|&threads| project::project(&machine, way, work, handoff, threads))
                .collect();
            text += &cell(&points);
            panel.points.push((number + 1, points.iter().map(|p| (p.threads as f64, p.rate)).collect()));
        }
        text += "\n";
    }
    text += "| ideal |";
    for (work, _) in WORK {
        let _ = write!(text, " {} |", number(ideal(&machine, work, machine.threads()) / 1e6));
    }
    text += "\n\nNot in it: storage, memory bandwidth, output, threads that lose their core, distances within a large machine.\n\n";
    (text, figure(cores, ways, panels))
}

fn cell(points: &[Point]) -> String {
    let Some(last) = points.last() else { return " |".into() };
    let best = points.iter().fold(last, |best, point| if point.rate > best.rate { point } else { best });
    let best = format!("best {} at {}", number(best.rate / 1e6), best.threads);
    format!(" {} ({:.1} %; {best}) |", number(last.rate / 1e6), last.of_ideal * 100.0)
}

fn panel(machine: &Machine, work: f64, series: &[usize]) -> Panel {
    let most = machine.threads() as f64;
    let points = series.iter().map(|&threads| (threads as f64, ideal(machine, work, threads)));
    Panel {
        title: format!("{work} µs of work for a read"),
        x: Axis { name: "threads".into(), scale: Scale::Doubling, from: 1.0, to: most },
        y: Axis { name: "reads per second".into(), scale: Scale::Log, from: 5e3, to: 2e8 },
        points: vec![(0, points.collect())],
    }
}

fn figure(cores: usize, ways: &[Way], panels: Vec<Panel>) -> Figure {
    let mut series = vec![Series { name: "ideal".into(), style: Style::Dashes }];
    series.extend(ways.iter().map(|way| Series { name: way.name.clone(), style: Style::Line }));
    let title = format!("Projected throughput on {cores} cores with two threads each (simulated)");
    Figure { title, series, panels }
}
