//! The subcommand `serial`: times of the sort phases that run on one thread at a time, and the
//! lower bound on the sort time that they imply.
//!
//! `serial-once` clocks the phases; readmill itself is also measured, to check that both do the
//! same work. A pass cannot be faster than its CPU time divided by the number of cores, nor than
//! its largest serial phase.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::clocked_sort::Phases;
use crate::contender::{Call, Contender};
use crate::data_file::DataTable;
use crate::jobs::{bring_mate_cigars, sort_by};
use crate::options::Options;
use crate::sorters::SortBench;
use crate::table::{median, print_commands, split_range};
use crate::work::BenchSetup;

const LEVELS: [u8; 2] = [1, 6];

const CORES: [u32; 4] = [2, 16, 64, 128];

/// The figures of one `serial-once` run, see [`crate::clocked_sort`]. If memory held all reads, no
/// run was written and `spilling` has no tickets.
struct ClockedRun {
    records: u64,
    reading: Phases,
    spilling: Phases,
    merging: Phases,
}

struct LevelRuns {
    level: u8,
    whole: Contender,
    seconds: Vec<(f64, f64)>,
    drive: Call,
    driven: Vec<ClockedRun>,
}

pub fn bench_serial(work: &mut BenchSetup) -> Result<()> {
    bring_mate_cigars(work)?;
    let work = &*work;
    let output = work.file("serial.bam");
    let mut levels = LEVELS.map(|level| LevelRuns::new(work, level, output.clone()));
    for round in 1..=work.options.runs {
        for level in &mut levels {
            level
                .measure_round(work)
                .with_context(|| format!("round {round}, level {}", level.level))?;
            eprintln!("round {round}: level {}", level.level);
        }
    }
    std::fs::remove_file(output)?;
    println!("### Serial phases: {}\n\n{}\n", sort_by(work), work.describe_setup());
    let all: Vec<&ClockedRun> = levels.iter().flat_map(|level| &level.driven).collect();
    print_phases(work, &all)?;
    print_projection(work, &levels, &all)?;
    print_check(&levels, work)?;
    let own = levels.iter().map(|level| {
        let name = format!("level {}, one thread, with a clock", level.level);
        Contender::new(&name, 1, PathBuf::new(), vec![vec![level.drive.clone()]])
    });
    print_commands(&own.chain(levels.iter().map(|level| level.whole.clone())).collect::<Vec<_>>());
    Ok(())
}

impl LevelRuns {
    fn new(work: &BenchSetup, level: u8, output: PathBuf) -> Self {
        let drive = work.own_call("serial-once").arg(&work.data).arg(&output);
        let Options { limit, order, threads, .. } = &work.options;
        let memory = limit.map(|memory| memory.to_string()).unwrap_or_default();
        let drive = drive.add_words(&format!("{level} {} {memory} -@ {threads}", order.name()));
        let name = format!("level {level}, readmill");
        let whole = SortBench { level, ..SortBench::from_work(work) }.sort_with_readmill(&name);
        LevelRuns { level, whole, seconds: Vec::new(), drive, driven: Vec::new() }
    }

    fn measure_round(&mut self, work: &BenchSetup) -> Result<()> {
        self.driven.push(ClockedRun::parse(&work.run_once(self.drive.clone())?)?);
        let sample = self.whole.measure(&work.directory)?;
        std::fs::remove_file(&self.whole.output)?;
        self.seconds.push((sample.wall.as_secs_f64(), sample.cpu.as_secs_f64()));
        Ok(())
    }

    /// Returns CPU nanoseconds per record for reading (including the runs written meanwhile) and
    /// for merging.
    fn cpu_ns_per_record(&self) -> [f64; 2] {
        let cpu = |of: fn(&ClockedRun) -> Duration| {
            median_of(&self.driven, |driven| driven.ns_per_record(of(driven)))
        };
        [
            cpu(|driven| driven.reading.combined_with(driven.spilling).cpu),
            cpu(|driven| driven.merging.cpu),
        ]
    }
}

impl ClockedRun {
    fn parse(said: &str) -> Result<Self> {
        match said.lines().collect::<Vec<_>>()[..] {
            [records, reading, spilling, merging] => Ok(ClockedRun {
                records: records.parse()?,
                reading: reading.parse()?,
                spilling: spilling.parse()?,
                merging: merging.parse()?,
            }),
            _ => bail!("not what was expected: {said:?}"),
        }
    }

