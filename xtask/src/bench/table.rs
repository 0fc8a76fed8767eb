//! Rounds of measurements, their medians, and the table.

use anyhow::Result;

use super::contender::{Contender, Sample};
use super::work::Work;

/// A contender's figures.
struct Row {
    name: String,
    samples: Vec<Sample>,
    /// Records and duplicates in its output.
    holds: String,
}

/// Measures all contenders in turns and prints the table; the first one is what the others are compared with.
pub fn measure(title: &str, work: &Work, contenders: &[Contender]) -> Result<()> {
    let mut rows: Vec<Row> = contenders
        .iter()
        .map(|it| Row { name: it.name.clone(), samples: Vec::new(), holds: String::new() })
        .collect();
    let rounds = contenders.iter().map(|contender| contender.runs).max().unwrap_or(0);
    for round in 0..rounds {
        let running = contenders.iter().zip(&mut rows).filter(|(contender, _)| round < contender.runs);
        for (contender, row) in running {
            let sample = contender.measure(&work.directory)?;
            eprintln!("round {}: {}: {:.2} s", round + 1, row.name, sample.wall.as_secs_f64());
            if round == 0 {
                row.holds = work.tally(&contender.output)?;
            }
            // What is not on disk yet never has to go there.
            std::fs::remove_file(&contender.output)?;
            row.samples.push(sample);
        }
    }
    print(title, work, contenders, &rows);
    Ok(())
}

fn print(title: &str, work: &Work, contenders: &[Contender], rows: &[Row]) {
    println!("### {title}\n");
    println!("{}\n", work.describe());
    println!(
        "| | n | wall s (least–most) | × | CPU s | × | peak MB | × | GBh | × | output MB | records, duplicates |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
    let Some(base) = rows.first().map(Figures::of) else { return };
    for row in rows {
        println!("{}", Figures::of(row).line(row, &base));
    }
    println!("\nMedians; × is the ratio to the first row.\n\n```sh");
    for contender in contenders {
        println!("# {}", contender.name);
        for line in contender.command_lines() {
            println!("{line}");
        }
    }
    println!("```");
}

/// Medians, in seconds and 10^6 bytes; wall hours times 10^9 bytes.
struct Figures {
    wall: f64,
    least: f64,
    most: f64,
    cpu: f64,
    peak: f64,
    gbh: f64,
    size: f64,
}

impl Figures {
    fn of(row: &Row) -> Self {
        let all = |figure: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = row.samples.iter().map(figure).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let walls = all(|sample| sample.wall.as_secs_f64());
        Figures {
            wall: median(&walls),
            least: walls.first().copied().unwrap_or(0.0),
            most: walls.last().copied().unwrap_or(0.0),
            cpu: median(&all(|sample| sample.cpu.as_secs_f64())),
            peak: median(&all(|sample| sample.peak as f64 / 1e6)),
            gbh: median(&all(|sample| sample.wall.as_secs_f64() / 3600.0 * sample.peak as f64 / 1e9)),
            size: median(&all(|sample| sample.bytes as f64 / 1e6)),
        }
    }

    fn line(&self, row: &Row, base: &Figures) -> String {
        let ratio = |mine: f64, other: f64| {
            if mine > 0.0 && other > 0.0 { format!("{:.2}", mine / other) } else { "–".into() }
        };
        let or_dash = |value: f64, shown: String| if value > 0.0 { shown } else { "–".into() };
        let cells = [
            row.name.clone(),
            row.samples.len().to_string(),
            format!("{:.2} ({:.2}–{:.2})", self.wall, self.least, self.most),
            ratio(self.wall, base.wall),
            format!("{:.2}", self.cpu),
            ratio(self.cpu, base.cpu),
            or_dash(self.peak, format!("{:.0}", self.peak)),
            ratio(self.peak, base.peak),
            or_dash(self.gbh, format!("{:.5}", self.gbh)),
            ratio(self.gbh, base.gbh),
            format!("{:.1}", self.size),
            row.holds.clone(),
        ];
        format!("| {} |", cells.join(" | "))
    }
}

/// The middle of sorted values, or the mean of the two in the middle.
fn median(values: &[f64]) -> f64 {
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => (values[n / 2 - 1] + values[n / 2]) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn row(name: &str, walls: &[u64], peak: u64) -> Row {
        let sample = |&wall| Sample {
            wall: Duration::from_secs(wall),
            cpu: Duration::from_secs(2 * wall),
            peak,
            bytes: 5_000_000,
        };
        Row { name: name.into(), samples: walls.iter().map(sample).collect(), holds: "9, 1".into() }
    }

    #[test]
    fn a_line_has_medians_and_ratios() {
        let base = Figures::of(&row("readmill", &[36, 30, 90], 1_000_000_000));
        let other = row("other", &[72, 72], 500_000_000);
        assert_eq!(
            Figures::of(&other).line(&other, &base),
            "| other | 2 | 72.00 (72.00–72.00) | 2.00 | 144.00 | 2.00 | 500 | 0.50 | 0.01000 | 1.00 | 5.0 | 9, 1 |"
        );
        let floor = row("floor", &[18], 0);
        assert!(
            Figures::of(&floor).line(&floor, &base).contains("| 0.50 | 36.00 | 0.50 | – | – | – | – |")
        );
    }
}
