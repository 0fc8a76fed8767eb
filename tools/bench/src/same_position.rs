//! The subcommand `piles`: marking duplicates of many reads at one position.
//!
//! It compares pairs at one position with the same number spread out, and copies of one molecule on
//! one tile with the same number on all tiles. The ratio of the times shows whether a program slows
//! down if many reads have the same position.
//!
//! Only marking is measured: all programs read the same file, which samtools has sorted and given
//! the fields that its own marking needs. readmill is also measured on reads grouped by name,
//! including the sort.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use readmill_simulate::Rng;

use crate::contender::{Call, Contender, Measurement, Program, TooLong};
use crate::data_file::DataTable;
use crate::options::{Options, Peer};
use crate::sorters::{SortBench, picard_marks, samtools_marks};
use crate::table::{median, print_commands, split_range};
use crate::work::BenchSetup;

#[derive(clap::Args)]
pub struct PilesArgs {
    #[command(flatten)]
    options: Options,
    /// Pairs at one position, and spread out
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pile: u64,
    /// Copies of one molecule on one tile, and on all tiles
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    copies: u64,
    /// Seconds after which a program is stopped
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    time_limit: u64,
}

type NamedPairs = (&'static str, PairSet);

/// Creates the four sets of reads, measures all programs on each, and prints the table.
pub fn bench_piles(args: PilesArgs) -> Result<()> {
    let PilesArgs { options, pile: pairs, copies, time_limit: limit } = args;
    // The usual data is not needed, because the reads are created here.
    let work = BenchSetup::prepare(Options { pairs: 1, ..options })?;
    let spread = PairSet { pairs, one_place: false, one_tile: false };
    let copies = PairSet { pairs: copies, one_place: true, one_tile: false };
    let sets: [NamedPairs; 4] = [
        ("spread", spread),
        ("pile", PairSet { one_place: true, ..spread }),
        ("tiles", copies),
        ("tile", PairSet { one_tile: true, ..copies }),
    ];
    let mut columns = Vec::new();
    for (name, set) in sets {
        write_reads(&work, name, &set)?;
        columns.push(marking_contenders(&work, name, limit)?);
    }
    let rows = measure_columns(&work, &columns)?;
    print_table(&work, &columns, &rows, [pairs, copies.pairs])
}

fn grouped_file(work: &BenchSetup, name: &str) -> PathBuf {
    work.file(&format!("{name}.grouped.bam"))
}

fn sorted_file(work: &BenchSetup, name: &str) -> PathBuf {
    work.file(&format!("{name}.sorted.bam"))
}

/// Writes a set of reads as two BAM files: grouped by name, and sorted with the fields of
/// `samtools fixmate`.
fn write_reads(work: &BenchSetup, name: &str, set: &PairSet) -> Result<()> {
    let samtools = work.find_peer(Peer::Samtools).context("samtools is needed to write the reads")?;
    let (grouped, sorted) = (grouped_file(work, name), sorted_file(work, name));
    let call = Call::new(&samtools).add_words("view --no-PG -b -1 -o").arg(&grouped).arg("-");
    let mut child = call.command().stdin(Stdio::piped()).spawn().context("samtools does not start")?;
    let mut pipe = BufWriter::new(child.stdin.take().context("samtools has no input")?);
    set.write_sam(&mut pipe)?;
    pipe.flush()?;
    drop(pipe);
    if !child.wait()?.success() {
        bail!("samtools does not take the reads");
    }
    let sorting = SortBench { level: 1, ..SortBench::from_work(work) };
    let [sort, _] = samtools_marks(&sorting, &samtools, &sorted);
    let pipe = vec![
        Call::new(&samtools).add_words("fixmate -m -u").arg(&grouped).arg("-"),
        sort.add_words("-l 1 -o").arg(&sorted),
    ];
    Contender::new("preparation", 1, sorted, vec![pipe]).measure(&work.directory).map(drop)
}

fn marking_contenders(work: &BenchSetup, name: &str, limit: u64) -> Result<Vec<Contender>> {
    let (grouped, sorted) = (grouped_file(work, name), sorted_file(work, name));
    let at = |data| SortBench { data, ..SortBench::from_work(work) };
    let output = |of: &str| work.file(&format!("{of}.bam"));
    let mut all = Vec::new();
    let mut add = |title: &str, runs, output: PathBuf, call: Call| {
        all.push(Contender::new(title, runs, output, vec![vec![call.with_time_limit(limit)]]));
    };
    let runs = work.options.runs;
    let own = |words: &str, sorting: &SortBench<'_>| {
        let call = Call::new(&work.readmill).add_words(words).arg(sorting.data);
        let call = sorting.with_resources(call).add_words("--no-index -o").arg(output("readmill"));
        match work.metrics_option() {
            Some(metrics) => metrics(call),
            None => call,
        }
    };
    add("readmill markdup", runs, output("readmill"), own("markdup", &at(&sorted)));
    let both = own("prep --sort coordinate --mark-duplicates", &at(&grouped));
    add("readmill prep, sorting", runs, output("readmill"), both);
    if let Some(program) = work.find_peer(Peer::Samtools) {
        for (title, words) in [("markdup", ""), ("markdup, optical ones", "-d 100")] {
            let call = samtools_markdup(work, &program, words).arg(&sorted).arg(output("samtools"));
            add(&format!("{} {title}", program.title()), runs, output("samtools"), call);
        }
    }
    if let Some(program) = work.find_peer(Peer::Picard) {
        let call = picard_marks(&at(&sorted), &program, &sorted, &output("picard"));
        let title = format!("{} MarkDuplicates", program.title());
        add(&title, work.options.picard_runs, output("picard"), call);
    }
    Ok(all)
}

