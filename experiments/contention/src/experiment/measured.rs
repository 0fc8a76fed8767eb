//! Measurements on this machine: critical sections on one thread with the limit that they imply,
//! and ways of reading and kinds of locks with several threads.

use std::fmt::Write;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Work;
use crate::files::{self, Files, Section};
use crate::locks::Kind;
use crate::parsing::{BLOCK_BYTES, Way};
use crate::plot::{Axis, Figure, Panel, Scale, Series, Style};
use crate::throughput::{Access, Crowd, Scene};
use crate::{ours, project};

#[derive(Clone, Debug)]
pub struct Options {
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
    least: f64,
    most: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let median = match values.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => values[n / 2],
            n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
        };
        let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
        Spread { median, least: end(values.first()), most: end(values.last()) }
    }

    fn show(&self) -> String {
        format!("{} ({}–{})", number(self.median), number(self.least), number(self.most))
    }
}

/// Formats a number with about three digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 || v == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

/// Maximum number of pairs that a measurement of critical sections reads.
const PAIRS: u64 = 100_000;

pub fn ways(files: &Files) -> [Way; 5] {
    [Way::Original, Way::Deferred, Way::Batches(32), Way::Searched(1024), Way::Blocks(files.in_block)]
}

/// Measures the critical sections of all ways in turns. Returns their medians and the table.
pub fn measure_sections(files: &Files, options: &Options) -> io::Result<(Vec<project::Way>, String)> {
    let pairs = files.pairs.min(PAIRS) as usize;
    let ways = ways(files);
    let mut measured: Vec<(project::Way, Vec<Section>)> = Vec::new();
    for round in 0..options.rounds.max(1) {
        let locked = ways.iter().map(|&way| {
            let section = files::measure_section(files, way, pairs)?;
            Ok(project::Way { name: way.name(), batch: 2.0 * way.pairs() as f64, visits: 1, section })
        });
        let all = locked.chain([ours::way(files)]);
        for (number, way) in all.enumerate() {
            let way: project::Way = way?;
            let section = way.section;
            if round == 0 {
                measured.push((way, Vec::new()));
            }
            measured[number].1.push(section);
        }
    }
    let text = describe_sections(files, &mut measured)?;
    Ok((measured.into_iter().map(|(way, _)| way).collect(), text))
}

fn describe_sections(
    files: &Files,
    measured: &mut [(project::Way, Vec<Section>)],
) -> io::Result<String> {
    let [plain, padded] = files.bytes()?;
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
        let spread = |of: fn(&Section) -> f64| Spread::of(sections.iter().map(of).collect());
        let (held, all) = (spread(|section| section.held), spread(|section| section.all));
        way.section = Section { held: held.median, all: all.median };
        let limit = number(1e3 / held.median);
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

struct Row {
    name: String,
    rates: Vec<Spread>,
}

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
        // Without work, free input would be limited by nothing.
        let accesses = if work > 0.0 { &accesses[..] } else { &accesses[1..] };
        let rows = measure_together(files, options, accesses, work)?;
        let _ = writeln!(text, "{work} µs of work for a read:\n");
        text += &table(options, &rows);
    }
    Ok(text)
}

/// Measures kinds of locks, with one output and with several. Returns the tables and the plot.
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
            let rows = measure_together(files, options, &accesses, LOCKS_WORK)?;
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

fn measure_together(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_counts() {
        assert_eq!(Spread::of(vec![3.0, 1.0, 2.0]).show(), "2.00 (1.00–3.00)");
        assert_eq!(Spread::of(vec![400.0, 100.0]).median, 250.0);
        assert_eq!([0.006, 12.34, 0.0].map(number), ["0.0060", "12.3", "0"]);
    }
}
