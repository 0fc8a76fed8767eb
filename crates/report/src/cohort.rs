//! Comparison of several samples: a table of their metrics, samples that stand out, and lanes that
//! may belong to another sample.
//!
//! ```text
//! runs ─► metric_column      for each metric: values of all samples, median, outliers
//!      ├─► sample_table       one row for each sample, with grades and marks of outliers
//!      ├─► draw_metric_plots  one dot for each sample
//!      └─► lanes_section      lanes that resemble another sample more than their own
//! ```

use crate::lanes::{SortedValues, collect_lanes, median};
use crate::limits::Grade;
use crate::metrics::{METRICS, Metric};
use crate::options::PageOptions;
use crate::plot::{Axes, COLORS, Figure, draw_dots};
use crate::run::{Quantity, RunDescription};
use crate::table::{table_of_cells, wrap_scrollable};
use crate::text::{NumberFormat, escape_html, join_words};
use crate::verdict::{MetricOutcome, grade_markup, grade_metrics, summarize_outcomes};

/// The values of one metric in all samples; `None` if a sample did not count it.
///
/// A sample stands out if it is further from the median than [`MOST_Z`] scaled median absolute
/// deviations and further than a minimum distance; see docs/report.md.
struct MetricColumn {
    metric: &'static Metric,
    values: Vec<Option<Quantity>>,
    median: f64,
    outliers: Vec<usize>,
}

const MIN_COMPARED_SAMPLES: usize = 5;

/// Robust z-score above which a sample stands out (Iglewicz and Hoaglin).
const MAX_ROBUST_Z: f64 = 3.5;

/// Minimum distance from the median at which a sample may stand out, so that tiny differences
/// between nearly equal samples are not reported. It is a fraction of the median; for metrics that
/// are fractions themselves, a fraction of the distance from the median to 0 or 1, whichever is
/// nearer.
const MIN_RELATIVE_DISTANCE: f64 = 0.1;
const MIN_SHARE_DISTANCE: f64 = 0.25;

const NOT_COMPARED: [&str; 1] = ["oxidation"];

pub fn cohort_html(runs: &[RunDescription<'_>], options: &PageOptions) -> String {
    let columns: Vec<MetricColumn> =
        METRICS.iter().filter_map(|metric| metric_column(metric, runs)).collect();
    let colors = SampleColors::for_samples(runs, options);
    let of_runs: Vec<Vec<MetricOutcome>> =
        runs.iter().map(|run| grade_metrics(run, &options.limits)).collect();
    let with = |wanted: Grade| {
        of_runs.iter().filter(|list| list.iter().map(|it| it.grade).max() == Some(wanted)).count()
    };
    format!(
        "<div id=\"cohort\"><header><p class=\"eyebrow\">readmill report</p><h1>{} samples</h1>\
         <p class=\"summary\">{} with a bad number, {} with a number worth a look, {} good.</p><p class=\"note\">Limits for {}.</p></header>\
         {}{}{}</div>",
        runs.len(),
        with(Grade::Bad),
        with(Grade::Look),
        with(Grade::Good),
        options.limits.assay.title(),
        sample_table(runs, &columns, &of_runs, &colors, options),
        draw_metric_plots(runs, &columns, &colors),
        lanes_section(runs),
    )
}

fn metric_column(metric: &'static Metric, runs: &[RunDescription<'_>]) -> Option<MetricColumn> {
    let values: Vec<Option<Quantity>> = runs.iter().map(|run| (metric.find)(run)).collect();
    let known: Vec<f64> = values.iter().flatten().map(|it| it.value).collect();
    let middle = median(known.clone())?;
    let near = match metric.form {
        NumberFormat::Share => MIN_SHARE_DISTANCE * middle.min(1.0 - middle).abs(),
        _ => MIN_RELATIVE_DISTANCE * middle.abs(),
    };
    let is_compared = known.len() >= MIN_COMPARED_SAMPLES && !NOT_COMPARED.contains(&metric.key);
    let outliers = if is_compared { find_outliers(&values, &known, middle, near) } else { Vec::new() };
    Some(MetricColumn { metric, outliers, values, median: middle })
}