fn samtools_markdup(work: &BenchSetup, program: &Program, words: &str) -> Call {
    let Options { threads, level, .. } = work.options;
    let words = format!("markdup -@ {threads} {words} --output-fmt bam,level={} -T", level.min(9));
    Call::new(program).add_words(&words).arg(work.file("samtools.markdup"))
}

type Runs = Result<Vec<Measurement>, TooLong>;

/// Measures all contenders on all columns, in turns. Returns a cell per column for each contender.
fn measure_columns(work: &BenchSetup, columns: &[Vec<Contender>]) -> Result<Vec<Vec<Runs>>> {
    let contenders = columns.first().map_or(0, Vec::len);
    let empty = || columns.iter().map(|_| Ok(Vec::new())).collect();
    let mut rows: Vec<Vec<Runs>> = (0..contenders).map(|_| empty()).collect();
    for round in 0..work.options.runs.max(work.options.picard_runs) {
        for (column, contenders) in columns.iter().enumerate() {
            for (contender, row) in contenders.iter().zip(&mut rows) {
                let Ok(samples) = &mut row[column] else { continue };
                if round >= contender.runs {
                    continue;
                }
                match contender.measure(&work.directory) {
                    Ok(sample) => samples.push(sample),
                    Err(error) => row[column] = Err(error.downcast::<TooLong>()?),
                }
                eprintln!("round {}, column {}: {}", round + 1, column + 1, contender.name);
                let _ = std::fs::remove_file(&contender.output); // may be missing after a time limit
            }
        }
    }
    Ok(rows)
}

/// The columns of the data file.
const DATA_COLUMNS: [&str; 15] = [
    "pairs",
    "copies",
    "contender",
    "runs",
    "spread_cpu_s",
    "spread_wall_s",
    "one_place_cpu_s",
    "one_place_wall_s",
    "one_place_cpu_ratio",
    "all_tiles_cpu_s",
    "all_tiles_wall_s",
    "one_tile_cpu_s",
    "one_tile_wall_s",
    "one_tile_cpu_ratio",
    "command_lines",
];

