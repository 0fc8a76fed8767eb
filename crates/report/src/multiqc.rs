//! A table of runs for MultiQC, in its custom content format.
//!
//! MultiQC can already read readmill's metrics files, because they have the formats of samtools,
//! Picard and other tools. The table adds what these files lack: verdict, time, memory and warnings
//! of each run.

use serde_json::{Map, Value, json};

use crate::limits::Grade;
use crate::options::PageOptions;
use crate::run::RunPart;
use crate::verdict::{MetricOutcome, judge_sample};

pub const MULTIQC_SUFFIX: &str = "_mqc.json";

/// A column of the table: key, title, description, number format, and path in the run description.
type MultiqcColumn = (&'static str, &'static str, &'static str, &'static str, &'static str);
const COLUMNS: &[MultiqcColumn] = &[
    ("read", "Read", "Records read", "{:,.0f}", "reads/read"),
    ("written", "Written", "Records in the main output", "{:,.0f}", "reads/written"),
    ("elsewhere", "Other outputs", "Records in other outputs", "{:,.0f}", "reads/written_elsewhere"),
    ("seconds", "Time (s)", "Wall-clock time of the run", "{:,.1f}", "time/seconds"),
    ("cpu_seconds", "CPU (s)", "CPU time of all threads", "{:,.1f}", "time/cpu_seconds"),
    ("peak", "Peak (MiB)", "Peak memory", "{:,.0f}", "resources/memory_peak_bytes"),
    ("limit", "Limit (MiB)", "Memory limit", "{:,.0f}", "resources/memory_limit_bytes"),
    ("spilled", "Spilled (MiB)", "Temporary files", "{:,.0f}", "resources/spilled_bytes"),
];

/// Returns the MultiQC table as JSON: a row for each run with its verdict, findings, record counts,
/// time, memory and number of warnings.
///
/// The caller must write it to a file whose name ends with [`MULTIQC_SUFFIX`].
///
/// ```
/// use readmill_report::{PageOptions, multiqc_table};
/// use serde_json::{Value, json};
///
/// let run = json!({"sample": "NA1", "reads": {"read": 9}, "resources": {"memory_peak_bytes": 3 << 20}});
/// let table: Value = serde_json::from_str(&multiqc_table(&[&run], &PageOptions::default())).unwrap();
/// assert_eq!(table["data"]["NA1"]["read"], 9.0);
/// assert_eq!(table["data"]["NA1"]["peak"], 3.0); // MiB
/// ```
pub fn multiqc_table(runs: &[&Value], options: &PageOptions) -> String {
    let mut table = MultiqcTable::new(options);
    runs.iter().for_each(|run| table.add_run(run));
    table.to_json()
}

/// The MultiQC table, built from one run description at a time.
pub struct MultiqcTable<'a> {
    options: &'a PageOptions,
    rows: Map<String, Value>,
}

impl<'a> MultiqcTable<'a> {
    pub fn new(options: &'a PageOptions) -> Self {
        MultiqcTable { options, rows: Map::new() }
    }

    /// Adds the row of a run. Rows need distinct names: the second run of sample `NA1` is named
    /// `NA1 (2)`.
    pub fn add_run(&mut self, run: &Value) {
        let run = RunPart::new(run);
        let mut name = run.text("sample").to_string();
        for number in 2.. {
            if !self.rows.contains_key(&name) {
                break;
            }
            name = format!("{} ({number})", run.text("sample"));
        }
        self.rows.insert(name, multiqc_row(&run, self.options));
    }

    /// Returns the table, as [`multiqc_table`] does.
    pub fn to_json(&self) -> String {
        let mut headers = Map::new();
        let title = |title: &str, about: &str| json!({"title": title, "description": about});
        headers.insert(
            "verdict".into(),
            title("Verdict", "Worst result of the key metrics: pass, warn or fail; incomplete if essential metrics are missing"),
        );
        headers.insert(
            "findings".into(),
            title("Findings", "Key metrics that failed or have a warning, with the cycle or lane"),
        );
        for (key, name, about, format, _) in COLUMNS {
            let mut header = title(name, about);
            header["format"] = json!(format);
            headers.insert((*key).into(), header);
        }
        headers.insert("warnings".into(), title("Warnings", "Number of run warnings"));
        let content = json!({
            "id": "readmill",
            "section_name": "readmill",
            "description": "Verdict, reads, time and memory of each run.",
            "plot_type": "table",
            "pconfig": {"id": "readmill_runs", "title": "readmill: runs", "namespace": "readmill"},
            "headers": headers,
            "data": self.rows,
        });
        format!("{content:#}\n")
    }
}

fn multiqc_row(run: &RunPart<'_>, options: &PageOptions) -> Value {
    let mut cells = Map::new();
    let verdict = judge_sample(run, &options.limits_of(run));
    if let Some(status) = verdict.status() {
        cells.insert("verdict".into(), json!(status.label()));
        let is_found = |it: &&MetricOutcome| it.grade().is_some_and(|grade| grade != Grade::Good);
        let found = verdict.outcomes.iter().filter(is_found);
        let found = found.map(|it| match &it.place {
            Some(place) => format!("{} ({place})", it.name),
            None => it.name.clone(),
        });
        cells.insert("findings".into(), json!(found.collect::<Vec<_>>().join("; ")));
    }
    for (key, .., path) in COLUMNS {
        let Some(number) = run.value(path) else { continue };
        let is_memory = ["peak", "limit", "spilled"].contains(key);
        let value = if is_memory { number / f64::from(1 << 20) } else { number };
        cells.insert((*key).into(), json!(value));
    }
    cells.insert("warnings".into(), json!(run.list("warnings").len()));
    Value::Object(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_a_row_of_its_verdict_reads_and_memory() {
        let run = |duplicates: f64| {
            json!({
                "format": "readmill run", "version": 1, "sample": "NA1", "warnings": ["one"],
                "reads": {"read": 9, "written": 8},
                "resources": {"memory_peak_bytes": 3 << 20},
                "reports": {"duplicates": {"rows": [
                    {"READ_PAIRS_EXAMINED": 4000, "UNPAIRED_READS_EXAMINED": 0, "PERCENT_DUPLICATION": duplicates},
                ]}},
            })
        };
        let runs = [run(0.9), run(0.01)];
        let text = multiqc_table(&runs.iter().collect::<Vec<_>>(), &PageOptions::default());
        let content: Value = serde_json::from_str(&text).unwrap();
        let (one, two) = (&content["data"]["NA1"], &content["data"]["NA1 (2)"]);
        assert_eq!((&one["verdict"], &one["findings"]), (&json!("fail"), &json!("Duplicates")));
        assert_eq!((&two["verdict"], &two["findings"]), (&json!("incomplete"), &json!("")));
        assert_eq!(
            (&one["read"], &one["peak"], &one["warnings"]),
            (&json!(9.0), &json!(3.0), &json!(1))
        );
        assert!(one.get("seconds").is_none());
        for (key, ..) in COLUMNS {
            assert!(content["headers"].get(key).is_some(), "{key}");
        }
    }
}
