//! Rounds of measurements, their medians, and the printed table.

use std::path::Path;

use anyhow::Result;

use crate::contender::{Contender, Measurement};
use crate::data_file::DataTable;
use crate::floor;
use crate::work::BenchSetup;

/// The figures of a contender.
pub struct TableRow {
    /// Name of the contender.
    pub name: String,
    /// One measurement per round.
    pub samples: Vec<Measurement>,
    /// Number of records and duplicates in its output.
    pub record_counts: String,
}

impl TableRow {
    /// Returns a row that was not measured itself: the sum of `parts`, round by round.
    pub fn sum_of_rows(name: &str, parts: &[&TableRow]) -> Self {
        let rounds = parts.iter().map(|part| part.samples.len()).min().unwrap_or(0);
        let round = |i: usize| {
            parts.iter().map(|part| part.samples[i]).fold(Measurement::default(), |sum, sample| {
                Measurement {
                    wall: sum.wall + sample.wall,
                    cpu: sum.cpu + sample.cpu,
                    bytes: sum.bytes.max(sample.bytes),
                    ..sum
                }
            })
        };
        TableRow {
            name: name.into(),
            samples: (0..rounds).map(round).collect(),
            record_counts: "–".into(),
        }
    }

    /// Returns the ratio of this row's figure to the other's, computed round by round: median,
    /// minimum and maximum.
    pub fn ratio(&self, other: &TableRow, figure: fn(&Measurement) -> f64) -> String {
        let both = self.samples.iter().zip(&other.samples);
        let mut ratios: Vec<f64> = both.map(|(one, other)| figure(one) / figure(other)).collect();
        ratios.sort_by(f64::total_cmp);
        match ratios[..] {
            [] => "–".into(),
            [one] => format!("{one:.3}"),
            [min_ratio, .., max_ratio] => {
                format!("{:.3} ({min_ratio:.3}–{max_ratio:.3})", median(&ratios))
            }
        }
    }
}

/// Splits `median (min–max)` into its three figures. A figure without a range is its own minimum and maximum.
pub fn split_range(shown: &str) -> [String; 3] {
    let Some((middle, range)) = shown.strip_suffix(')').and_then(|it| it.split_once(" (")) else {
        return [(); 3].map(|()| shown.to_owned());
    };
    let (min, max) = range.split_once('–').unwrap_or((range, range));
    [middle, min, max].map(str::to_owned)
}

/// Measures all contenders in turns and prints the table. Contenders are compared with the first
/// one and with the floor.
pub fn measure(title: &str, work: &BenchSetup, contenders: &[Contender]) -> Result<()> {
    let rows = measure_rounds(work, contenders, |row, output| {
        row.record_counts = work.count_records(output)?;
        Ok(())
    })?;
    print_table(title, work, &rows, floor::FLOOR_NAME);
    print_ratios(&rows);
    print_commands(contenders);
    save_table(title, work, &rows, floor::FLOOR_NAME, contenders)
}

/// Adds the table to the data file of this benchmark. Its cells have the digits that [`print_table`]
/// prints.
pub fn save_table(
    title: &str,
    work: &BenchSetup,
    rows: &[TableRow],
    floor: &str,
    contenders: &[Contender],
) -> Result<()> {
    let (first, floor) = bases(rows, floor);
    let lines = rows.iter().map(|row| {
        let contender = contenders.iter().find(|contender| contender.name == row.name);
        let commands = contender.map(|contender| contender.command_lines().join(" && "));
        let mut cells = MedianFigures::of(row).data_cells(row, &first, &floor);
        cells.push(commands.unwrap_or_default());
        cells
    });
    let benchmark = std::env::args().nth(1).unwrap_or_default();
    work.save_table(&DataTable { file: &benchmark, title, columns: &COLUMNS, rows: lines.collect() })
}

/// The columns of a data file, in the order of [`MedianFigures::data_cells`].
const COLUMNS: [&str; 20] = [
    "contender",
    "runs",
    "wall_s",
    "wall_s_min",
    "wall_s_max",
    "wall_ratio",
    "wall_floor_ratio",
    "cpu_s",
    "cpu_ratio",
    "cpu_floor_ratio",
    "peak_mb",
    "peak_ratio",
    "gbh",
    "gbh_ratio",
    "output_mb",
    "spilled_mib",
    "spilled_runs",
    "records",
    "duplicates",
    "command_lines",
];

/// Returns the baseline figures: those of the first row and of the floor.
fn bases(rows: &[TableRow], floor: &str) -> (MedianFigures, MedianFigures) {
    let floor = rows.iter().find(|row| row.name == floor);
    (
        rows.first().map(MedianFigures::of).unwrap_or_default(),
        floor.map(MedianFigures::of).unwrap_or_default(),
    )
}

