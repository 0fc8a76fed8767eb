//! The picture of a benchmark in the README: time and memory of programs that sort and mark
//! duplicates, as bars, from the data file of `./dev bench duplicates`.
//!
//! The README shows one of two files, for light and for dark pages. A test compares both with the
//! data, so a new measurement needs new pictures: `./dev bench picture`.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};

/// The data file, and its table that is drawn.
const FILE: &str = "duplicates.tsv";
const TABLE: &str = "Sort and mark duplicates (level 6, each one's default memory)";

/// Contenders of the table that are not drawn: other jobs of readmill, and no program at all.
const OMITTED: [&str; 3] = ["readmill with metrics", "readmill sort alone", "codec floor"];

const WIDTH: usize = 760;
const ROW_HEIGHT: usize = 26;
const FIRST_ROW: usize = 78;
/// Left edges of the two groups of bars.
const PANELS: [usize; 2] = [286, 532];
/// Length of the longest bar. Its value is to the right of it.
const BAR_LENGTH: f64 = 160.0;

#[derive(clap::Args)]
pub struct PictureArgs {
    /// Read the data files of benchmarks from this directory
    #[arg(long, value_name = "DIR", default_value = "docs/data/benchmarks")]
    tables: PathBuf,
    /// Write the pictures to this directory
    #[arg(long, value_name = "DIR", default_value = "docs/img")]
    directory: PathBuf,
}

/// Draws the picture of the README for light and for dark pages, from the data file of the benchmark.
///
/// # Errors
/// The data file cannot be read, or has no table of that title.
pub fn draw_pictures(args: &PictureArgs) -> Result<()> {
    let path = args.tables.join(FILE);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let programs = read_programs(&text).with_context(|| path.display().to_string())?;
    for theme in THEMES {
        let path = args.directory.join(format!("benchmark-{}.svg", theme.name));
        fs::write(&path, draw(&programs, &theme)).with_context(|| path.display().to_string())?;
        println!("wrote {}", path.display());
    }
    Ok(())
}

/// The colours for pages of one background.
struct Theme {
    name: &'static str,
    text: &'static str,
    muted: &'static str,
    readmill: &'static str,
    peer: &'static str,
}

/// The background is transparent. Text has a contrast of at least 4.5 to GitHub's background.
const THEMES: [Theme; 2] = [
    Theme { name: "light", text: "#1f2328", muted: "#59636e", readmill: "#0a7d55", peer: "#a5b1bd" },
    Theme { name: "dark", text: "#f0f6fc", muted: "#9198a1", readmill: "#3fb984", peer: "#59636e" },
];

/// The measurements of a program.
#[derive(Debug, PartialEq)]
struct Program {
    name: String,
    wall_s: f64,
    peak_mb: f64,
    records: String,
}

/// Returns the programs of the table, the fastest first.
fn read_programs(text: &str) -> Result<Vec<Program>> {
    let mut lines = text.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let head = lines.next().context("the file is empty")?;
    let column = |name: &str| {
        head.iter().position(|&cell| cell == name).with_context(|| format!("no column {name}"))
    };
    let [table, contender] = [column("table")?, column("contender")?];
    let [wall, peak, records] = [column("wall_s")?, column("peak_mb")?, column("records")?];
    let mut programs = Vec::new();
    for cells in lines {
        ensure!(cells.len() == head.len(), "a row has {} cells, not {}", cells.len(), head.len());
        if cells[table] != TABLE || OMITTED.contains(&cells[contender]) {
            continue;
        }
        programs.push(Program {
            name: cells[contender].replace("picard", "Picard"),
            wall_s: cells[wall].parse().context("wall_s")?,
            peak_mb: cells[peak].parse().context("peak_mb")?,
            records: cells[records].to_string(),
        });
    }
    ensure!(!programs.is_empty(), "no table {TABLE:?}");
    programs.sort_by(|a, b| a.wall_s.total_cmp(&b.wall_s));
    Ok(programs)
}

