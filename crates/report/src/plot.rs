//! SVG plots, drawn with the crate `kuva`.
//!
//! Each `draw_` function draws one kind of plot and returns its SVG. A [`Figure`] adds the title,
//! the legend and a table. Colours are CSS variables of the page, so plots follow its light or dark
//! theme.

use std::sync::Arc;

use kuva::prelude::{BarPlot, Layout, LinePlot, LineStyle, Plot, ReferenceLine, Theme, TickFormat};
use maud::{Markup, PreEscaped, html};

use crate::table::wrap_scrollable;
use crate::text::plain_number;

/// Number of colours in the style sheet. Series beyond that reuse the colours from the first one.
pub const COLORS: usize = 7;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 260.0;

/// Dashes of the lines by series, as SVG writes them, so that lines differ without colours. The first
/// line is solid.
const DASHES: [&str; COLORS] = ["none", "8 4", "2 4", "8 4 2 4", "14 4", "8 3 2 3 2 3", "4 2"];

fn color_variable(number: usize) -> String {
    format!("var(--c{})", number % COLORS)
}

/// A plot with its title, explanation, legend and data table.
///
/// The page shows these parts from top to bottom. Screen readers read `alt` instead of the plot.
///
/// ```text
/// title
/// reading          how to read the plot
/// legend           only for two or more series
/// svg
/// > Data table     collapsed; omitted if `table` is empty
/// ```
#[derive(Default)]
pub struct Figure {
    /// Element id, and prefix of the ids inside the SVG, which must be unique within the page.
    pub id: String,
    pub title: &'static str,
    pub reading: String,
    pub alt: String,
    /// Names of the series, in drawing order; empty for a single series.
    pub legend: Vec<String>,
    pub svg: String,
    /// The plotted data as a table; empty if the page shows it elsewhere.
    pub table: Markup,
    /// Whether the legend shows line samples rather than coloured squares.
    pub has_lines: bool,
}

impl Figure {
    pub fn to_html(&self) -> Markup {
        html! {
            figure id=(self.id) {
                figcaption { h3 { (self.title) } p { (self.reading) } }
                @if self.legend.len() > 1 { (legend_list(&self.legend, self.has_lines)) }
                (make_accessible(&self.svg, &self.id, self.title, &self.alt))
                @if !self.table.0.is_empty() {
                    details {
                        summary { "Data table" span { ": " (self.title) } }
                        (wrap_scrollable(&format!("Data table: {}", self.title), &self.table))
                    }
                }
            }
        }
    }
}

/// Returns the names of the series, each with a line sample or a coloured square.
pub fn legend_list(names: &[String], has_lines: bool) -> Markup {
    html! {
        ul class="legend" {
            @for (i, name) in names.iter().enumerate() {
                li {
                    @if has_lines { (line_sample(i)) } @else { i class={ "swatch s" (i % COLORS) } {} }
                    (name)
                }
            }
        }
    }
}

/// Returns a short piece of the line of a series, with its colour and its dashes.
fn line_sample(number: usize) -> Markup {
    let dashes = DASHES.get(number % COLORS);
    html! {
        svg class="line" viewBox="0 0 36 4" aria-hidden="true" {
            line x1="0" y1="2" x2="36" y2="2" stroke=(color_variable(number)) stroke-width="2.5"
                stroke-dasharray=[dashes] {}
        }
    }
}

#[derive(Clone, Debug, Default)]
pub struct Axes<'a> {
    pub x: &'a str,
    pub y: &'a str,
    /// Ranges of the axes; `None` fits the data.
    pub x_range: Option<(f64, f64)>,
    pub y_range: Option<(f64, f64)>,
    /// Whether y values are fractions; the axis then shows percentages.
    pub percent: bool,
    /// Vertical reference lines: x and label.
    pub marks: Vec<(f64, String)>,
    /// Horizontal reference lines: y and label.
    pub levels: Vec<(f64, String)>,
}

/// Draws one line for each series. The area below a single line is filled; several lines have
/// different [`DASHES`].
pub fn draw_lines(axes: &Axes<'_>, series: Vec<Vec<(f64, f64)>>) -> String {
    let is_alone = series.len() == 1;
    let plots: Vec<Plot> = series
        .into_iter()
        .enumerate()
        .map(|(i, points)| {
            let line = LinePlot::new()
                .with_data(thin_points(points))
                .with_color(color_variable(i))
                .with_stroke_width(2.0);
            let line = match DASHES.get(i % COLORS) {
                _ if is_alone => line.with_fill().with_fill_opacity(0.12),
                Some(dashes) if i > 0 => line.with_line_style(LineStyle::Custom((*dashes).into())),
                _ => line,
            };
            Plot::Line(line)
        })
        .collect();
    render_plots(axes, plots)
}