/// Prints the table. `floor` is the name of the floor's row.
pub fn print_table(title: &str, work: &BenchSetup, rows: &[TableRow], floor: &str) {
    println!("### {title}\n\n{}\n", work.describe_setup());
    println!(
        "| | n | wall s (least–most) | × | × floor | CPU s | × | × floor | peak MB | × | GBh | × | output MB | MiB spilled, runs | records, duplicates |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|");
    let (first, floor_figures) = bases(rows, floor);
    for row in rows {
        println!("{}", MedianFigures::of(row).line(row, &first, &floor_figures));
    }
    println!(
        "\nAll values are medians. The columns × give the ratio to the first row; the columns × floor give the ratio to the {floor}."
    );
}

/// Measures all contenders in turns. In the first round, `look` can inspect each output before it
/// is removed.
pub fn measure_rounds(
    work: &BenchSetup,
    contenders: &[Contender],
    mut look: impl FnMut(&mut TableRow, &Path) -> Result<()>,
) -> Result<Vec<TableRow>> {
    let mut rows: Vec<TableRow> = contenders
        .iter()
        .map(|it| TableRow { name: it.name.clone(), samples: Vec::new(), record_counts: String::new() })
        .collect();
    let rounds = contenders.iter().map(|contender| contender.runs).max().unwrap_or(0);
    for round in 0..rounds {
        let running = contenders.iter().zip(&mut rows).filter(|(contender, _)| round < contender.runs);
        for (contender, row) in running {
            let sample = contender.measure(&work.directory)?;
            eprintln!("round {}: {}: {:.2} s", round + 1, row.name, sample.wall.as_secs_f64());
            row.samples.push(sample);
            if round == 0 {
                look(row, &contender.output)?;
            }
            // Outputs that are removed early need not be written to disk.
            std::fs::remove_file(&contender.output)?;
        }
    }
    Ok(rows)
}

/// Prints the ratio of the first contender to each floor, and to other runs of readmill.
fn print_ratios(rows: &[TableRow]) {
    let Some((first, others)) = rows.split_first() else { return };
    let own = MedianFigures::of(first);
    let is_own =
        |row: &&TableRow| [floor::FLOOR_NAME, "readmill"].iter().any(|own| row.name.starts_with(own));
    for floor in others.iter().filter(is_own) {
        let figures = MedianFigures::of(floor);
        println!(
            "{} takes {} × the wall time and {} × the CPU time of the {}.",
            first.name,
            ratio(own.wall, figures.wall),
            ratio(own.cpu, figures.cpu),
            floor.name,
        );
    }
}

pub fn print_commands(contenders: &[Contender]) {
    println!("\n```sh");
    for contender in contenders {
        println!("# {}", contender.name);
        for line in contender.command_lines() {
            println!("{line}");
        }
    }
    println!("```");
}

/// Returns `mine / other`, or a dash if either is unknown.
fn ratio(mine: f64, other: f64) -> String {
    if mine > 0.0 && other > 0.0 { format!("{:.2}", mine / other) } else { "–".into() }
}

/// Medians, in seconds and 10^6 bytes. `gbh` is wall time in hours times peak memory in 10^9 bytes.
#[derive(Default)]
struct MedianFigures {
    wall: f64,
    min: f64,
    max: f64,
    cpu: f64,
    peak: f64,
    gbh: f64,
    size: f64,
}

