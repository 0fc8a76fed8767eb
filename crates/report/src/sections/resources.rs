//! The section "Time and memory": wall-clock time, CPU time, memory and spilled bytes of the run and
//! its stages.

use maud::{Markup, html};
use serde::Deserialize;

use crate::plot::{Axes, Figure, draw_grouped_bars, draw_lines};
use crate::run::RunPart;
use crate::section::{PageSample, facts_list, wrap_figures};
use crate::table::{Cell, scrollable_table, table_of_cells, table_of_rows};
use crate::text::NumberFormat;

pub fn make_section(sample: &PageSample<'_>) -> Option<Markup> {
    let run = &sample.run;
    let stages: Vec<RunPart<'_>> = run.items("stages").collect();
    let about = facts_list(&[
        ("Wall-clock time", run.cell("time/seconds", NumberFormat::Seconds)),
        ("CPU time", run.cell("time/cpu_seconds", NumberFormat::Seconds)),
        ("Threads", run.cell("resources/threads", NumberFormat::Plain)),
        ("Peak memory", run.cell("resources/memory_peak_bytes", NumberFormat::Bytes)),
        ("Memory limit", run.cell("resources/memory_limit_bytes", NumberFormat::Bytes)),
        ("Spilled to disk", run.cell("resources/spilled_bytes", NumberFormat::Bytes)),
    ]);
    if stages.is_empty() {
        return Some(about);
    }
    let limit = run.value("resources/memory_limit_bytes").unwrap_or(0.0);
    // Numbers of four digits would run into the title of the axis.
    let (unit_bytes, y) =
        if limit >= GIB { (GIB, "Peak memory (GiB)") } else { (MIB, "Peak memory (MiB)") };
    let limit = limit / unit_bytes;
    let (mut times, mut memory, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for stage in &stages {
        let name = stage.text("name");
        let value = |field: &str| stage.value(field).unwrap_or(0.0);
        times.push((name.to_string(), vec![value("seconds"), value("cpu_seconds")]));
        memory.push((name.to_string(), vec![value("memory_peak_bytes") / unit_bytes]));
        rows.push(vec![
            Cell::text(name),
            stage.cell("seconds", NumberFormat::Decimal(2, " s")),
            stage.cell("cpu_seconds", NumberFormat::Decimal(2, " s")),
            stage.cell("memory_peak_bytes", NumberFormat::Bytes),
            stage.cell("spilled_bytes", NumberFormat::Bytes),
        ]);
    }
    let titles =
        ["Stage", "Wall-clock time", "CPU time", "Peak memory by end of stage", "Spilled to disk"];
    let table = table_of_cells("Run stages", &titles, &rows);
    let users: Vec<Vec<Cell>> = run
        .items("resources/memory_at_peak")
        .map(|user| vec![Cell::text(user.text("name")), user.cell("bytes", NumberFormat::Bytes)])
        .collect();
    let figures = [
        Some(Figure {
            id: sample.element_id("time-plot"),
            title: "Time by stage",
            reading: "CPU time (all threads) and wall-clock time.".into(),
            alt: "Bars of the wall-clock time and CPU time of each stage.".into(),
            legend: vec!["wall-clock time".into(), "CPU time".into()],
            svg: draw_grouped_bars(&Axes { x: "", y: "Time (s)", ..Axes::default() }, times),
            table,
            ..Figure::default()
        }),
        Some(Figure {
            id: sample.element_id("memory-plot"),
            title: "Peak memory by stage",
            reading:
                "Peak memory of the process up to the end of each stage. The line marks the memory limit."
                    .into(),
            alt: "Bars of the peak memory up to the end of each stage, and a line at the memory limit."
                .into(),
            svg: draw_grouped_bars(
                &Axes {
                    x: "",
                    y,
                    y_range: Some((0.0, limit * 1.1)),
                    levels: vec![(limit, "limit".into())],
                    ..Axes::default()
                },
                memory,
            ),
            table: scrollable_table("Memory by component at the peak", &["Component", "Memory"], &users),
            ..Figure::default()
        }),
        memory_over_time_figure(sample),
    ];
    Some(html! { (about) (wrap_figures(figures, [])) })
}

const MIB: f64 = 1_048_576.0;

const GIB: f64 = 1024.0 * MIB;

const MIN_SAMPLES: usize = 3;

/// Resource usage at one moment of the run.
#[derive(Deserialize)]
struct UsageSample {
    at: f64,
    resident_bytes: f64,
    spilled_bytes: f64,
}

/// Draws resident memory and spilled bytes over time. `None` if the run was so short that it has
/// fewer than [`MIN_SAMPLES`] samples.
fn memory_over_time_figure(sample: &PageSample<'_>) -> Option<Figure> {
    // `samples` is the name of `usage` in format version 1.
    let rows: Vec<RunPart<'_>> =
        ["usage", "samples"].into_iter().flat_map(|name| sample.run.items(name)).collect();
    if rows.len() < MIN_SAMPLES {
        return None;
    }
    let samples: Vec<UsageSample> = rows.iter().filter_map(|row| row.read("")).collect();
    let line = |bytes: fn(&UsageSample) -> f64| -> Vec<(f64, f64)> {
        samples.iter().map(|it| (it.at, bytes(it) / MIB)).collect()
    };
    let columns = [
        ("at", "Time (s)"),
        ("resident_bytes", "Memory (bytes)"),
        ("spilled_bytes", "Spilled to disk (bytes)"),
        ("cpu_seconds", "CPU time (s)"),
    ];
    Some(Figure {
        has_lines: true,
        id: sample.element_id("memory-over-time-plot"),
        title: "Memory over time",
        reading: "Resident memory, and the total amount of data spilled to disk up to that time.".into(),
        alt: "Lines of resident memory and spilled data by seconds since the start.".into(),
        legend: vec!["resident memory".into(), "spilled to disk".into()],
        svg: draw_lines(
            &Axes { x: "Time (s)", y: "Size (MiB)", ..Axes::default() },
            vec![line(|it| it.resident_bytes), line(|it| it.spilled_bytes)],
        ),
        table: table_of_rows(&rows, "Memory over time", &columns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{Assay, Limits};
    use serde_json::json;

    #[test]
    fn the_memory_axis_has_a_unit_with_short_numbers() {
        for (limit, title) in [(512.0 * MIB, "Peak memory (MiB)"), (8.0 * GIB, "Peak memory (GiB)")] {
            let stage = json!({"name": "writing", "seconds": 1, "cpu_seconds": 1, "memory_peak_bytes": limit / 2.0, "spilled_bytes": 0});
            let run = json!({"resources": {"memory_limit_bytes": limit}, "stages": [stage]});
            let limits = Limits::for_assay(Assay::Wgs);
            let sample = PageSample { run: RunPart::new(&run), prefix: String::new(), limits: &limits };
            let text = make_section(&sample).unwrap().into_string();
            assert!(text.contains(&format!(">{title}</text>")), "{text}");
        }
    }
}