/// Maximum number of bars that are all labelled. More labels would overlap.
const MAX_BAR_LABELS: usize = 24;

/// Draws bars. If there are more than [`MAX_BAR_LABELS`], omits labels that are numbers but not
/// multiples of five.
pub fn draw_bars(axes: &Axes<'_>, mut bars: Vec<(String, f64)>) -> String {
    if bars.len() > MAX_BAR_LABELS {
        for (name, _) in &mut bars {
            if name.parse::<u32>().is_ok_and(|number| !number.is_multiple_of(5)) {
                name.clear();
            }
        }
    }
    // The labels of all bars share the width of the plot, at about nine units a letter
    // of the text size on phones.
    let max_letters = ((WIDTH - 80.0) / 9.0 / bars.len().max(1) as f64).max(4.0) as usize;
    for (name, _) in &mut bars {
        *name = shorten_name(name, max_letters);
    }
    let plot = BarPlot::new().with_bars(bars).with_color(color_variable(0)).with_width(0.8);
    render_plots(axes, vec![Plot::Bar(plot)])
}

/// Replaces the middle of a long name with `…`, because names such as contigs often differ at the
/// end.
fn shorten_name(name: &str, max_letters: usize) -> String {
    let letters: Vec<char> = name.chars().collect();
    // Labels of numbers and short words stay; kuva places them without overlap.
    if letters.len() <= max_letters.max(10) {
        return name.to_string();
    }
    let (start, end) = (max_letters / 2, max_letters.div_ceil(2) - 1);
    let (head, tail) = (letters.get(..start), letters.get(letters.len() - end..));
    head.into_iter().flatten().chain(&['…']).chain(tail.into_iter().flatten()).collect()
}

pub fn draw_grouped_bars(axes: &Axes<'_>, groups: Vec<(String, Vec<f64>)>) -> String {
    let mut plot = BarPlot::new().with_width(0.8);
    for (name, values) in groups {
        plot = plot.with_group(
            name,
            values
                .into_iter()
                .enumerate()
                .map(|(i, value)| (value, color_variable(i)))
                .collect::<Vec<_>>(),
        );
    }
    render_plots(axes, vec![Plot::Bar(plot)])
}

fn render_plots(axes: &Axes<'_>, plots: Vec<Plot>) -> String {
    let layout = apply_axes(Layout::auto_from_plots(&plots), axes);
    label_reference_lines(&kuva::render_to_svg(plots, apply_page_style(layout)), axes)
}

/// Height of a row of labels above the plot. kuva leaves 10 units there.
const LABEL_ROW: f64 = 18.0;

/// Width of a letter of a label, in the text size on phones.
const LETTER_WIDTH: f64 = 8.5;

/// Adds the labels of the reference lines above the plot, where no curve or bar crosses them. kuva
/// would write them into the plot.
///
/// The labels of vertical lines are above their lines. The labels of horizontal lines are at the right
/// edge, after a piece of the line.
fn label_reference_lines(svg: &str, axes: &Axes<'_>) -> String {
    let is_named = |it: &&(f64, String)| !it.1.is_empty();
    let levels: Vec<&str> = axes.levels.iter().filter(is_named).map(|it| it.1.as_str()).collect();
    let mut rows = 0.0;
    let mut labels = String::new();
    let mut add_label = |x: f64, y: f64, anchor: &str, text: &str| {
        let text = html! { text x=(x) y=(y) font-size="12" text-anchor=(anchor) { (text) } };
        labels.push_str(&text.into_string());
    };
    let marks = place_mark_labels(&mark_positions(svg), &axes.marks);
    for MarkLabel { x, anchor, text } in &marks {
        add_label(*x, 5.0, anchor, text);
    }
    rows += if marks.is_empty() { 0.0 } else { 1.0 };
    let mut sample = Markup::default();
    if !levels.is_empty() {
        let (y, right) = (5.0 - rows * LABEL_ROW, WIDTH - 16.0);
        let text = levels.join(", ");
        add_label(right, y, "end", &text);
        let end = right - LETTER_WIDTH * text.chars().count() as f64 - 6.0;
        sample = html! {
            line x1=(end - 26.0) y1=(y - 4.0) x2=(end) y2=(y - 4.0) stroke="var(--mark)" stroke-width="1"
                stroke-dasharray="6 4" {}
        };
        rows += 1.0;
    }
    let body = svg.strip_suffix("</svg>").unwrap_or(svg);
    let room =
        format!("<svg {TOP_ATTRIBUTE}=\"{}\" {SIDE_ATTRIBUTE}=\"{SIDE_ROOM}\" ", rows * LABEL_ROW);
    let body = body.replacen("<svg ", &room, 1);
    format!("{body}{}{labels}</svg>", sample.into_string())
}