/// Prints the table and adds it to the data file.
fn print_table(
    work: &BenchSetup,
    columns: &[Vec<Contender>],
    rows: &[Vec<Runs>],
    [pairs, copies]: [u64; 2],
) -> Result<()> {
    println!("### Piles (level {})\n\n{}\n", work.options.level, work.describe_machine());
    println!(
        "| | n | {pairs} pairs spread out: CPU s (wall) | in one place | × | {copies} copies on all tiles | on one tile | × |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let all = columns.first().map_or(&[][..], Vec::as_slice);
    let mut lines = Vec::new();
    for (contender, row) in all.iter().zip(rows) {
        let runs = row.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let mut cells = vec![contender.name.clone(), runs.to_string()];
        for two in row.chunks(2) {
            cells.extend(two.iter().map(time_cell));
            cells.push(slowdown_ratio(two));
        }
        println!("| {} |", cells.join(" | "));
        let mut data = vec![pairs.to_string(), copies.to_string()];
        data.extend(data_cells(&cells));
        data.push(contender.command_lines().join(" && "));
        lines.push(data);
    }
    println!(
        "\nAll values are medians. The columns × give the CPU time of the crowded pairs divided by that of the spread pairs."
    );
    print_commands(all);
    let title = format!("Piles (level {})", work.options.level);
    work.save_table(&DataTable { file: "piles", title: &title, columns: &DATA_COLUMNS, rows: lines })
}

/// Splits the printed cells into cells with one figure each: `CPU s (wall s)` becomes two.
fn data_cells(cells: &[String]) -> Vec<String> {
    let split = |(column, cell): (usize, &String)| match column {
        2 | 3 | 5 | 6 => split_range(cell)[..2].to_vec(),
        _ => vec![cell.clone()],
    };
    cells.iter().enumerate().flat_map(split).collect()
}

fn median_figure(samples: &[Measurement], of: fn(&Measurement) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    median(&values)
}

fn median_cpu(samples: &[Measurement]) -> f64 {
    median_figure(samples, |sample| sample.cpu.as_secs_f64())
}

fn time_cell(runs: &Runs) -> String {
    match runs {
        Ok(samples) => {
            let wall = median_figure(samples, |sample| sample.wall.as_secs_f64());
            format!("{:.2} ({wall:.2})", median_cpu(samples))
        }
        Err(TooLong { limit }) => format!("> ({limit})"),
    }
}

fn slowdown_ratio(two: &[Runs]) -> String {
    match two {
        [Ok(spread), Ok(crowded)] => format!("{:.2}", median_cpu(crowded) / median_cpu(spread)),
        [Ok(spread), Err(TooLong { limit })] => {
            let wall = median_figure(spread, |sample| sample.wall.as_secs_f64());
            format!("> {:.0}", *limit as f64 / wall)
        }
        _ => "–".into(),
    }
}

const CONTIG_BASES: u64 = 200_000_000;

/// Read length and template length in bases.
const READ_BASES: usize = 50;
const TEMPLATE_BASES: u64 = 300;

/// Tiles of a lane: two surfaces with two swaths of 28 each.
const TILES_PER_LANE: u64 = 112;

/// Distinct x coordinates on a tile.
const COLUMNS_PER_TILE: u64 = 20_000;

#[derive(Clone, Copy)]
struct PairSet {
    pairs: u64,
    one_place: bool,
    /// Whether all pairs are on one tile. Otherwise they are distributed over all tiles.
    one_tile: bool,
}

impl PairSet {
    fn write_sam(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "@HD\tVN:1.6\tSO:unsorted\tGO:query\n@SQ\tSN:chr1\tLN:{CONTIG_BASES}")?;
        writeln!(out, "@RG\tID:one\tSM:pile\tLB:lib1\tPL:ILLUMINA")?;
        for number in 0..self.pairs {
            self.write_pair(number, out)?;
        }
        Ok(())
    }

    fn write_pair(&self, number: u64, out: &mut impl Write) -> io::Result<()> {
        let random = &mut Rng::new(number);
        let anywhere = 1 + random.below64(CONTIG_BASES - TEMPLATE_BASES);
        let first = if self.one_place { CONTIG_BASES / 2 } else { anywhere };
        let last = first + TEMPLATE_BASES - READ_BASES as u64;
        let (tile, seen) =
            if self.one_tile { (0, number) } else { (number % TILES_PER_LANE, number / TILES_PER_LANE) };
        let tile = 1000 * (tile / 56 + 1) + 100 * (tile / 28 % 2 + 1) + tile % 28 + 1;
        // No two clusters of a tile have the same coordinates: the lowest digits of y count the
        // occurrences of x.
        let (x, y) =
            (1000 + seen % COLUMNS_PER_TILE, 1000 + 90 * random.below64(1000) + seen / COLUMNS_PER_TILE);
        for (flags, at, mate, length) in
            [(99, first, last, TEMPLATE_BASES as i64), (147, last, first, -(TEMPLATE_BASES as i64))]
        {
            write!(
                out,
                "SIM:1:FC:1:{tile}:{x}:{y}\t{flags}\tchr1\t{at}\t60\t{READ_BASES}M\t=\t{mate}\t{length}\t"
            )?;
            out.write_all(&[(); READ_BASES].map(|()| random.pick(b"ACGT")))?;
            out.write_all(b"\t")?;
            out.write_all(&[(); READ_BASES].map(|()| random.pick(b"#-8F")))?;
            out.write_all(b"\tRG:Z:one\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_takes_too_long_is_told_as_such() {
        let sample = |s| Measurement {
            wall: Duration::from_secs(s),
            cpu: Duration::from_secs(2 * s),
            ..Measurement::default()
        };
        let (spread, pile) = (Ok(vec![sample(2), sample(3), sample(9)]), Ok(vec![sample(6)]));
        assert_eq!(time_cell(&spread), "6.00 (3.00)");
        let printed =
            ["a", "3", "6.00 (3.00)", "7.00 (4.00)", "1.17", "1.00 (1.00)", "> (600)", "> 200"];
        let cells = data_cells(&printed.map(str::to_owned));
        assert_eq!(cells[2..7], ["6.00", "3.00", "7.00", "4.00", "1.17"]);
        assert_eq!(
            (&cells[9..], cells.len() + 3),
            (&[">", "600", "> 200"].map(str::to_owned)[..], DATA_COLUMNS.len())
        );
        assert_eq!(slowdown_ratio(&[spread, pile]), "2.00");
        let late: Runs = Err(TooLong { limit: 600 });
        assert_eq!(time_cell(&late), "> (600)");
        assert_eq!(slowdown_ratio(&[Ok(vec![sample(3)]), late]), "> 200");
    }

    fn fields(set: PairSet, field: usize) -> Vec<String> {
        let mut text = Vec::new();
        set.write_sam(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let reads = text.lines().filter(|line| !line.starts_with('@'));
        reads.map(|line| line.split('\t').nth(field).unwrap().to_owned()).collect()
    }

    #[test]
    fn names_are_unique_and_places_are_as_asked() {
        for (one_place, one_tile) in [(false, false), (true, false), (true, true)] {
            let set = PairSet { pairs: 30_000, one_place, one_tile };
            let names: BTreeSet<String> = fields(set, 0).into_iter().collect();
            assert_eq!(names.len(), 30_000);
            let tiles: BTreeSet<&str> =
                names.iter().map(|name| name.split(':').nth(4).unwrap()).collect();
            assert_eq!(tiles.len(), if one_tile { 1 } else { 112 });
            let places: BTreeSet<String> = fields(set, 3).into_iter().collect();
            assert!(if one_place { places.len() == 2 } else { places.len() > 29_000 });
        }
    }

    #[test]
    fn crowds_differ_in_place_alone() {
        let spread = PairSet { pairs: 100, one_place: false, one_tile: false };
        let pile = PairSet { one_place: true, ..spread };
        for field in [0, 1, 5, 9, 10] {
            assert_eq!(fields(spread, field), fields(pile, field));
        }
        assert_ne!(fields(spread, 3), fields(pile, 3));
    }
}
