//! The elements of a plot as SVG.

use std::fmt::Write;

/// The point of a text that is placed at its position.
#[derive(Clone, Copy)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Colours of the series on light and on dark pages. They can also be distinguished with red-green
/// blindness (Okabe and Ito 2008, made darker or lighter).
const COLOURS: [(&str, &str); 8] = [
    ("#6b6b6b", "#a8a8a8"),
    ("#0072b2", "#56b4e9"),
    ("#c44e00", "#ff9a4d"),
    ("#00795c", "#2fd3a5"),
    ("#a0457f", "#e79ac6"),
    ("#8a6d00", "#f0d24c"),
    ("#4b3fa8", "#a9a0f5"),
    ("#1a1a1a", "#f0f0f0"),
];

pub struct Svg(String);

type Place = (f64, f64);

impl Svg {
    pub fn new(width: f64, height: f64, title: &str) -> Self {
        let mut svg = Svg(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height:.0}\" width=\"{width}\" \
             height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>\n",
            escape_text(title)
        ));
        svg.append(
            "text { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; font-size: 12px; fill: #222 }\n\
             .title { font-size: 15px; font-weight: 600 } .panel { font-size: 13px; font-weight: 600 } .name { font-size: 13px }\n\
             .label { font-size: 13px } .page { fill: #fff } .grid { stroke: #ddd } .frame { stroke: #888; fill: none }\n",
        );
        svg.add_colours(|&(light, _)| light, "#fff");
        svg.append("@media (prefers-color-scheme: dark) {\ntext { fill: #ddd } .page { fill: #15181c } .grid { stroke: #333 }\n");
        svg.add_colours(|&(_, dark)| dark, "#15181c");
        svg.append("}\n</style>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
        svg
    }

    fn add_colours(&mut self, of: fn(&(&'static str, &'static str)) -> &'static str, page: &str) {
        for (number, colour) in COLOURS.iter().map(of).enumerate() {
            let _ = writeln!(
                self.0,
                ".l{number} {{ stroke: {colour}; fill: none; stroke-width: 2 }} .m{number} {{ fill: {colour} }} \
                 .r{number} {{ stroke: {colour}; fill: {page}; stroke-width: 1.8 }}"
            );
        }
    }

    fn append(&mut self, text: &str) {
        self.0.push_str(text);
    }

    pub fn add_text(&mut self, (x, y): Place, anchor: Anchor, class: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        if !text.is_empty() {
            self.append(&format!(
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
                escape_text(text)
            ));
        }
    }

    /// Writes text from bottom to top, with its middle at the position.
    pub fn text_upwards(&mut self, (x, y): Place, class: &str, text: &str) {
        self.append(&format!(
            "<text class=\"{class}\" transform=\"translate({x:.1} {y:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
            escape_text(text)
        ));
    }

    pub fn add_line(&mut self, (x1, y1): Place, (x2, y2): Place, class: &str) {
        self.append(&format!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>\n"
        ));
    }

    pub fn add_frame(&mut self, (left, top): Place, (right, bottom): Place) {
        let (width, height) = (right - left, bottom - top);
        self.append(&format!(
            "<rect class=\"frame\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\n"
        ));
    }

    /// Draws the points of a series, with the colour and mark of its index.
    pub fn add_series(&mut self, number: usize, style: Style, places: &[Place]) {
        let colour = number % COLOURS.len();
        match style {
            Style::Line => self.add_stroke(number, places),
            Style::Dashes => self.add_polyline(number, places, " stroke-dasharray=\"7 5\""),
            Style::Marks | Style::Rings => (),
        }
        let class = if style == Style::Rings { 'r' } else { 'm' };
        for &place in places.iter().filter(|_| style != Style::Dashes) {
            self.add_mark(&format!("{class}{colour}"), number, place);
        }
    }

    /// Draws the line of a series without its marks.
    pub fn add_stroke(&mut self, number: usize, places: &[Place]) {
        self.add_polyline(number, places, "");
    }

    fn add_polyline(&mut self, number: usize, places: &[Place], dashes: &str) {
        let colour = number % COLOURS.len();
        let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.append(&format!(
            "<polyline class=\"l{colour}\"{dashes} points=\"{}\"/>\n",
            points.join(" ")
        ));
    }

    /// Draws a circle, square, triangle or diamond, depending on the index of the series.
    fn add_mark(&mut self, class: &str, number: usize, (x, y): Place) {
        let around = |corners: &[(f64, f64)]| {
            let corners = corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx, y + dy));
            format!(
                "<polygon class=\"{class}\" points=\"{}\"/>\n",
                corners.collect::<Vec<_>>().join(" ")
            )
        };
        let mark = match number % 4 {
            0 => format!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.8\"/>\n"),
            1 => around(&[(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)]),
            2 => around(&[(0.0, -4.6), (4.4, 3.4), (-4.4, 3.4)]),
            _ => around(&[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)]),
        };
        self.append(&mark);
    }

    pub fn close_svg(mut self) -> String {
        self.append("</svg>\n");
        self.0
    }
}

fn escape_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

pub struct Series {
    pub name: String,
    pub style: Style,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Line,
    /// A dashed line without marks, for reference values.
    Dashes,
    Marks,
    /// Marks that are empty inside.
    Rings,
}