    fn ns_per_record(&self, time: Duration) -> f64 {
        time.as_nanos() as f64 / self.records.max(1) as f64
    }
}

fn median_of<'a>(
    all: impl IntoIterator<Item = &'a ClockedRun>,
    figure: impl Fn(&ClockedRun) -> f64,
) -> f64 {
    median(&sorted_figures(all, figure))
}

fn sorted_figures<'a>(
    all: impl IntoIterator<Item = &'a ClockedRun>,
    figure: impl Fn(&ClockedRun) -> f64,
) -> Vec<f64> {
    let mut values: Vec<f64> = all.into_iter().map(figure).collect();
    values.sort_by(f64::total_cmp);
    values
}

type PassPhases = fn(&ClockedRun) -> Phases;

type PhaseTime = fn(&Phases) -> Duration;

const PASSES: [(&str, PassPhases); 3] = [
    ("reading", |driven| driven.reading),
    ("writing runs", |driven| driven.spilling),
    ("merging", |driven| driven.merging),
];

const PHASES: [(&str, PhaseTime); 4] = [
    ("claim", |phases| phases.claim),
    ("link", |phases| phases.link),
    ("commit", |phases| phases.commit),
    ("sum", Phases::serial_time),
];

/// Adds a table of this benchmark to its data file.
fn save(work: &BenchSetup, file: &str, columns: &[&str], rows: Vec<Vec<String>>) -> Result<()> {
    let title = format!("Serial phases: {}", sort_by(work));
    work.save_table(&DataTable { file, title: &title, columns, rows })
}

/// Prints a table row as Markdown.
fn print_row(cells: &[String]) {
    println!("| {} |", cells.join(" | "));
}

fn print_phases(work: &BenchSetup, all: &[&ClockedRun]) -> Result<()> {
    println!("| pass | phase | tickets | µs per ticket | ns per record (least–most) |");
    println!("|---|---|---|---|---|");
    let mut rows = Vec::new();
    for (pass_name, pass) in PASSES {
        let tickets = all.first().map_or(0, |driven| pass(driven).tickets);
        for (name, phase) in PHASES.iter().filter(|_| tickets > 0) {
            let all = all.iter().copied();
            let times = sorted_figures(all.clone(), |driven| driven.ns_per_record(phase(&pass(driven))));
            let (min_ns, max_ns) = (times.first().unwrap_or(&0.0), times.last().unwrap_or(&0.0));
            let ticket = median_of(all, |driven| {
                let phases = pass(driven);
                phase(&phases).as_nanos() as f64 / 1e3 / phases.tickets.max(1) as f64
            });
            let time = format!("{:.2} ({min_ns:.2}–{max_ns:.2})", median(&times));
            let mut cells =
                vec![pass_name.into(), name.to_string(), tickets.to_string(), format!("{ticket:.2}")];
            print_row(&[&cells[..], std::slice::from_ref(&time)].concat());
            cells.extend(split_range(&time));
            rows.push(cells);
        }
    }
    println!(
        "\nMedians of {} sorts of {} records, each on one thread; what other threads do at the same",
        all.len(),
        all.first().map_or(0, |driven| driven.records)
    );
    println!(
        "time, to the caches above all, is not in them, nor is the hand-over of a ticket between threads.\n"
    );
    let columns = [
        "pass",
        "phase",
        "tickets",
        "us_per_ticket",
        "ns_per_record",
        "ns_per_record_min",
        "ns_per_record_max",
    ];
    save(work, "serial-phases", &columns, rows)
}