/// Width added at both sides. On phones, the text is larger than kuva assumes: a label of four digits
/// would run into the title of the axis, and the last label of the x axis over the edge.
const SIDE_ROOM: f64 = 10.0;

/// Attribute of an SVG: the width that is added at both sides.
const SIDE_ATTRIBUTE: &str = "data-side";

/// Attribute of an SVG: the height above its top that labels take.
const TOP_ATTRIBUTE: &str = "data-top";

/// Returns the x positions of the vertical reference lines in an SVG, in their order.
fn mark_positions(svg: &str) -> Vec<f64> {
    let lines = svg.split("<line ").skip(1).filter_map(|rest| rest.split('>').next());
    let marks = lines.filter(|line| line.contains("var(--mark)"));
    let value = |line: &str, name: &str| -> Option<f64> {
        line.split(&format!("{name}=\"")).nth(1)?.split('"').next()?.parse().ok()
    };
    let vertical = marks.filter_map(|line| Some((value(line, "x1")?, value(line, "x2")?)));
    vertical.filter(|(x1, x2)| x1 == x2).map(|(x, _)| x).collect()
}

/// The label of one or more vertical reference lines.
#[derive(Debug, PartialEq)]
struct MarkLabel {
    x: f64,
    anchor: &'static str,
    text: String,
}

/// Distance below which reference lines have a common label.
const MIN_MARK_DISTANCE: f64 = 8.0;

/// Places the labels of vertical reference lines so that no two overlap: centred above their lines,
/// away from each other if there is too little room, or as one label if the lines are nearly equal.
fn place_mark_labels(positions: &[f64], marks: &[(f64, String)]) -> Vec<MarkLabel> {
    let mut placed: Vec<MarkLabel> = Vec::new();
    let mut named: Vec<(f64, &str)> =
        positions.iter().copied().zip(marks.iter().map(|it| it.1.as_str())).collect();
    named.retain(|(x, name)| !name.is_empty() && (0.0..=WIDTH).contains(x));
    named.sort_by(|a, b| a.0.total_cmp(&b.0));
    let width = |text: &str| LETTER_WIDTH * text.chars().count() as f64;
    for (x, name) in named {
        let mut anchor = "middle";
        if let Some(last) = placed.last_mut() {
            if x - last.x < MIN_MARK_DISTANCE {
                last.text = format!("{} and {name}", last.text);
                continue;
            }
            if x - last.x < (width(&last.text) + width(name)) / 2.0 + LETTER_WIDTH {
                (last.anchor, anchor) = ("end", "start");
            }
        }
        placed.push(MarkLabel { x, anchor, text: name.to_string() });
    }
    for label in &mut placed {
        let half = width(&label.text) / 2.0;
        if label.anchor == "middle" && label.x + half > WIDTH {
            label.anchor = "end";
        } else if label.anchor == "middle" && label.x < half {
            label.anchor = "start";
        }
    }
    placed
}

fn apply_axes(layout: Layout, axes: &Axes<'_>) -> Layout {
    let mut layout = layout.with_width(WIDTH).with_height(HEIGHT);
    if !axes.x.is_empty() {
        layout = layout.with_x_label(axes.x);
    }
    if !axes.y.is_empty() {
        layout = layout.with_y_label(axes.y).with_y_label_offset(-SIDE_ROOM, 0.0);
    }
    if let Some((min_x, max_x)) = axes.x_range {
        layout = layout.with_x_axis_min(min_x).with_x_axis_max(max_x);
    }
    if let Some((min_y, max_y)) = axes.y_range {
        layout = layout.with_y_axis_min(min_y).with_y_axis_max(max_y);
    }
    let vertical = axes.marks.iter().map(|(at, _)| ReferenceLine::vertical(*at));
    let horizontal = axes.levels.iter().map(|(at, _)| ReferenceLine::horizontal(*at));
    for line in vertical.chain(horizontal) {
        layout = layout.with_reference_line(line.with_color("var(--mark)"));
    }
    let percent: TickFormat =
        TickFormat::Custom(Arc::new(|value| format!("{} %", shorten_number(100.0 * value))));
    let number = TickFormat::Custom(Arc::new(shorten_number));
    layout.with_x_tick_format(number.clone()).with_y_tick_format(if axes.percent {
        percent
    } else {
        number
    })
}

