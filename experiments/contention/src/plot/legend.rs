//! The legend: what each series looks like, in rows.

use super::series::{Series, Style};
use super::svg::{Anchor, Svg};

/// Height of a row.
pub const HEIGHT: f64 = 21.0;

/// Width of a sample, and of the gaps behind it and behind its name.
const SAMPLE: f64 = 30.0;
const AFTER_SAMPLE: f64 = 7.0;
const AFTER_NAME: f64 = 20.0;

/// Width of a letter at the most, for letters of 13 pixels.
const LETTER: f64 = 7.2;

/// The series of each row, with their distance from its beginning.
pub fn rows(series: &[Series], width: f64) -> Vec<Vec<(usize, f64)>> {
    let (mut rows, mut x) = (vec![Vec::new()], 0.0);
    for (number, series) in series.iter().enumerate() {
        let letters = series.name.chars().count() as f64;
        let wide = SAMPLE + AFTER_SAMPLE + letters * LETTER;
        if x > 0.0 && x + wide > width {
            rows.push(Vec::new());
            x = 0.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((number, x));
        }
        x += wide + AFTER_NAME;
    }
    rows
}

/// Draws a sample of a series and its name from a place on.
pub fn draw(svg: &mut Svg, (x, y): (f64, f64), number: usize, series: &Series) {
    let middle = (x + SAMPLE / 2.0, y);
    match series.style {
        Style::Line => {
            svg.stroke(number, &[(x, y), (x + SAMPLE, y)]);
            svg.series(number, Style::Marks, &[middle]);
        }
        Style::Dashes => svg.series(number, Style::Dashes, &[(x, y), (x + SAMPLE, y)]),
        marks => svg.series(number, marks, &[middle]),
    }
    svg.text((x + SAMPLE + AFTER_SAMPLE, y + 4.5), Anchor::Start, "name", &series.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_broken_before_they_are_too_wide() {
        let name = |n: usize| Series { name: "x".repeat(n), style: Style::Line };
        let rows = rows(&[name(10), name(10), name(60)], 400.0);
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(rows[1][0], (2, 0.0));
    }
}
