//! Piles: pairs at one position compared with as many that are spread out, and copies of one molecule on one tile
//! compared with as many on all tiles. The ratio of a program's times shows whether it slows down if many reads have
//! the same position.
//!
//! Only marking is measured: all programs read the same file, which samtools has sorted and given the fields
//! that its own marking needs. readmill is measured from reads grouped by name, too, sort included.

mod reads;

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::chains::{picard_marks, samtools_marks};
use super::contender::{Call, Contender, Measurement, Program, TooLong};
use super::options::{Options, Peer};
use super::sorters::Sorting;
use super::table::{median, print_commands};
use super::work::Work;
use reads::Pile;

/// Options of `bench piles`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    options: Options,
    /// Pairs in one place, and spread out
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    pile: u64,
    /// Copies of one molecule on one tile, and on all tiles
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    copies: u64,
    /// Seconds after which a program is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    time_limit: u64,
}

/// Reads that are measured: their name, and what they are.
type NamedPile = (&'static str, Pile);

/// Measures, and prints the table.
pub fn run(args: Args) -> Result<()> {
    let Args { options, pile: pairs, copies, time_limit: limit } = args;
    // Only the reads made here are simulated.
    let work = Work::prepare(Options { pairs: 1, ..options })?;
    let spread = Pile { pairs, one_place: false, one_tile: false };
    let copies = Pile { pairs: copies, one_place: true, one_tile: false };
    let crowds: [NamedPile; 4] = [
        ("spread", spread),
        ("pile", Pile { one_place: true, ..spread }),
        ("tiles", copies),
        ("tile", Pile { one_tile: true, ..copies }),
    ];
    let mut columns = Vec::new();
    for (name, crowd) in crowds {
        make(&work, name, &crowd)?;
        columns.push(contenders(&work, name, limit)?);
    }
    let rows = measure(&work, &columns)?;
    print(&work, &columns, &rows, [pairs, copies.pairs]);
    Ok(())
}

fn grouped(work: &Work, name: &str) -> PathBuf {
    work.file(&format!("{name}.grouped.bam"))
}

fn sorted(work: &Work, name: &str) -> PathBuf {
    work.file(&format!("{name}.sorted.bam"))
}

/// Writes the reads, grouped by name and sorted.
fn make(work: &Work, name: &str, crowd: &Pile) -> Result<()> {
    let samtools = work.peer(Peer::Samtools).context("samtools is needed to write the reads")?;
    let (grouped, sorted) = (grouped(work, name), sorted(work, name));
    let call = Call::new(&samtools).words("view --no-PG -b -1 -o").arg(&grouped).arg("-");
    let mut child = call.command().stdin(Stdio::piped()).spawn().context("samtools does not start")?;
    let mut pipe = BufWriter::new(child.stdin.take().context("samtools has no input")?);
    crowd.write(&mut pipe)?;
    pipe.flush()?;
    drop(pipe);
    if !child.wait()?.success() {
        bail!("samtools does not take the reads");
    }
    let sorting = Sorting { level: 1, ..Sorting::of(work) };
    let [sort, _] = samtools_marks(&sorting, &samtools, &sorted);
    let pipe = vec![
        Call::new(&samtools).words("fixmate -m -u").arg(&grouped).arg("-"),
        sort.words("-l 1 -o").arg(&sorted),
    ];
    Contender::new("preparation", 1, sorted, vec![pipe]).measure(&work.directory).map(drop)
}

/// All programs, on the reads of that name.
fn contenders(work: &Work, name: &str, limit: u64) -> Result<Vec<Contender>> {
    let (grouped, sorted) = (grouped(work, name), sorted(work, name));
    let at = |data| Sorting { data, ..Sorting::of(work) };
    let output = |of: &str| work.file(&format!("{of}.bam"));
    let mut all = Vec::new();
    let mut add = |title: &str, runs, output: PathBuf, call: Call| {
        all.push(Contender::new(title, runs, output, vec![vec![call.within(limit)]]));
    };
    let runs = work.options.runs;
    let own = |words: &str, sorting: &Sorting<'_>| {
        let call = Call::new(&work.readmill).words(words).arg(sorting.data);
        let call = sorting.means(call).words("--no-index -o").arg(output("readmill"));
        match work.metrics() {
            Some(metrics) => metrics(call),
            None => call,
        }
    };
    add("readmill markdup", runs, output("readmill"), own("markdup", &at(&sorted)));
    let both = own("prep --sort coordinate --mark-duplicates", &at(&grouped));
    add("readmill prep, sorting", runs, output("readmill"), both);
    if let Some(program) = work.peer(Peer::Samtools) {
        for (title, words) in [("markdup", ""), ("markdup, optical ones", "-d 100")] {
            let call = samtools(work, &program, words).arg(&sorted).arg(output("samtools"));
            add(&format!("{} {title}", program.title()), runs, output("samtools"), call);
        }
    }
    if let Some(program) = work.peer(Peer::Picard) {
        let call = picard_marks(&at(&sorted), &program, &sorted, &output("picard"));
        let title = format!("{} MarkDuplicates", program.title());
        add(&title, work.options.picard_runs, output("picard"), call);
    }
    Ok(all)
}