/// Returns the name and nanoseconds per record of the largest serial phase of reading (including
/// writing runs) and of merging.
fn largest_phases(all: &[&ClockedRun]) -> [(&'static str, f64); 2] {
    let largest = |pass: PassPhases| {
        let phases = PHASES[..3].iter().map(|&(name, phase)| {
            (name, median_of(all.iter().copied(), |driven| driven.ns_per_record(phase(&pass(driven)))))
        });
        phases.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or_default()
    };
    [largest(|driven| driven.reading.combined_with(driven.spilling)), largest(|driven| driven.merging)]
}

/// Returns the bottleneck of a pass that takes `cpu` nanoseconds per record, and its time on this
/// number of cores.
fn project_pass(cpu: f64, cores: u32, bound: (&'static str, f64)) -> (&'static str, f64) {
    let shared = cpu / f64::from(cores);
    if shared >= bound.1 { ("cores", shared) } else { bound }
}

fn print_projection(work: &BenchSetup, levels: &[LevelRuns], all: &[&ClockedRun]) -> Result<()> {
    let bounds = largest_phases(all);
    println!(
        "Projected for 10^6 records: each pass takes its CPU time shared by the cores, or its largest serial phase if that is longer.\n"
    );
    println!("| level | cores | reading ms | bound by | merging ms | bound by | together ms |");
    println!("|---|---|---|---|---|---|---|");
    let (mut projections, mut limits) = (Vec::new(), Vec::new());
    for (level, cores) in levels.iter().flat_map(|level| CORES.map(|cores| (level, cores))) {
        let [reading, merging] = level.cpu_ns_per_record();
        let (read_by, reading) = project_pass(reading, cores, bounds[0]);
        let (merged_by, merging) = project_pass(merging, cores, bounds[1]);
        let cells = vec![
            level.level.to_string(),
            cores.to_string(),
            format!("{reading:.2}"),
            read_by.to_owned(),
            format!("{merging:.2}"),
            merged_by.to_owned(),
            format!("{:.2}", reading + merging),
        ];
        print_row(&cells);
        projections.push(cells);
    }
    println!(
        "\n| level | pass | CPU ns per record | largest serial phase | ns per record | it is the bound from … cores |"
    );
    println!("|---|---|---|---|---|---|");
    for level in levels {
        for ((pass, cpu), (phase, serial)) in
            ["reading", "merging"].iter().zip(level.cpu_ns_per_record()).zip(bounds)
        {
            let cores = (cpu / serial.max(f64::MIN_POSITIVE)).ceil();
            let cells = vec![
                level.level.to_string(),
                pass.to_string(),
                format!("{cpu:.0}"),
                phase.to_owned(),
                format!("{serial:.2}"),
                format!("{cores:.0}"),
            ];
            print_row(&cells);
            limits.push(cells);
        }
    }
    let columns =
        ["level", "cores", "reading_ms", "reading_bound", "merging_ms", "merging_bound", "total_ms"];
    save(work, "serial-projection", &columns, projections)?;
    let columns = ["level", "pass", "cpu_ns_per_record", "largest_phase", "ns_per_record", "min_cores"];
    save(work, "serial-limits", &columns, limits)
}

/// Prints readmill's CPU time and the sum of the clocked passes. Both should agree, because the
/// clocked sort does the same work.
fn print_check(levels: &[LevelRuns], work: &BenchSetup) -> Result<()> {
    println!(
        "\n| level | readmill, {} threads: wall ms per 10^6 records | CPU ms | CPU ms of the clocked sort |",
        work.options.threads
    );
    println!("|---|---|---|---|");
    let mut rows = Vec::new();
    for level in levels {
        let records = level.driven.first().map_or(1.0, |driven| driven.records.max(1) as f64);
        let seconds = |figure: fn(&(f64, f64)) -> f64| {
            let mut values: Vec<f64> = level.seconds.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            median(&values) * 1e9 / records
        };
        let clocked = level.cpu_ns_per_record().iter().sum::<f64>();
        let times = [seconds(|it| it.0), seconds(|it| it.1), clocked].map(|it| format!("{it:.0}"));
        let cells = [vec![level.level.to_string()], times.to_vec()].concat();
        print_row(&cells);
        rows.push(cells);
    }
    save(work, "serial-check", &["level", "wall_ms", "cpu_ms", "clocked_cpu_ms"], rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longer_of_work_and_serial_phase_bounds_a_pass() {
        let driven =
            ClockedRun::parse("1000\n10 5000 7000 1000 900000\n0 0 0 0 0\n9 1 2 30000 6000000\n")
                .unwrap();
        let bounds = largest_phases(&[&driven]);
        assert_eq!(bounds, [("link", 7.0), ("commit", 30.0)]);
        assert_eq!(project_pass(900.0, 2, bounds[0]), ("cores", 450.0));
        assert_eq!(project_pass(900.0, 256, bounds[0]), ("link", 7.0));
        assert!(ClockedRun::parse("1000\n").is_err());
    }
}
