//! Measurements on this machine: critical sections on one thread with the limit that they imply,
//! and ways of reading and kinds of locks with several threads.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Work;
use crate::files::{self, Files, ReadCost};
use crate::locks::LockKind;
use crate::parsing::{BLOCK_BYTES, ReadingWay};
use crate::plot::{Axis, Figure, Panel, Scale, Series, Style};
use crate::throughput::{Access, Trial, TrialRunner};
use crate::{ours, project};

#[derive(Clone, Debug)]
pub struct ExperimentOptions {
    pub directory: PathBuf,
    pub plots: PathBuf,
    pub pairs: u64,
    /// Number of measurements of everything. The median counts.
    pub rounds: usize,
    pub cores: usize,
    pub threads: Vec<usize>,
    /// Microseconds of work per read, one table each.
    pub work: Vec<f64>,
    pub seconds: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    median: f64,
    min: f64,
    max: f64,
}

impl Spread {
    fn from_values(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let median = match values.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => values[n / 2],
            n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
        };
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        Spread { median, min: end(values.first()), max: end(values.last()) }
    }

    fn show(&self) -> String {
        format!(
            "{} ({}–{})",
            format_number(self.median),
            format_number(self.min),
            format_number(self.max)
        )
    }
}

/// Formats a number with about three digits.
pub fn format_number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Maximum number of pairs that a measurement of critical sections reads.
const MAX_PAIRS: u64 = 100_000;

pub fn all_ways(files: &Files) -> [ReadingWay; 5] {
    [
        ReadingWay::Original,
        ReadingWay::Deferred,
        ReadingWay::Batches(32),
        ReadingWay::Searched(1024),
        ReadingWay::Blocks(files.in_block),
    ]
}

/// Measures the critical sections of all ways in turns. Returns their medians and the table.
pub fn measure_sections(
    files: &Files,
    options: &ExperimentOptions,
) -> io::Result<(Vec<project::WayCost>, String)> {
    let pairs = files.pairs.min(MAX_PAIRS) as usize;
    let ways = all_ways(files);
    let mut measured: Vec<(project::WayCost, Vec<ReadCost>)> = Vec::new();
    for round in 0..options.rounds.max(1) {
        let locked = ways.iter().map(|&way| {
            let section = files::measure_section(files, way, pairs)?;
            Ok(project::WayCost {
                name: way.name(),
                batch: 2.0 * way.pairs_per_batch() as f64,
                visits: 1,
                section,
            })
        });
        let all = locked.chain([ours::measure_our_way(files)]);
        for (number, way) in all.enumerate() {
            let way: project::WayCost = way?;
            let section = way.section;
            if round == 0 {
                measured.push((way, Vec::new()));
            }
            measured[number].1.push(section);
        }
    }
    let text = sections_table(files, &mut measured)?;
    Ok((measured.into_iter().map(|(way, _)| way).collect(), text))
}

fn sections_table(
    files: &Files,
    measured: &mut [(project::WayCost, Vec<ReadCost>)],
) -> io::Result<String> {
    let [plain, padded] = files.size_bytes()?;
    let mut text = format!(
        "### Critical sections\n\n{} pairs of 151 bases, {:.0} bytes a record, in the page cache, on one thread. Padding to \
         blocks of {BLOCK_BYTES} bytes ({} records) adds {:.1} %.\n\n\
         | way | reads at a time | ns per read with the lock held | CPU ns per read in all | no more than … million reads/s |\n\
         |---|---|---|---|---|\n",
        files.pairs,
        plain as f64 / (2 * files.pairs).max(1) as f64,
        files.in_block,
        (padded as f64 / plain as f64 - 1.0) * 100.0,
    );
    for (way, sections) in measured {
        let spread = |of: fn(&ReadCost) -> f64| Spread::from_values(sections.iter().map(of).collect());
        let (held, all) = (spread(|section| section.held), spread(|section| section.all));
        way.section = ReadCost { held: held.median, all: all.median };
        let limit = format_number(1e3 / held.median);
        let _ = writeln!(
            text,
            "| {} | {:.0} | {} | {} | {limit} |",
            way.name,
            way.batch,
            held.show(),
            all.show(),
        );
    }
    text += "\nMedians (least–most). The limit is what no number of threads can exceed, before any cost of the lock itself.\n\n";
    Ok(text)
}

const LOCKS_WORK: f64 = 5.0;

const STRIPES: [usize; 2] = [1, 16];

struct RateRow {
    name: String,
    rates: Vec<Spread>,
}

