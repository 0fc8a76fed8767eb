//! The section "Time and memory": seconds, CPU seconds, memory and spilled bytes of the run and its
//! stages.

use serde_json::Value;

use crate::plot::{Axes, Figure, grouped_bars, lines};
use crate::section::{Sample, Section, facts, figures};
use crate::table::{of_cells, of_rows, wide};
use crate::text::{Form, escape};

pub fn section(sample: &Sample<'_>) -> Option<Section> {
    let run = &sample.run;
    let stages = run.list("/stages").len();
    let at = |stage: usize, field: &str| format!("/stages/{stage}/{field}");
    let value = |pointer: &str| run.number(pointer).map_or(0.0, |it| it.value);
    let about = facts(&[
        ("Time", run.shown("/time/seconds", Form::Seconds)),
        ("CPU time", run.shown("/time/cpu_seconds", Form::Seconds)),
        ("Threads", run.shown("/resources/threads", Form::Plain)),
        ("Peak memory", run.shown("/resources/memory_peak_bytes", Form::Bytes)),
        ("Memory allowed", run.shown("/resources/memory_limit_bytes", Form::Bytes)),
        ("Spilled", run.shown("/resources/spilled_bytes", Form::Bytes)),
    ]);
    if stages == 0 {
        return Some(Section { id: "resources", title: "Time and memory", body: about });
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
                escape(&name(i)),
                run.shown(&at(i, "seconds"), Form::Decimal(2, " s")),
                run.shown(&at(i, "cpu_seconds"), Form::Decimal(2, " s")),
                run.shown(&at(i, "memory_peak_bytes"), Form::Bytes),
                run.shown(&at(i, "spilled_bytes"), Form::Bytes),
            ]
        })
        .collect();
    let titles = ["Stage", "Time", "CPU time", "Peak memory so far", "Spilled"];
    let table = of_cells("Stages of the run", &titles, &rows);
    let shares = "/resources/memory_at_peak";
    let users: Vec<Vec<String>> = (0..run.list(shares).len())
        .map(|i| {
            vec![
                escape(run.text(&format!("{shares}/{i}/name"))),
                run.shown(&format!("{shares}/{i}/bytes"), Form::Bytes),
            ]
        })
        .collect();
    let limit = mib(value("/resources/memory_limit_bytes"));
    let list = [
        Figure {
            has_lines: false,
            id: sample.id("time-plot"),
            title: "Time of each stage".into(),
            reading: "CPU time of all threads beside the time that went by.".into(),
            alt: "Bars of seconds and CPU seconds of each stage.".into(),
            legend: vec!["seconds".into(), "CPU seconds".into()],
            svg: grouped_bars(&Axes { x: "", y: "Seconds", ..Axes::default() }, times),
            table,
        },
        Figure {
            has_lines: false,
            id: sample.id("memory-plot"),
            title: "Memory up to the end of each stage".into(),
            reading: "Peak memory of the process; the line is what it may take.".into(),
            alt: "Bars of the peak memory up to the end of each stage, and a line at what is allowed."
                .into(),
            legend: Vec::new(),
            svg: grouped_bars(
                &Axes {
                    x: "",
                    y: "MiB",
                    y_range: Some((0.0, limit * 1.1)),
                    levels: vec![(limit, "allowed".into())],
                    ..Axes::default()
                },
                memory,
            ),
            table: wide(
                "Who had memory when most was in use",
                &of_cells("Who had memory when most was in use", &["User", "Memory"], &users),
            ),
        },
    ];
    let list: Vec<String> = list.iter().chain(&over_time(sample)).map(Figure::html).collect();
    Some(Section { id: "resources", title: "Time and memory", body: about + &figures(&list) })
}

const LEAST_SAMPLES: usize = 3;

/// Draws resident memory and spilled bytes over the run. `None` if the run was too short to be
/// sampled often enough.
fn over_time(sample: &Sample<'_>) -> Option<Figure> {
    let run = &sample.run;
    let samples = run.list("/samples");
    if samples.len() < LEAST_SAMPLES {
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
        id: sample.id("memory-over-time-plot"),
        title: "Memory over the run".into(),
        reading: "Resident memory, and what was spilled to disk so far.".into(),
        alt: "Lines of resident memory and of spilled bytes by seconds since the start.".into(),
        legend: vec!["memory".into(), "spilled".into()],
        svg: lines(
            &Axes { x: "Seconds", y: "MiB", ..Axes::default() },
            vec![line("resident_bytes"), line("spilled_bytes")],
        ),
        table: of_rows(&rows, "Memory over the run", &columns),
    })
}