fn samtools(work: &Work, program: &Program, words: &str) -> Call {
    let Options { threads, level, .. } = work.options;
    let words = format!("markdup -@ {threads} {words} --output-fmt bam,level={} -T", level.min(9));
    Call::new(program).words(&words).arg(work.file("samtools.markdup"))
}

/// The runs of a contender, or the one that took too long.
type Runs = Result<Vec<Measurement>, TooLong>;

/// Measures all contenders on all columns, in turns; returns one cell for each column of each contender.
fn measure(work: &Work, columns: &[Vec<Contender>]) -> Result<Vec<Vec<Runs>>> {
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
                let _ = std::fs::remove_file(&contender.output); // one that took too long may have left none
            }
        }
    }
    Ok(rows)
}

fn print(work: &Work, columns: &[Vec<Contender>], rows: &[Vec<Runs>], [pairs, copies]: [u64; 2]) {
    println!("### Piles (level {})\n\n{}\n", work.options.level, work.describe_machine());
    println!(
        "| | n | {pairs} pairs spread out: CPU s (wall) | in one place | × | {copies} copies on all tiles | on one tile | × |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let all = columns.first().map_or(&[][..], Vec::as_slice);
    for (contender, row) in all.iter().zip(rows) {
        let runs = row.iter().flatten().map(Vec::len).max().unwrap_or(0);
        let mut cells = vec![contender.name.clone(), runs.to_string()];
        for two in row.chunks(2) {
            cells.extend(two.iter().map(cell));
            cells.push(ratio(two));
        }
        println!("| {} |", cells.join(" | "));
    }
    println!("\nMedians; × is the ratio of CPU times, crowded over spread.");
    print_commands(all);
}

fn figure(samples: &[Measurement], of: fn(&Measurement) -> f64) -> f64 {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    median(&values)
}

fn cpu(samples: &[Measurement]) -> f64 {
    figure(samples, |sample| sample.cpu.as_secs_f64())
}

fn cell(runs: &Runs) -> String {
    match runs {
        Ok(samples) => {
            let wall = figure(samples, |sample| sample.wall.as_secs_f64());
            format!("{:.2} ({wall:.2})", cpu(samples))
        }
        Err(TooLong { limit }) => format!("> ({limit})"),
    }
}

fn ratio(two: &[Runs]) -> String {
    match two {
        [Ok(spread), Ok(crowded)] => format!("{:.2}", cpu(crowded) / cpu(spread)),
        [Ok(spread), Err(TooLong { limit })] => {
            let wall = figure(spread, |sample| sample.wall.as_secs_f64());
            format!("> {:.0}", *limit as f64 / wall)
        }
        _ => "–".into(),
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(cell(&spread), "6.00 (3.00)");
        assert_eq!(ratio(&[spread, pile]), "2.00");
        let late: Runs = Err(TooLong { limit: 600 });
        assert_eq!(cell(&late), "> (600)");
        assert_eq!(ratio(&[Ok(vec![sample(3)]), late]), "> 200");
    }
}