fn draw(programs: &[Program], theme: &Theme) -> String {
    let height = FIRST_ROW + programs.len() * ROW_HEIGHT + 34;
    let records = group_digits(&programs[0].records);
    let title = format!("Sort and mark duplicates of {records} reads, from BAM to BAM");
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" font-family=\"system-ui, 'Segoe UI', 'Liberation Sans', \
         Arial, sans-serif\" font-size=\"13\">\n<title>{title}</title>\n"
    );
    draw_text(&mut svg, [0, 20], (theme.text, "start", 600), &title);
    draw_text(&mut svg, [PANELS[0], 56], (theme.muted, "start", 400), "Wall time, s");
    draw_text(&mut svg, [PANELS[1], 56], (theme.muted, "start", 400), "Peak memory, MB");
    let longest = [
        programs.iter().map(|program| program.wall_s).fold(0.0, f64::max),
        programs.iter().map(|program| program.peak_mb).fold(0.0, f64::max),
    ];
    for (row, program) in programs.iter().enumerate() {
        let top = FIRST_ROW + row * ROW_HEIGHT;
        let is_readmill = program.name == "readmill";
        let (fill, weight) = if is_readmill { (theme.readmill, 600) } else { (theme.peer, 400) };
        draw_text(&mut svg, [PANELS[0] - 12, top + 13], (theme.text, "end", weight), &program.name);
        let values = [
            (program.wall_s, format!("{:.2}", program.wall_s)),
            (program.peak_mb, group_digits(&format!("{:.0}", program.peak_mb))),
        ];
        for ((value, label), (left, longest)) in values.iter().zip(PANELS.iter().zip(longest)) {
            let length = (value / longest * BAR_LENGTH).round().max(1.0) as usize;
            let _ = writeln!(
                svg,
                "<rect x=\"{left}\" y=\"{top}\" width=\"{length}\" height=\"17\" rx=\"2\" fill=\"{fill}\"/>"
            );
            draw_text(&mut svg, [left + length + 7, top + 13], (theme.text, "start", weight), label);
        }
    }
    let note = "Level 6, 2 threads on 2 cores, default memory. Shorter is better. All results: docs/benchmarks.md";
    draw_text(&mut svg, [0, height - 8], (theme.muted, "start", 400), note);
    svg += "</svg>\n";
    svg
}

/// Appends a line of text with its colour, anchor and weight.
fn draw_text(svg: &mut String, [x, y]: [usize; 2], style: (&str, &str, u32), text: &str) {
    let (fill, anchor, weight) = style;
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\" text-anchor=\"{anchor}\" font-weight=\"{weight}\">{text}</text>"
    );
}

/// Returns a number with a comma before each group of three digits.
fn group_digits(number: &str) -> String {
    let mut grouped = String::new();
    for (position, digit) in number.chars().enumerate() {
        if position > 0 && (number.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    #[test]
    fn pictures_show_the_data_file() {
        let text = fs::read_to_string(format!("{ROOT}/docs/data/benchmarks/{FILE}")).unwrap();
        let programs = read_programs(&text).unwrap();
        for theme in THEMES {
            let path = format!("{ROOT}/docs/img/benchmark-{}.svg", theme.name);
            let drawn = fs::read_to_string(&path).unwrap();
            assert_eq!(drawn, draw(&programs, &theme), "{path}: run ./dev bench picture");
        }
    }

    #[test]
    fn other_tables_and_jobs_are_left_out() {
        let row = |table: &str, name: &str, wall: &str| format!("{table}\t{name}\t{wall}\t10\t1200\n");
        let text = "table\tcontender\twall_s\tpeak_mb\trecords\n".to_string()
            + &row(TABLE, "picard 3.4.0", "9.5")
            + &row(TABLE, "readmill", "2")
            + &row(TABLE, "codec floor", "1")
            + &row("Sort", "readmill", "1");
        let programs = read_programs(&text).unwrap();
        let names: Vec<_> = programs.iter().map(|program| program.name.as_str()).collect();
        assert_eq!(names, ["readmill", "Picard 3.4.0"]);
        assert!(draw(&programs, &THEMES[0]).contains("of 1,200 reads"));
    }
}