/// Returns the label of a tick. Adding 0 turns -0 into 0.
fn shorten_number(value: f64) -> String {
    let rounded = |value: f64| (value * 100.0).round() / 100.0 + 0.0;
    match value.abs() {
        size if size >= 1e9 => format!("{}G", rounded(value / 1e9)),
        size if size >= 1e6 => format!("{}M", rounded(value / 1e6)),
        size if size >= 1e4 => format!("{}k", rounded(value / 1e3)),
        size if size >= 1.0 || size == 0.0 => plain_number(rounded(value)),
        _ => format!("{}", (value * 1e6).round() / 1e6 + 0.0),
    }
}

fn apply_page_style(layout: Layout) -> Layout {
    let theme = Theme {
        background: "none".into(),
        axis_color: "var(--axis)".into(),
        grid_color: "var(--grid)".into(),
        tick_color: "var(--axis)".into(),
        text_color: "currentColor".into(),
        legend_bg: "none".into(),
        legend_border: "none".into(),
        ..Theme::light()
    };
    layout
        .with_theme(theme)
        .with_font_family("inherit")
        .with_tick_size(12)
        .with_label_size(13)
        .with_body_size(12)
}

/// Maximum number of points of a line: one per SVG unit of the plot width.
const MAX_LINE_POINTS: usize = 560;

/// Thins a long line. Keeps the highest point of each group of adjacent points, so that peaks stay
/// visible.
fn thin_points(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= MAX_LINE_POINTS {
        return points;
    }
    let each = points.len().div_ceil(MAX_LINE_POINTS);
    let highest = |part: &[(f64, f64)]| part.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    points.chunks(each).filter_map(highest).collect()
}

/// Makes an SVG scalable and accessible: replaces its fixed size with a `viewBox`, adds a title and
/// a description, and prefixes its ids with the figure id. Only here does the page include markup
/// that `maud` did not escape: the SVG from kuva.
fn make_accessible(svg: &str, id: &str, title: &str, alt: &str) -> Markup {
    let (head, rest) = svg.split_once('>').unwrap_or(("", ""));
    let size = |name: &str| {
        let from = head.find(&format!(" {name}=\""))? + name.len() + 3;
        let number = head[from..].split('"').next()?;
        number.parse::<f64>().ok()
    };
    let (width, height) = (size("width").unwrap_or(WIDTH), size("height").unwrap_or(HEIGHT));
    let [top, side] = [TOP_ATTRIBUTE, SIDE_ATTRIBUTE].map(|name| size(name).unwrap_or(0.0));
    let body = rest.strip_suffix("</svg>").unwrap_or(rest);
    let body = match body.split_once("-->") {
        Some((start, rest)) if start.starts_with("<!--") => rest,
        _ => body,
    };
    let body = body.replace("kuva-clip-", &format!("{id}-clip-"));
    let body = body.replace("<rect width=\"100%\" height=\"100%\" fill=\"none\" />", "");
    html! {
        svg viewBox={ (0.0 - side) " " (0.0 - top) " " (width + 2.0 * side) " " (height + top) } role="img"
            aria-labelledby={ (id) "-t " (id) "-d" } fill="currentColor"
        {
            title id={ (id) "-t" } { (title) }
            desc id={ (id) "-d" } { (alt) }
            (PreEscaped(round_numbers(&body)))
        }
    }
}

