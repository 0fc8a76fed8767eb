//! Formats text for people: colours on a terminal, bars, small column charts and tables.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anstyle::{AnsiColor, Style};

static COLOURED: AtomicBool = AtomicBool::new(false);

/// Turns colours in messages on or off, for the whole process.
pub fn set_coloured(wanted: bool) {
    COLOURED.store(wanted, Relaxed);
}

pub fn is_coloured() -> bool {
    COLOURED.load(Relaxed)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Error,
    Warning,
    Strong,
    Faint,
}

/// Returns `text` styled for `tone`, or unchanged if colours are off.
pub fn style_text(tone: Tone, text: &str) -> String {
    if !COLOURED.load(Relaxed) {
        return text.to_string();
    }
    let style = match tone {
        Tone::Error => Style::new().bold().fg_color(Some(AnsiColor::Red.into())),
        Tone::Warning => Style::new().bold().fg_color(Some(AnsiColor::Yellow.into())),
        Tone::Strong => Style::new().bold(),
        Tone::Faint => Style::new().dimmed(),
    };
    format!("{style}{text}{style:#}")
}

const LEFT_EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

const LOWER_EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Returns a bar of `width` characters, filled up to `share` (0 to 1). Any share above 0 is
/// visible.
pub fn draw_bar(share: f64, width: usize) -> String {
    let eighths = (share.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let eighths = if share > 0.0 { eighths.max(1) } else { 0 };
    let filled = "█".repeat(eighths / 8) + LEFT_EIGHTHS[eighths % 8];
    let spaces = width.saturating_sub(filled.chars().count());
    filled + &" ".repeat(spaces)
}

/// Returns a chart with one character per value, in eight heights. `max_value` is the value of a full
/// column.
pub fn draw_columns(values: &[u64], max_value: u64) -> String {
    let height =
        |value: u64| (value.min(max_value) as f64 / max_value.max(1) as f64 * 7.0).round() as usize;
    values.iter().map(|&value| LOWER_EIGHTHS[height(value)]).collect()
}

pub fn align_table(rows: &[[String; 3]]) -> Vec<String> {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (labels, values) = (width(0), width(1));
    let line = |[label, value, remark]: &[String; 3]| {
        let line = format!("  {label:labels$}  {value:>values$}");
        let remark = if remark.is_empty() {
            String::new()
        } else {
            format!("  {}", style_text(Tone::Faint, remark))
        };
        line + &remark
    };
    rows.iter().map(line).collect()
}

pub fn format_with_commas(n: u64) -> String {
    let digits = n.to_string();
    let (head, tail) = digits.split_at((digits.len() - 1) % 3 + 1);
    let triples = tail.as_bytes().chunks(3).map(|triple| String::from_utf8_lossy(triple));
    triples.fold(head.to_string(), |text, triple| text + "," + &triple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_share() {
        assert_eq!(draw_bar(0.0, 4), "    ");
        assert_eq!(draw_bar(0.001, 4), "▏   ");
        assert_eq!(draw_bar(0.5, 4), "██  ");
        assert_eq!(draw_bar(0.59375, 4), "██▍ ");
        assert_eq!(draw_bar(2.0, 4), "████");
    }

    #[test]
    fn columns_are_as_high_as_their_value() {
        assert_eq!(draw_columns(&[0, 50, 100, 200], 100), "▁▅██");
        assert_eq!(draw_columns(&[0, 0], 0), "▁▁");
    }

    #[test]
    fn tables_are_aligned() {
        let row = |words: [&str; 3]| words.map(str::to_string);
        let lines = align_table(&[row(["read", "1,000", ""]), row(["longer", "2", "of 3"])]);
        assert_eq!(lines, ["  read    1,000", "  longer      2  of 3"]);
        assert_eq!([999, 1000, 12_345_678].map(format_with_commas), ["999", "1,000", "12,345,678"]);
    }
}