impl MedianFigures {
    fn of(row: &TableRow) -> Self {
        let all = |figure: fn(&Measurement) -> f64| {
            let mut values: Vec<f64> = row.samples.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let walls = all(|sample| sample.wall.as_secs_f64());
        MedianFigures {
            wall: median(&walls),
            min: walls.first().copied().unwrap_or(0.0),
            max: walls.last().copied().unwrap_or(0.0),
            cpu: median(&all(|sample| sample.cpu.as_secs_f64())),
            peak: median(&all(|sample| sample.peak as f64 / 1e6)),
            gbh: median(&all(|sample| sample.wall.as_secs_f64() / 3600.0 * sample.peak as f64 / 1e9)),
            size: median(&all(|sample| sample.bytes as f64 / 1e6)),
        }
    }

    /// Formats the row as Markdown.
    fn line(&self, row: &TableRow, base: &MedianFigures, floor: &MedianFigures) -> String {
        let spilled = parse_spill(row).map_or("–".into(), |[size, runs]| format!("{size}, {runs}"));
        let mut cells = vec![
            row.name.clone(),
            row.samples.len().to_string(),
            format!("{:.2} ({:.2}–{:.2})", self.wall, self.min, self.max),
        ];
        cells.extend(self.ratio_cells(base, floor));
        cells.extend([spilled, row.record_counts.clone()]);
        format!("| {} |", cells.join(" | "))
    }

    /// Returns the row as cells of a data file with one figure each, without the command lines.
    fn data_cells(&self, row: &TableRow, base: &MedianFigures, floor: &MedianFigures) -> Vec<String> {
        let mut cells = vec![row.name.clone(), row.samples.len().to_string()];
        cells.extend([self.wall, self.min, self.max].map(|seconds| format!("{seconds:.2}")));
        cells.extend(self.ratio_cells(base, floor));
        let spilled = parse_spill(row).map(|figures| figures.map(|figure| figure.to_string()));
        cells.extend(spilled.unwrap_or_default());
        let (records, duplicates) =
            row.record_counts.split_once(", ").unwrap_or((&row.record_counts, ""));
        cells.extend([records.into(), duplicates.into()]);
        cells
    }

    /// Returns the ratios of wall time, then all other figures with their ratios, up to the output
    /// size.
    fn ratio_cells(&self, base: &MedianFigures, floor: &MedianFigures) -> [String; 10] {
        let or_dash = |value: f64, shown: String| if value > 0.0 { shown } else { "–".into() };
        [
            ratio(self.wall, base.wall),
            ratio(self.wall, floor.wall),
            format!("{:.2}", self.cpu),
            ratio(self.cpu, base.cpu),
            ratio(self.cpu, floor.cpu),
            or_dash(self.peak, format!("{:.0}", self.peak)),
            ratio(self.peak, base.peak),
            or_dash(self.gbh, format!("{:.5}", self.gbh)),
            ratio(self.gbh, base.gbh),
            format!("{:.1}", self.size),
        ]
    }
}

/// Returns the MiB and the number of runs spilled in the first round. (They may depend on thread
/// timing.)
fn parse_spill(row: &TableRow) -> Option<[u64; 2]> {
    let told = row.samples.first()?.log_summary?;
    Some([told.spilled, told.runs])
}

/// Returns the median of sorted values.
pub fn median(values: &[f64]) -> f64 {
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::contender::LogSummary;

    fn row(name: &str, walls: &[u64], peak: u64) -> TableRow {
        let sample = |&wall| Measurement {
            wall: Duration::from_secs(wall),
            cpu: Duration::from_secs(2 * wall),
            peak,
            bytes: 5_000_000,
            log_summary: Some(LogSummary { peak: 242, spilled: 7, runs: 2 })
                .filter(|_| name == "readmill"),
        };
        TableRow {
            name: name.into(),
            samples: walls.iter().map(sample).collect(),
            record_counts: "9, 1".into(),
        }
    }

    #[test]
    fn rounds_are_compared_one_by_one() {
        let (one, other) = (row("a", &[30, 44, 36], 9), row("b", &[10, 11, 12], 5));
        let wall = |sample: &Measurement| sample.wall.as_secs_f64();
        assert_eq!(one.ratio(&other, wall), "3.000 (3.000–4.000)");
        let both = TableRow::sum_of_rows("both", &[&one, &other]);
        assert_eq!(both.ratio(&other, wall), "4.000 (4.000–5.000)");
        assert_eq!(row("c", &[], 1).ratio(&other, wall), "–");
        assert_eq!(split_range("3.000 (2.100–4.000)"), ["3.000", "2.100", "4.000"]);
        assert_eq!([split_range("1.5"), split_range("–")], [["1.5"; 3], ["–"; 3]]);
    }

    #[test]
    fn a_line_has_medians_and_ratios() {
        let first = row("readmill", &[36, 30, 90], 1_000_000_000);
        let (base, other) = (MedianFigures::of(&first), row("other", &[72, 72], 500_000_000));
        let floor = MedianFigures::of(&row("floor", &[18], 0));
        assert_eq!(
            MedianFigures::of(&other).line(&other, &base, &floor),
            "| other | 2 | 72.00 (72.00–72.00) | 2.00 | 4.00 | 144.00 | 2.00 | 4.00 | 500 | 0.50 | 0.01000 | 1.00 | 5.0 | – | 9, 1 |"
        );
        assert!(base.line(&first, &base, &MedianFigures::default()).contains("| 1.00 | – |"));
        assert!(base.line(&first, &base, &floor).contains("| 7, 2 | 9, 1 |"));
    }

    #[test]
    fn cells_of_a_data_file_have_one_figure_each() {
        let first = row("readmill", &[36, 30, 90], 1_000_000_000);
        let (base, floor) = (MedianFigures::of(&first), MedianFigures::of(&row("floor", &[18], 0)));
        let cells = base.data_cells(&first, &base, &floor);
        assert_eq!(cells.len() + 1, COLUMNS.len());
        assert_eq!(cells[..5], ["readmill", "3", "36.00", "30.00", "90.00"]);
        assert_eq!(cells[15..], ["7", "2", "9", "1"]);
        let other = row("other", &[72], 0);
        assert_eq!(
            MedianFigures::of(&other).data_cells(&other, &base, &floor)[15..],
            ["", "", "9", "1"]
        );
    }
}
