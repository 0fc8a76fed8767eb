//! The subcommand `memory`: readmill's sort with the minimum memory that it accepts, and with each
//! power of two up to 4 GiB.
//!
//! It reports peak memory, spill and time, and compares all outputs, because the output must not
//! depend on the memory.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::contender::{Contender, LogSummary};
use crate::data_file::DataTable;
use crate::jobs::{bring_mate_cigars, sort_by};
use crate::sorters::SortBench;
use crate::table::{self, TableRow, median};
use crate::work::BenchSetup;

const MAX_MEMORY_MIB: u64 = 4096;

/// Measures and prints the table. Fails if a peak exceeded its limit, or if an output differed from
/// the first one.
pub fn bench_memory(work: &mut BenchSetup) -> Result<()> {
    bring_mate_cigars(work)?;
    let work = &*work;
    let limits = memory_limits(work.min_memory_mib()?);
    let of = |&limit: &u64| {
        SortBench { memory: Some(limit), ..SortBench::from_work(work) }
            .sort_with_readmill_indexed(&format!("{limit}M"))
    };
    let contenders: Vec<Contender> = limits.iter().map(of).collect();
    let (kept, mut same) = (work.file("first.bam"), Vec::new());
    let rows = table::measure_rounds(work, &contenders, |_, output| {
        let pairs = [(output.to_owned(), kept.clone()), (index_of(output), index_of(&kept))];
        let there = pairs.iter().filter(|(file, _)| file.exists());
        let mut equal = true;
        for (file, first) in there {
            match same.is_empty() {
                true => drop(fs::copy(file, first)?),
                false => equal &= are_equal(file, first)?,
            }
        }
        same.push(equal);
        Ok(())
    })?;
    for file in [kept.clone(), index_of(&kept), index_of(&work.file("readmill.bam"))] {
        let _ = fs::remove_file(file); // not every order has an index
    }
    println!(
        "### Memory: {} (level {})\n\n{}\n",
        sort_by(work),
        work.options.level,
        work.describe_setup()
    );
    println!("| `-m` MiB | n | peak MiB | runs | spilled MiB | wall s (least–most) | CPU s | output |");
    println!("|---|---|---|---|---|---|---|---|");
    let (mut peaks, mut lines) = (Vec::new(), Vec::new());
    for ((limit, row), same) in limits.iter().zip(&rows).zip(&same) {
        let figures = MemoryFigures::from_row(row)?;
        let cells = figures.cells(*limit, row, *same);
        println!("| {} |", cells.join(" | "));
        lines.push(data_cells(&cells));
        peaks.push(figures.told.peak);
    }
    println!(
        "\nMedians, but the largest peak (VmHWM). The output is compared byte by byte with that of the first row, its index too."
    );
    table::print_commands(&contenders[..1]);
    let title = format!("Memory: {} (level {})", sort_by(work), work.options.level);
    work.save_table(&DataTable { file: "memory", title: &title, columns: &COLUMNS, rows: lines })?;
    for (limit, peak) in limits.iter().zip(peaks) {
        ensure!(peak <= *limit, "-m {limit}M: the peak was {peak} MiB");
    }
    ensure!(same.iter().all(|same| *same), "outputs differ");
    Ok(())
}

fn memory_limits(min_mib: u64) -> Vec<u64> {
    let powers =
        (0..64).map(|bit| 1u64 << bit).filter(|power| (min_mib + 1..=MAX_MEMORY_MIB).contains(power));
    std::iter::once(min_mib).chain(powers).collect()
}

fn index_of(bam: &Path) -> PathBuf {
    bam.with_extension("bam.bai")
}

/// The columns of the data file.
const COLUMNS: [&str; 10] = [
    "limit_mib",
    "runs",
    "peak_mib",
    "spilled_runs",
    "spilled_mib",
    "wall_s",
    "wall_s_min",
    "wall_s_max",
    "cpu_s",
    "output",
];

