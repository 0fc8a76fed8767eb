//! The section "Time and memory": seconds, CPU seconds, memory and spilled bytes of the run and its
//! stages.

use serde_json::Value;

use crate::plot::{Axes, Figure, draw_grouped_bars, draw_lines};
use crate::section::{PageSample, PageSection, facts_list, wrap_figures};
use crate::table::{table_of_cells, table_of_rows, wrap_scrollable};
use crate::text::{NumberFormat, escape_html};

pub fn make_section(sample: &PageSample<'_>) -> Option<PageSection> {
    let run = &sample.run;
    let stages = run.list("/stages").len();
    let at = |stage: usize, field: &str| format!("/stages/{stage}/{field}");
    let value = |pointer: &str| run.number(pointer).map_or(0.0, |it| it.value);
    let about = facts_list(&[
        ("Time", run.number_html("/time/seconds", NumberFormat::Seconds)),
        ("CPU time", run.number_html("/time/cpu_seconds", NumberFormat::Seconds)),
        ("Threads", run.number_html("/resources/threads", NumberFormat::Plain)),
        ("Peak memory", run.number_html("/resources/memory_peak_bytes", NumberFormat::Bytes)),
        ("Memory allowed", run.number_html("/resources/memory_limit_bytes", NumberFormat::Bytes)),
        ("Spilled", run.number_html("/resources/spilled_bytes", NumberFormat::Bytes)),
    ]);
    if stages == 0 {
        return Some(PageSection { id: "resources", title: "Time and memory", body: about });
    }
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let name = |stage: usize| run.text(&at(stage, "name")).to_string();
    let times: Vec<(String, Vec<f64>)> = (0..stages)
        .map(|i| (name(i), vec![value(&at(i, "seconds")), value(&at(i, "cpu_seconds"))]))
        .collect();
    let memory: Vec<(String, Vec<f64>)> =
        (0..stages).map(|i| (name(i), vec![mib(value(&at(i, "memory_peak_bytes")))])).collect();
    let rows: Vec<Vec<String>> = (0..stages)
        .map(|i| {
            vec![
                escape_html(&name(i)),
                run.number_html(&at(i, "seconds"), NumberFormat::Decimal(2, " s")),
                run.number_html(&at(i, "cpu_seconds"), NumberFormat::Decimal(2, " s")),
                run.number_html(&at(i, "memory_peak_bytes"), NumberFormat::Bytes),
                run.number_html(&at(i, "spilled_bytes"), NumberFormat::Bytes),
            ]
        })
        .collect();
    let titles = ["Stage", "Time", "CPU time", "Peak memory so far", "Spilled"];
    let table = table_of_cells("Stages of the run", &titles, &rows);
    let shares = "/resources/memory_at_peak";
    let users: Vec<Vec<String>> = (0..run.list(shares).len())
        .map(|i| {
            vec![
                escape_html(run.text(&format!("{shares}/{i}/name"))),
                run.number_html(&format!("{shares}/{i}/bytes"), NumberFormat::Bytes),
            ]
        })
        .collect();
    let limit = mib(value("/resources/memory_limit_bytes"));
    let list = [
        Figure {
            has_lines: false,
            id: sample.element_id("time-plot"),
            title: "Time of each stage".into(),
            reading: "CPU time of all threads beside the time that went by.".into(),
            alt: "Bars of seconds and CPU seconds of each stage.".into(),
            legend: vec!["seconds".into(), "CPU seconds".into()],
            svg: draw_grouped_bars(&Axes { x: "", y: "Seconds", ..Axes::default() }, times),
            table,
        },
        Figure {
            has_lines: false,
            id: sample.element_id("memory-plot"),
            title: "Memory up to the end of each stage".into(),
            reading: "Peak memory of the process; the line is what it may take.".into(),
            alt: "Bars of the peak memory up to the end of each stage, and a line at what is allowed."
                .into(),
            legend: Vec::new(),
            svg: draw_grouped_bars(
                &Axes {
                    x: "",
                    y: "MiB",
                    y_range: Some((0.0, limit * 1.1)),
                    levels: vec![(limit, "allowed".into())],
                    ..Axes::default()
                },
                memory,
            ),
            table: wrap_scrollable(
                "Who had memory when most was in use",
                &table_of_cells("Who had memory when most was in use", &["User", "Memory"], &users),
            ),
        },
    ];
    let list: Vec<String> =
        list.iter().chain(&memory_over_time_figure(sample)).map(Figure::to_html).collect();
    Some(PageSection { id: "resources", title: "Time and memory", body: about + &wrap_figures(&list) })
}

const MIN_SAMPLES: usize = 3;

/// Draws resident memory and spilled bytes over the run. `None` if the run was too short to be
/// sampled often enough.
fn memory_over_time_figure(sample: &PageSample<'_>) -> Option<Figure> {
    let run = &sample.run;
    let samples = run.list("/samples");
    if samples.len() < MIN_SAMPLES {
        return None;
    }
    let line = |field: &str| -> Vec<(f64, f64)> {
        let number = |sample: &Value, name: &str| sample.get(name).and_then(Value::as_f64);
        let point = |sample| Some((number(sample, "at")?, number(sample, field)? / f64::from(1 << 20)));
        samples.iter().filter_map(point).collect()
    };
    let rows: Vec<(String, &Value)> =
        samples.iter().enumerate().map(|(i, row)| (format!("/samples/{i}"), row)).collect();
    let columns = [
        ("at", "Seconds"),
        ("resident_bytes", "Memory (bytes)"),
        ("spilled_bytes", "Spilled (bytes)"),
        ("cpu_seconds", "CPU seconds"),
    ];
    Some(Figure {
        has_lines: true,
        id: sample.element_id("memory-over-time-plot"),
        title: "Memory over the run".into(),
        reading: "Resident memory, and what was spilled to disk so far.".into(),
        alt: "Lines of resident memory and of spilled bytes by seconds since the start.".into(),
        legend: vec!["memory".into(), "spilled".into()],
        svg: draw_lines(
            &Axes { x: "Seconds", y: "MiB", ..Axes::default() },
            vec![line("resident_bytes"), line("spilled_bytes")],
        ),
        table: table_of_rows(&rows, "Memory over the run", &columns),
    })
}