/// Returns the indexes of the samples that stand out. `known` has the values without gaps, `middle`
/// is their median, and `near` the minimum distance.
fn find_outliers(values: &[Option<Quantity>], known: &[f64], middle: f64, near: f64) -> Vec<usize> {
    let distances = known.iter().map(|value| (value - middle).abs()).collect();
    let deviation = 1.4826 * median(distances).unwrap_or(0.0);
    let stands_out = |value: f64| {
        let distance = (value - middle).abs();
        distance > MAX_ROBUST_Z * deviation && distance > near
    };
    let values = values.iter().enumerate();
    values.filter(|(_, it)| it.as_ref().is_some_and(|it| stands_out(it.value))).map(|(i, _)| i).collect()
}

fn sample_table(
    runs: &[RunDescription<'_>],
    columns: &[MetricColumn],
    outcomes: &[Vec<MetricOutcome>],
    colors: &SampleColors,
    options: &PageOptions,
) -> String {
    let names: &[String] = options.sheet.as_ref().map_or(&[], |sheet| sheet.field_names());
    let header = |title: &str| {
        format!(
            "<th scope=\"col\" aria-sort=\"none\"><button type=\"button\">{}</button></th>",
            escape_html(title)
        )
    };
    let titles = ["Sample", "Verdict"].into_iter().chain(names.iter().map(String::as_str));
    let titles: String = titles.chain(columns.iter().map(|it| it.metric.name)).map(header).collect();
    let row = |(i, run): (usize, &RunDescription<'_>)| {
        let own = outcomes.get(i).map_or(&[][..], Vec::as_slice);
        let worst = own.iter().map(|it| it.grade).max();
        let (class, word) = worst.map_or(("", "–"), grade_markup);
        let rank = worst.map_or(0, |it| it as u8 + 1);
        let fields: String = names
            .iter()
            .map(|name| {
                let value = options.sheet.as_ref().and_then(|sheet| sheet.field(run.sample(), name));
                format!("<td>{}</td>", value.map_or("–".into(), escape_html))
            })
            .collect();
        let cells: String = columns.iter().map(|column| sample_cell(column, i, own)).collect();
        format!(
            "<tr data-run=\"{i}\"><th scope=\"row\"><i class=\"swatch s{}\"></i><a href=\"#s{i}\">{}</a></th>\
             <td data-sort=\"{rank}\" title=\"{}\"><span class=\"grade \
                 {class}\">{word}</span></td>{fields}{cells}</tr>",
            colors.of_run(i),
            escape_html(run.sample()),
            escape_html(&summarize_outcomes(own))
        )
    };
    let rows: String = runs.iter().enumerate().map(row).collect();
    let table = format!(
        "<table class=\"sortable\"><caption>Key numbers of all samples. A press on a title sorts.</caption>\
         <thead><tr>{titles}</tr></thead><tbody>{rows}</tbody></table>"
    );
    let said = outlier_items(columns, runs);
    let said = if said.is_empty() {
        String::new()
    } else {
        format!("<h3>Samples that stand out</h3><ul class=\"findings\">{}</ul>", said.concat())
    };
    format!(
        "<section aria-labelledby=\"samples-h\"><h2 id=\"samples-h\">Samples</h2>\
         <p class=\"filter\"><label>Show samples with <input type=\"search\" id=\"filter\" placeholder=\"a word\"></label>\
         <span id=\"shown\" role=\"status\"></span></p>{}{said}</section>",
        wrap_scrollable("Key numbers of all samples", &table)
    )
}

/// Returns the cell of a sample: the number in the colour of its grade, and a mark if the sample
/// stands out.
fn sample_cell(column: &MetricColumn, run: usize, outcomes: &[MetricOutcome]) -> String {
    let Some(Some(source)) = column.values.get(run) else { return "<td data-sort=\"\">–</td>".into() };
    let grade = outcomes.iter().find(|it| it.metric.key == column.metric.key).map(|it| it.grade);
    let class = match grade {
        Some(Grade::Bad) => "bad",
        Some(Grade::Look) => "look",
        _ => "",
    };
    let word =
        if class.is_empty() { String::new() } else { format!("<span class=\"sr\"> {class}</span>") };
    let mark = match column.outliers.contains(&run) {
        true if source.value > column.median => {
            " <span class=\"out\" title=\"higher than others\">high</span>"
        }
        true => " <span class=\"out\" title=\"lower than others\">low</span>",
        false => "",
    };
    format!(
        "<td class=\"{class}\" data-sort=\"{}\">{}{word}{mark}</td>",
        source.value,
        source.to_html(column.metric.form)
    )
}

fn outlier_items(columns: &[MetricColumn], runs: &[RunDescription<'_>]) -> Vec<String> {
    let of = |column: &MetricColumn, i: usize| {
        let source = column.values.get(i)?.as_ref()?;
        let side = if source.value > column.median { "high" } else { "low" };
        column.outliers.contains(&i).then(|| {
            format!(
                "{} {} <span class=\"out\">{side}</span> (median {})",
                escape_html(column.metric.name),
                source.to_html(column.metric.form),
                column.metric.form.format_number(column.median)
            )
        })
    };
    let say = |(i, run): (usize, &RunDescription<'_>)| {
        let own: Vec<String> = columns.iter().filter_map(|column| of(column, i)).collect();
        let name = escape_html(run.sample());
        let text = own.join("; ");
        (!own.is_empty())
            .then(|| format!("<li data-run=\"{i}\"><a href=\"#s{i}\">{name}</a>: {text}.</li>"))
    };
    runs.iter().enumerate().filter_map(say).collect()
}

/// The colour of each sample, from a field of the sample sheet.
///
/// Samples with the same value have the same colour. Without a sheet, all samples have the first
/// colour.
struct SampleColors {
    field: Option<String>,
    values: Vec<String>,
    of: Vec<usize>,
}

impl SampleColors {
    fn for_samples(runs: &[RunDescription<'_>], options: &PageOptions) -> Self {
        let none = || SampleColors { field: None, values: Vec::new(), of: vec![0; runs.len()] };
        let Some(sheet) = &options.sheet else { return none() };
        let by = |name: &String| {
            let own: Vec<&str> =
                runs.iter().map(|run| sheet.field(run.sample(), name).unwrap_or("–")).collect();
            let mut values: Vec<String> = own.iter().map(|it| (*it).to_string()).collect();
            values.sort();
            values.dedup();
            let of = own.iter().map(|it| values.iter().position(|value| value == it).unwrap_or(0));
            SampleColors { field: Some(name.clone()), of: of.collect(), values }
        };
        match &options.color_by {
            Some(name) => by(name),
            None => {
                let mut all = sheet.field_names().iter().map(by);
                all.find(|it| (2..=COLORS).contains(&it.values.len())).unwrap_or_else(none)
            }
        }
    }

    fn of_run(&self, run: usize) -> usize {
        self.of.get(run).copied().unwrap_or(0) % COLORS
    }

    fn legend_html(&self) -> String {
        let Some(field) = &self.field else { return String::new() };
        let entry = |(i, value): (usize, &String)| {
            format!("<li><i class=\"swatch s{}\"></i>{}</li>", i % COLORS, escape_html(value))
        };
        let entries: String = self.values.iter().enumerate().map(entry).collect();
        format!(
            "<p class=\"lead\">Colours are those of the field {}:</p><ul \
                class=\"legend\">{entries}</ul>",
            escape_html(field)
        )
    }
}

fn draw_metric_plots(
    runs: &[RunDescription<'_>],
    columns: &[MetricColumn],
    colors: &SampleColors,
) -> String {
    let size = if runs.len() > 60 { 3.0 } else { 5.0 };
    let plot = |column: &MetricColumn| {
        let known: Vec<(f64, usize)> = column
            .values
            .iter()
            .enumerate()
            .filter_map(|(i, it)| Some((it.as_ref()?.value, colors.of_run(i))))
            .collect();
        let first = known.first()?.0;
        if known.iter().all(|it| it.0 == first) {
            return None;
        }
        let is_share = column.metric.form == NumberFormat::Share;
        let names =
            column.outliers.iter().filter_map(|i| runs.get(*i)).map(|run| run.sample().to_string());
        let names = join_words(&names.collect::<Vec<_>>());
        let alt = format!(
            "A dot for each of {} samples; the median is {}.{}",
            known.len(),
            column.metric.form.format_number(column.median),
            if names.is_empty() { String::new() } else { format!(" These stand out: {names}.") }
        );
        let scaled = known
            .into_iter()
            .map(|(value, i)| (if is_share { 100.0 * value } else { value }, i))
            .collect();
        let axes = Axes { x: if is_share { "percent" } else { "" }, ..Axes::default() };
        let figure = Figure {
            has_lines: false,
            id: format!("cohort-{}", column.metric.key),
            title: column.metric.name.into(),
            reading: if names.is_empty() { String::new() } else { format!("Standing out: {names}.") },
            alt,
            legend: Vec::new(),
            svg: draw_dots(&axes, scaled, size),
            table: String::new(),
        };
        Some(figure.to_html())
    };
    let plots: String = columns.iter().filter_map(plot).collect();
    format!(
        "<section aria-labelledby=\"dots-h\"><h2 id=\"dots-h\">Key numbers</h2>{}<div class=\"figures small\">{plots}</div>\
         <p class=\"note\">Each dot is a sample; the table above has their numbers.</p></section>",
        colors.legend_html()
    )
}

struct PlacedLane {
    run: usize,
    name: String,
    values: [f64; 2],
}

/// A lane that resembles another sample more than its own.
struct Swap {
    lane: usize,
    other: usize,
}

/// The distances in insert size and in GC that weigh the same: a tenth of the insert size, and two
/// percentage points of GC.
const DISTANCE_UNITS: [f64; 2] = [0.1, 0.02];

/// Returns the table of all lanes, and a sentence about each lane that may belong to another
/// sample.
fn lanes_section(runs: &[RunDescription<'_>]) -> String {
    let mut placed = Vec::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (run, of) in runs.iter().enumerate() {
        for lane in collect_lanes(of) {
            let dash = || "–".to_string();
            let form = NumberFormat::Decimal(0, " bases");
            rows.push(vec![
                format!("<a href=\"#s{run}\">{}</a>", escape_html(of.sample())),
                format!("<code>{}</code>", escape_html(&lane.name)),
                lane.insert.as_ref().map_or_else(dash, |it| it.to_html(form)),
                lane.gc.as_ref().map_or_else(dash, |it| it.to_html(NumberFormat::Share)),
            ]);
            if let (Some(insert), Some(gc)) = (&lane.insert, &lane.gc) {
                placed.push(PlacedLane { run, name: lane.name, values: [insert.value, gc.value] });
            }
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let swaps = find_swaps(&placed);
    let name = |run: usize| runs.get(run).map_or(String::new(), |run| escape_html(run.sample()));
    let said: String = swaps
        .iter()
        .filter_map(|swap| {
            let lane = placed.get(swap.lane)?;
            Some(format!(
                "<li>Lane <code>{}</code> of {} has the insert size and the GC of {}, not those \
                    of its own other lanes.</li>",
                escape_html(&lane.name),
                name(lane.run),
                name(swap.other)
            ))
        })
        .collect();
    let said = if said.is_empty() {
        "<p class=\"lead\">No lane fits another sample better than its own.</p>".into()
    } else {
        format!("<ul class=\"findings\">{said}</ul>")
    };
    let titles = ["Sample", "Lane", "Median insert size", "Mean GC"];
    let table = table_of_cells("Lanes of all samples", &titles, &rows);
    // Each row names its run, so that the page's script filters it together with the sample.
    let start = "<th scope=\"row\"><a href=\"#s";
    let row = format!("<tr>{start}");
    let mut parts = table.split(&row);
    let mut table = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let run = part.split('"').next().unwrap_or_default();
        table += &format!("<tr data-run=\"{run}\">{start}{part}");
    }
    format!(
        "<section aria-labelledby=\"lanes-h\"><h2 id=\"lanes-h\">Lanes</h2>{said}{}</section>",
        wrap_scrollable("Lanes of all samples", &table)
    )
}

/// Finds lanes that are far from the other lanes of their sample and at least three times nearer to
/// another sample.
fn find_swaps(lanes: &[PlacedLane]) -> Vec<Swap> {
    let most = lanes.iter().map(|lane| lane.run + 1).max().unwrap_or(0);
    let mut of_runs: Vec<Vec<&PlacedLane>> = vec![Vec::new(); most];
    lanes.iter().for_each(|lane| of_runs.get_mut(lane.run).into_iter().for_each(|it| it.push(lane)));
    let sorted = |which: usize| -> Vec<SortedValues> {
        let value = |lane: &&PlacedLane| lane.values.get(which).copied();
        of_runs.iter().map(|lanes| SortedValues::from_values(lanes.iter().filter_map(value))).collect()
    };
    let [inserts, gcs] = [sorted(0), sorted(1)];
    let middle = |run: usize, without: Option<[f64; 2]>| {
        let of = |values: &[SortedValues], own: Option<f64>| values.get(run)?.median_without(own);
        let [insert, gc] = [without.map(|it| it[0]), without.map(|it| it[1])];
        Some([of(&inserts, insert)?, of(&gcs, gc)?])
    };
    let middles: Vec<Option<[f64; 2]>> = (0..most).map(|run| middle(run, None)).collect();
    let distance = |lane: &PlacedLane, middle: [f64; 2]| {
        let [insert, gc] = lane.values;
        let apart = [(insert - middle[0]).abs() / middle[0].max(1.0), (gc - middle[1]).abs()];
        (apart[0] / DISTANCE_UNITS[0]).max(apart[1] / DISTANCE_UNITS[1])
    };
    let mut found = Vec::new();
    for (i, lane) in lanes.iter().enumerate() {
        let own = middle(lane.run, Some(lane.values)).map(|middle| distance(lane, middle));
        let Some(own) = own else { continue };
        let others = middles.iter().enumerate().filter(|(run, _)| *run != lane.run);
        let others = others.filter_map(|(run, middle)| Some((run, distance(lane, (*middle)?))));
        let nearest = others.min_by(|a, b| a.1.total_cmp(&b.1));
        if let Some((other, _)) = nearest.filter(|(_, distance)| own > 1.0 && *distance < own / 3.0) {
            found.push(Swap { lane: i, other });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_that_stand_out_are_those_far_from_the_median() {
        let values = [1.0, 1.1, 0.9, 1.0, 1.05, 3.0];
        let sources: Vec<Option<Quantity>> =
            values.iter().map(|it| Some(Quantity::new(*it, String::new()))).collect();
        assert_eq!(find_outliers(&sources, &values, 1.025, 0.1), [5]);
        assert!(find_outliers(&sources, &values, 1.025, 2.0).is_empty(), "all are near");
    }

    #[test]
    fn a_lane_of_another_sample_is_found() {
        let lane = |run: usize, insert: f64, gc: f64| PlacedLane {
            run,
            name: String::new(),
            values: [insert, gc],
        };
        let mut lanes = vec![
            lane(0, 350.0, 0.41),
            lane(0, 352.0, 0.41),
            lane(0, 351.0, 0.41),
            lane(1, 480.0, 0.46),
            lane(1, 478.0, 0.46),
            lane(1, 482.0, 0.46),
        ];
        assert!(find_swaps(&lanes).is_empty());
        lanes[2].values = [481.0, 0.46];
        let found = find_swaps(&lanes);
        assert_eq!(found.iter().map(|it| (it.lane, it.other)).collect::<Vec<_>>(), [(2, 1)]);
    }
}