/// Splits the printed cells into cells with one figure each.
fn data_cells(cells: &[String]) -> Vec<String> {
    let split = |(column, cell): (usize, &String)| match column {
        5 => table::split_range(cell).to_vec(),
        _ => vec![cell.clone()],
    };
    cells.iter().enumerate().flat_map(split).collect()
}

struct MemoryFigures {
    walls: Vec<f64>,
    cpu: f64,
    told: LogSummary,
}

impl MemoryFigures {
    fn from_row(row: &TableRow) -> Result<Self> {
        let sorted = |figure: fn(&crate::contender::Measurement) -> f64| {
            let mut values: Vec<f64> = row.samples.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let told: Option<Vec<LogSummary>> =
            row.samples.iter().map(|sample| sample.log_summary).collect();
        let told = told.context("readmill did not say its peak memory")?;
        let middle = |figure: fn(&LogSummary) -> u64| {
            let mut values: Vec<f64> = told.iter().map(|told| figure(told) as f64).collect();
            values.sort_by(f64::total_cmp);
            median(&values).round() as u64
        };
        Ok(MemoryFigures {
            walls: sorted(|sample| sample.wall.as_secs_f64()),
            cpu: median(&sorted(|sample| sample.cpu.as_secs_f64())),
            told: LogSummary {
                peak: told.iter().map(|told| told.peak).max().unwrap_or(0),
                spilled: middle(|told| told.spilled),
                runs: middle(|told| told.runs),
            },
        })
    }

    fn cells(&self, limit: u64, row: &TableRow, same: bool) -> [String; 8] {
        let MemoryFigures { walls, cpu, told } = self;
        let min_and_max = walls.first().zip(walls.last());
        let (min_wall, max_wall) =
            min_and_max.map_or((0.0, 0.0), |(min_wall, max_wall)| (*min_wall, *max_wall));
        [
            limit.to_string(),
            row.samples.len().to_string(),
            told.peak.to_string(),
            told.runs.to_string(),
            told.spilled.to_string(),
            format!("{:.2} ({min_wall:.2}–{max_wall:.2})", median(walls)),
            format!("{cpu:.2}"),
            if same { "same" } else { "DIFFERENT" }.to_owned(),
        ]
    }
}

/// Compares two files block by block. Reading whole files would make this process larger, and with
/// it the memory that Linux reports for its children.
fn are_equal(a: &Path, b: &Path) -> Result<bool> {
    let open = |path: &Path| File::open(path).with_context(|| format!("cannot read {}", path.display()));
    let (mut a, mut b) = (open(a)?, open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; 1 << 18], vec![0; 1 << 18]);
    loop {
        let n = a.read(&mut left)?;
        if n == 0 {
            return Ok(true);
        }
        b.read_exact(&mut right[..n])?;
        if left[..n] != right[..n] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_begin_with_the_least() {
        assert_eq!(memory_limits(51), [51, 64, 128, 256, 512, 1024, 2048, 4096]);
        assert_eq!(memory_limits(64)[..2], [64, 128]);
    }

    #[test]
    fn each_column_of_the_data_file_has_a_cell() {
        let row = TableRow { name: "64M".into(), samples: Vec::new(), record_counts: String::new() };
        let figures = MemoryFigures { walls: vec![1.0, 3.0], cpu: 2.0, told: LogSummary::default() };
        let cells = data_cells(&figures.cells(64, &row, true));
        assert_eq!(cells, ["64", "0", "0", "0", "0", "2.00", "1.00", "3.00", "2.00", "same"]);
        assert_eq!(cells.len(), COLUMNS.len());
    }

    #[test]
    fn files_are_compared_to_their_ends() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            fs::write(&path, bytes).unwrap();
            path
        };
        let mut bytes = vec![7; 600_000];
        let (a, b) = (file("a", &bytes), file("b", &bytes));
        bytes[599_999] = 8;
        assert!(are_equal(&a, &b).unwrap());
        assert!(!are_equal(&a, &file("c", &bytes)).unwrap());
        assert!(!are_equal(&a, &file("d", &bytes[..9])).unwrap());
    }
}
