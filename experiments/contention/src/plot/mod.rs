//! Plots as self-contained SVG files: without fonts and scripts, with colours for light and dark
//! pages.
//!
//! A [`Figure`] has one or more panels next to each other, and one legend above them. A series has
//! the same colour, mark and stroke in every panel.

mod axis;
mod svg;

use svg::{Anchor, Svg};

pub use axis::{Axis, Scale};
pub use svg::{Series, Style};

pub struct Figure {
    pub title: String,
    /// Series in the order of the legend. Panels refer to them by index.
    pub series: Vec<Series>,
    pub panels: Vec<Panel>,
}

pub struct Panel {
    pub title: String,
    pub x: Axis,
    /// The axis from bottom to top. Only the first panel shows its name.
    pub y: Axis,
    /// Points, with the index of their series.
    pub points: Vec<(usize, Vec<(f64, f64)>)>,
}

/// Dimensions of a figure in SVG units, which are pixels unless the figure is scaled.
const WIDTH: f64 = 900.0;
const LEFT: f64 = 74.0;
const RIGHT: f64 = 14.0;
const GAP: f64 = 58.0;
const TOP: f64 = 40.0;
const PANEL_HEIGHT: f64 = 300.0;
const PANEL_TITLE: f64 = 26.0;
const BELOW: f64 = 52.0;

#[derive(Clone, Copy)]
struct Frame {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

impl Figure {
    pub fn to_svg(&self) -> String {
        let rows = legend_rows(&self.series, WIDTH - LEFT - RIGHT);
        let top = TOP + LEGEND_HEIGHT * rows.len() as f64 + PANEL_TITLE;
        let mut svg = Svg::new(WIDTH, top + PANEL_HEIGHT + BELOW, &self.title);
        svg.add_text((LEFT, 26.0), Anchor::Start, "title", &self.title);
        for (row, entries) in rows.iter().enumerate() {
            let y = TOP + LEGEND_HEIGHT * (row as f64 + 0.5);
            for &(series, x) in entries {
                draw_legend(&mut svg, (LEFT + x, y), series, &self.series[series]);
            }
        }
        let count = self.panels.len().max(1) as f64;
        let width = (WIDTH - LEFT - RIGHT - GAP * (count - 1.0)) / count;
        for (number, panel) in self.panels.iter().enumerate() {
            let left = LEFT + (width + GAP) * number as f64;
            let frame = Frame { left, top, right: left + width, bottom: top + PANEL_HEIGHT };
            panel.draw_panel(&mut svg, frame, number == 0, &self.series);
        }
        svg.close_svg()
    }
}

impl Panel {
    fn draw_panel(&self, svg: &mut Svg, frame: Frame, first: bool, series: &[Series]) {
        let Frame { left, top, right, bottom } = frame;
        let middle = (left + right) / 2.0;
        svg.add_text((middle, top - 9.0), Anchor::Middle, "panel", &self.title);
        let across = |x| left + (right - left) * self.x.position_of(x);
        let up = |y| bottom - (bottom - top) * self.y.position_of(y);
        for tick in self.x.ticks() {
            let x = across(tick);
            svg.add_line((x, top), (x, bottom), "grid");
            svg.add_text((x, bottom + 17.0), Anchor::Middle, "tick", &axis::short_number(tick));
        }
        for tick in self.y.ticks() {
            let y = up(tick);
            svg.add_line((left, y), (right, y), "grid");
            svg.add_text((left - 7.0, y + 4.0), Anchor::End, "tick", &axis::short_number(tick));
        }
        svg.add_frame((left, top), (right, bottom));
        svg.add_text((middle, bottom + 40.0), Anchor::Middle, "label", &self.x.name);
        if first {
            svg.text_upwards((left - 54.0, (top + bottom) / 2.0), "label", &self.y.name);
        }
        for (number, points) in &self.points {
            let places: Vec<_> = points.iter().map(|&(x, y)| (across(x), up(y))).collect();
            let style = series.get(*number).map_or(Style::Line, |series| series.style);
            svg.add_series(*number, style, &places);
        }
    }
}

const LEGEND_HEIGHT: f64 = 21.0;

/// Width of a sample line, and of the gaps after it and after its name.
const SAMPLE_WIDTH: f64 = 30.0;
const AFTER_SAMPLE: f64 = 7.0;
const AFTER_NAME: f64 = 20.0;

/// Maximum width of a letter at a font size of 13 pixels.
const MAX_LETTER_WIDTH: f64 = 7.2;

/// Distributes the series over the rows of the legend. Returns the series of each row with their
/// horizontal position.
fn legend_rows(series: &[Series], width: f64) -> Vec<Vec<(usize, f64)>> {
    let (mut rows, mut x) = (vec![Vec::new()], 0.0);
    for (number, series) in series.iter().enumerate() {
        let letters = series.name.chars().count() as f64;
        let wide = SAMPLE_WIDTH + AFTER_SAMPLE + letters * MAX_LETTER_WIDTH;
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

fn draw_legend(svg: &mut Svg, (x, y): (f64, f64), number: usize, series: &Series) {
    let middle = (x + SAMPLE_WIDTH / 2.0, y);
    match series.style {
        Style::Line => {
            svg.add_stroke(number, &[(x, y), (x + SAMPLE_WIDTH, y)]);
            svg.add_series(number, Style::Marks, &[middle]);
        }
        Style::Dashes => svg.add_series(number, Style::Dashes, &[(x, y), (x + SAMPLE_WIDTH, y)]),
        marks => svg.add_series(number, marks, &[middle]),
    }
    svg.add_text((x + SAMPLE_WIDTH + AFTER_SAMPLE, y + 4.5), Anchor::Start, "name", &series.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_shows_what_it_was_given() {
        let axis = |name: &str| Axis { name: name.into(), scale: Scale::Log, from: 1.0, to: 1000.0 };
        let series = |name: &str, style| Series { name: name.into(), style };
        let panel = Panel {
            title: "left".into(),
            x: axis("threads"),
            y: axis("reads/s"),
            points: vec![(0, vec![(1.0, 10.0), (10.0, 100.0)]), (1, vec![(5.0, 5.0)])],
        };
        let text = Figure {
            title: "A < B & C".into(),
            series: vec![series("one", Style::Line), series("two", Style::Rings)],
            panels: vec![panel],
        }
        .to_svg();
        for part in
            ["A &lt; B &amp; C", "threads", "reads/s", "left", "one", "two", "<polyline", ">100<"]
        {
            assert!(text.contains(part), "{part} is missing");
        }
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
    }

    #[test]
    fn rows_are_broken_before_they_are_too_wide() {
        let name = |n: usize| Series { name: "x".repeat(n), style: Style::Line };
        let rows = legend_rows(&[name(10), name(10), name(60)], 400.0);
        assert_eq!(rows.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(rows[1][0], (2, 0.0));
    }
}