pub fn measure_ways(files: &Files, options: &ExperimentOptions) -> io::Result<String> {
    let mut accesses = vec![("no input (ideal)".to_owned(), Access::Free)];
    accesses.extend(all_ways(files).map(|way| (way.name(), Access::Locked(way, LockKind::Futex, 0))));
    accesses.push(("U, unpadded (ours)".into(), Access::Ours));
    let mut text = format!(
        "### Ways of reading, threads together\n\nThousand reads per second of CPU time; a futex where there is a lock; nothing is \
         written. {}\n\n",
        describe_conditions(options)
    );
    for &work in &options.work {
        // Without work, free input would be limited by nothing.
        let accesses = if work > 0.0 { &accesses[..] } else { &accesses[1..] };
        let rows = measure_together(files, options, accesses, work)?;
        let _ = writeln!(text, "{work} µs of work for a read:\n");
        text += &rate_table(options, &rows);
    }
    Ok(text)
}

/// Measures kinds of locks, with one output and with several. Returns the tables and the plot.
pub fn measure_locks(files: &Files, options: &ExperimentOptions) -> io::Result<(String, Figure)> {
    let mut text = format!(
        "### Locks, threads together\n\nThousand reads per second of CPU time with {LOCKS_WORK} µs of work for a read; what was \
         read is written under locks of the same kind, to one place or to {}. Two nodes in name only. {}\n\n",
        STRIPES[1],
        describe_conditions(options)
    );
    let mut panels = Vec::new();
    for (title, way) in [("D", ReadingWay::Deferred), ("B, 32 pairs", ReadingWay::Batches(32))] {
        for stripes in STRIPES {
            let mut accesses = vec![("no input (ideal)".to_owned(), Access::Free)];
            accesses.extend(
                LockKind::ALL.map(|kind| (kind.name().into(), Access::Locked(way, kind, stripes))),
            );
            accesses.push(("no lock: U (ours)".into(), Access::Ours));
            let rows = measure_together(files, options, &accesses, LOCKS_WORK)?;
            let outputs = if stripes == 1 { "one output".into() } else { format!("{stripes} outputs") };
            let _ = writeln!(text, "{title}, {outputs}:\n");
            text += &rate_table(options, &rows);
            if stripes == 1 {
                panels.push((format!("{title}, {outputs}"), rows));
            }
        }
    }
    Ok((text, lock_figure(options, panels)))
}

fn describe_conditions(options: &ExperimentOptions) -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("Medians of {} runs of {} s on {cores} cores.", options.rounds, options.seconds)
}

fn measure_together(
    files: &Files,
    options: &ExperimentOptions,
    accesses: &[(String, Access)],
    work: f64,
) -> io::Result<Vec<RateRow>> {
    let columns = options.threads.len();
    let mut rates = vec![vec![Vec::new(); columns]; accesses.len()];
    for _ in 0..options.rounds.max(1) {
        let crowd = TrialRunner { files, work: Work::calibrate() };
        for (column, &threads) in options.threads.iter().enumerate() {
            for (row, &(_, access)) in accesses.iter().enumerate() {
                let time = Duration::from_secs_f64(options.seconds);
                rates[row][column].push(crowd.run_trial(Trial { access, threads, work, time })?.rate());
            }
        }
    }
    let rows = accesses.iter().zip(rates).map(|((name, _), rates)| RateRow {
        name: name.clone(),
        rates: rates.into_iter().map(Spread::from_values).collect(),
    });
    Ok(rows.collect())
}

fn rate_table(options: &ExperimentOptions, rows: &[RateRow]) -> String {
    let mut text = String::from("| |");
    for threads in &options.threads {
        let _ = write!(text, " {threads} {} |", if *threads == 1 { "thread" } else { "threads" });
    }
    text += &format!("\n|---|{}\n", "---|".repeat(options.threads.len()));
    for row in rows {
        let _ = write!(text, "| {} |", row.name);
        for rate in &row.rates {
            let _ = write!(text, " {} |", format_number(rate.median / 1e3));
        }
        text += "\n";
    }
    text + "\n"
}

fn lock_figure(options: &ExperimentOptions, panels: Vec<(String, Vec<RateRow>)>) -> Figure {
    let all = || panels.iter().flat_map(|(_, rows)| rows);
    let max_rate = all().flat_map(|row| &row.rates).map(|rate| rate.median).fold(1.0, f64::max);
    let style = |number| if number == 0 { Style::Dashes } else { Style::Line };
    let names = panels.first().map_or(&[][..], |(_, rows)| rows).iter().enumerate();
    let series =
        names.map(|(number, row)| Series { name: row.name.clone(), style: style(number) }).collect();
    let threads = || options.threads.iter().map(|&threads| threads as f64);
    let panel = |(title, rows): &(String, Vec<RateRow>)| Panel {
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
            to: max_rate * 1.05,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_counts() {
        assert_eq!(Spread::from_values(vec![3.0, 1.0, 2.0]).show(), "2.00 (1.00–3.00)");
        assert_eq!(Spread::from_values(vec![400.0, 100.0]).median, 250.0);
        assert_eq!([0.006, 12.34, 0.0].map(format_number), ["0.0060", "12.3", "0"]);
    }
}
