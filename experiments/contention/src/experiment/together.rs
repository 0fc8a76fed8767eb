//! Threads together on this machine: ways of reading, and kinds of locks.

use std::fmt::Write;
use std::io;
use std::time::Duration;

use super::options::Options;
use super::ratios::{Spread, number};
use super::serial::ways;
use crate::clock::Work;
use crate::crowd::{Access, Crowd, Scene};
use crate::files::Files;
use crate::locks::Kind;
use crate::parsing::Way;
use crate::plot::{Axis, Figure, Panel, Scale, Series, Style};

/// Microseconds of work for a read where locks are compared.
const LOCKS_WORK: f64 = 5.0;

/// Files that are written where locks are compared.
const STRIPES: [usize; 2] = [1, 16];

/// One row of a table: its name, and reads per second of CPU time for each column.
struct Row {
    name: String,
    rates: Vec<Spread>,
}

/// Measures ways of reading with a futex, for each amount of work.
pub fn ways_of_reading(files: &Files, options: &Options) -> io::Result<String> {
    let mut accesses = vec![("no input (ideal)".to_owned(), Access::Free)];
    accesses.extend(ways(files).map(|way| (way.name(), Access::Locked(way, Kind::Futex, 0))));
    accesses.push(("U, unpadded (ours)".into(), Access::Ours));
    let mut text = format!(
        "### Ways of reading, threads together\n\nThousand reads per second of CPU time; a futex where there is a lock; nothing is \
         written. {}\n\n",
        conditions(options)
    );
    for &work in &options.work {
        // Without work there is nothing that could pass without input.
        let accesses = if work > 0.0 { &accesses[..] } else { &accesses[1..] };
        let rows = measure(files, options, accesses, work)?;
        let _ = writeln!(text, "{work} µs of work for a read:\n");
        text += &table(options, &rows);
    }
    Ok(text)
}

/// Measures kinds of locks, with one output and with several.
pub fn locks(files: &Files, options: &Options) -> io::Result<(String, Figure)> {
    let mut text = format!(
        "### Locks, threads together\n\nThousand reads per second of CPU time with {LOCKS_WORK} µs of work for a read; what was \
         read is written under locks of the same kind, to one place or to {}. Two nodes in name only. {}\n\n",
        STRIPES[1],
        conditions(options)
    );
    let mut panels = Vec::new();
    for (title, way) in [("D", Way::Deferred), ("B, 32 pairs", Way::Batches(32))] {
        for stripes in STRIPES {
            let mut accesses = vec![("no input (ideal)".to_owned(), Access::Free)];
            accesses
                .extend(Kind::ALL.map(|kind| (kind.name().into(), Access::Locked(way, kind, stripes))));
            accesses.push(("no lock: U (ours)".into(), Access::Ours));
            let rows = measure(files, options, &accesses, LOCKS_WORK)?;
            let outputs = if stripes == 1 { "one output".into() } else { format!("{stripes} outputs") };
            let _ = writeln!(text, "{title}, {outputs}:\n");
            text += &table(options, &rows);
            if stripes == 1 {
                panels.push((format!("{title}, {outputs}"), rows));
            }
        }
    }
    Ok((text, figure(options, panels)))
}

fn conditions(options: &Options) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Medians of {} runs of {} s on {cores} cores.", options.rounds, options.seconds)
}

/// Measures everything in turns.
fn measure(
    files: &Files,
    options: &Options,
    accesses: &[(String, Access)],
    work: f64,
) -> io::Result<Vec<Row>> {
    let columns = options.threads.len();
    let mut rates = vec![vec![Vec::new(); columns]; accesses.len()];
    for _ in 0..options.rounds.max(1) {
        let crowd = Crowd { files, work: Work::calibrate() };
        for (column, &threads) in options.threads.iter().enumerate() {
            for (row, &(_, access)) in accesses.iter().enumerate() {
                let time = Duration::from_secs_f64(options.seconds);
                rates[row][column].push(crowd.watch(Scene { access, threads, work, time })?.rate());
            }
        }
    }
    let rows = accesses.iter().zip(rates).map(|((name, _), rates)| Row {
        name: name.clone(),
        rates: rates.into_iter().map(Spread::of).collect(),
    });
    Ok(rows.collect())
}

fn table(options: &Options, rows: &[Row]) -> String {
    let mut text = String::from("| |");
    for threads in &options.threads {
        let _ = write!(text, " {threads} {} |", if *threads == 1 { "thread" } else { "threads" });
    }
    text += &format!("\n|---|{}\n", "---|".repeat(options.threads.len()));
    for row in rows {
        let _ = write!(text, "| {} |", row.name);
        for rate in &row.rates {
            let _ = write!(text, " {} |", number(rate.median / 1e3));
        }
        text += "\n";
    }
    text + "\n"
}

fn figure(options: &Options, panels: Vec<(String, Vec<Row>)>) -> Figure {
    let all = || panels.iter().flat_map(|(_, rows)| rows);
    let most = all().flat_map(|row| &row.rates).map(|rate| rate.median).fold(1.0, f64::max);
    let style = |number| if number == 0 { Style::Dashes } else { Style::Line };
    let names = panels.first().map_or(&[][..], |(_, rows)| rows).iter().enumerate();
    let series =
        names.map(|(number, row)| Series { name: row.name.clone(), style: style(number) }).collect();
    let threads = || options.threads.iter().map(|&threads| threads as f64);
    let panel = |(title, rows): &(String, Vec<Row>)| Panel {
        title: title.clone(),
        x: Axis {
            name: "threads".into(),
            scale: Scale::Doubling,
            from: threads().fold(f64::MAX, f64::min),
            to: threads().fold(2.0, f64::max),
        },
        y: Axis {
            name: "reads per second of CPU time".into(),
            scale: Scale::Linear,
            from: 0.0,
            to: most * 1.05,
        },
        points: rows
            .iter()
            .map(|row| threads().zip(row.rates.iter().map(|rate| rate.median)).collect())
            .enumerate()
            .collect(),
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let title =
        format!("More threads than cores: {LOCKS_WORK} µs of work for a read, {cores} cores (measured)");
    Figure { title, series, panels: panels.iter().map(panel).collect() }
}