/// Truncates all numbers in an SVG to two decimal places, to keep the page small.
fn round_numbers(svg: &str) -> String {
    let mut text = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some(point) = rest.find('.') {
        let (before, after) = rest.split_at(point);
        let digits = after[1..].bytes().take_while(u8::is_ascii_digit).count();
        text.push_str(before);
        let is_number = before.ends_with(|c: char| c.is_ascii_digit());
        let kept = if is_number && digits > 2 { 2 } else { digits };
        text.push_str(&after[..1 + kept]);
        rest = &after[1 + digits..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_drawings_are_short() {
        assert_eq!(
            round_numbers("x=\"202.520001\" y=\"1.5\">a. b 0.123"),
            "x=\"202.52\" y=\"1.5\">a. b 0.12"
        );
        assert_eq!(
            [0.0, -0.0, -1e-17, 0.25, 12.0, 15_000.0, 2.5e6].map(shorten_number),
            ["0", "0", "0", "0.25", "12", "15k", "2.5M"]
        );
    }

    #[test]
    fn long_names_fit_below_their_bars() {
        assert_eq!(shorten_name("Low quality", 20), "Low quality");
        assert_eq!(shorten_name("chrUn_GL000195v1_alt", 8), "chrU…alt");
        assert_eq!(shorten_name("chr10", 4), "chr10");
    }

    #[test]
    fn a_drawing_scales_and_says_what_it_is() {
        let svg =
            draw_lines(&Axes { x: "x", y: "y", ..Axes::default() }, vec![vec![(0.0, 1.0), (1.0, 2.0)]]);
        let svg = make_accessible(&svg, "f1", "A <title>", "What it shows").into_string();
        assert!(svg.starts_with("<svg viewBox=\"-10 0 580 260\" role=\"img\""), "{svg}");
        assert!(
            svg.contains("A &lt;title&gt;") && svg.contains("var(--c0)") && !svg.contains("kuva"),
            "{svg}"
        );
        assert!(svg.ends_with("</svg>"));
    }

    #[test]
    fn labels_of_reference_lines_are_above_the_plot() {
        let line = vec![vec![(0.0, 1.0), (100.0, 2.0)]];
        let marks = vec![(50.0, "read length".to_string()), (52.0, "median".to_string())];
        let axes = Axes { marks, levels: vec![(1.5, "limit".into())], ..Axes::default() };
        let svg = make_accessible(&draw_lines(&axes, line), "f1", "T", "A").into_string();
        assert!(svg.starts_with("<svg viewBox=\"-10 -36 580 296\""), "{svg}");
        let heights: Vec<f64> = ["read length<", "median<", "limit<"]
            .iter()
            .map(|name| {
                let (text, _) = svg.split_once(&format!(">{name}")).unwrap();
                let (_, text) = text.rsplit_once(" y=\"").unwrap();
                text.split('"').next().unwrap().parse().unwrap()
            })
            .collect();
        assert_eq!(heights, [5.0, 5.0, -13.0], "the plot begins at 10: {svg}");
        // The line at 50 is left of the one at 52.
        assert!(svg.contains("text-anchor=\"end\">read length<"), "{svg}");
        assert!(svg.contains("text-anchor=\"start\">median<"), "{svg}");
    }

    #[test]
    fn labels_of_near_lines_do_not_overlap() {
        let place = |list: &[(f64, &str)]| {
            let positions: Vec<f64> = list.iter().map(|it| it.0).collect();
            let marks: Vec<(f64, String)> = list.iter().map(|it| (0.0, it.1.to_string())).collect();
            let placed = place_mark_labels(&positions, &marks);
            placed.into_iter().map(|it| (it.x, it.anchor, it.text)).collect::<Vec<_>>()
        };
        let label = |x: f64, anchor: &'static str, text: &str| (x, anchor, text.to_string());
        assert_eq!(
            place(&[(300.0, "median"), (150.0, "read length")]),
            [label(150.0, "middle", "read length"), label(300.0, "middle", "median")]
        );
        assert_eq!(
            place(&[(190.0, "median"), (150.0, "read length")]),
            [label(150.0, "end", "read length"), label(190.0, "start", "median")]
        );
        assert_eq!(
            place(&[(150.0, "median"), (151.5, "read length")]),
            [label(150.0, "middle", "median and read length")]
        );
        assert_eq!(place(&[(540.0, "median")]), [label(540.0, "end", "median")]);
        assert!(place(&[(700.0, "median")]).is_empty(), "the line is outside the plot");
    }

    #[test]
    fn long_lines_keep_their_peaks() {
        let points: Vec<(f64, f64)> =
            (0..10_000).map(|i| (f64::from(i), if i == 777 { 9.0 } else { 1.0 })).collect();
        let kept = thin_points(points);
        assert!(kept.len() <= MAX_LINE_POINTS && kept.contains(&(777.0, 9.0)));
    }
}
