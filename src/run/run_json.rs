//! The description of a run as JSON, for `--json` and for add-ons that need it: the request, the
//! inputs and outputs, all reports, and the resources that each stage used. `docs/run.schema.json`
//! is its schema.
//!
//! Numbers of reports are those of the report texts. Times and memory differ from run to run;
//! everything else is the same for any number of threads, any memory limit, and in stages.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use readmill_filters::spec::FilterStage;
use readmill_format::summed::InputSums;
use readmill_process::console::{self, StageTime};
use readmill_process::samples::UsageSample;
use readmill_process::used;
use serde_json::{Value, json};

use super::RunState;
use super::summary::RunSummary;
use crate::outputs::CompleteOutput;
use crate::outputs::report_files::ReportFiles;
use crate::plan::{Destination, Plan};

/// The schema version. It increases when a field is removed or changes its meaning; fields may be
/// added at any time.
const VERSION: u32 = 2;

impl RunState<'_> {
    /// Returns the description. The outputs are complete, but do not have their final names yet.
    pub(super) fn describe_run(
        &self,
        summary: &RunSummary,
        main: Option<&CompleteOutput>,
        extra: &[CompleteOutput],
        files: &mut ReportFiles,
    ) -> Value {
        let (plan, stages) = (self.plan, self.console.stages());
        let outputs: Vec<Value> = describe_outputs(plan, summary, main, extra, files);
        let reports = files.take_values();
        let division = self.memory.division.shares();
        let at_peak = self.ledger().users_at_peak();
        let at_peak = at_peak.iter().filter(|(_, bytes)| *bytes > 0);
        let mut value = json!({
            "format": "readmill run",
            "version": VERSION,
            "program": {
                "name": "readmill",
                "version": env!("CARGO_PKG_VERSION"),
                "commit": option_env!("READMILL_COMMIT"),
            },
            "command": {
                "name": plan.command.name(),
                "arguments": std::env::args_os().map(|it| it.to_string_lossy().into_owned()).collect::<Vec<_>>(),
                "line": plan.command_line(),
            },
            "steps": describe_steps(plan),
            "sample": files.sample(),
            "sample_names": {
                "given": plan.reports.sample,
                "read_groups": files.sample_of_read_groups(),
            },
            "assay": plan.reports.judgement.assay,
            "qc_thresholds": plan.reports.judgement.thresholds,
            "inputs": plan.inputs.iter().map(|path| describe_input(path, &self.sums)).collect::<Vec<_>>(),
            "reference": self.describe_reference(),
            "known_sites": self.describe_known_sites(),
            "platforms": self.describe_platforms(),
            "outputs": outputs,
            "reads": {
                "read": summary.read_records,
                "written": summary.written_records,
                "written_elsewhere": summary.extra_records(),
                "counts": summary.counts.iter().map(|(name, n)| json!({ "name": name, "reads": n })).collect::<Vec<_>>(),
            },
            "trimming": self.trimming.as_ref().map(|trimming| trimming.to_fastp_report()),
            "reports": Value::Null,
            "resources": {
                "threads": self.memory.crew.threads,
                "memory_limit_bytes": plan.resources.memory,
                "memory_peak_bytes": used::peak_resident_bytes(),
                "memory_shares": division.iter().map(|(name, bytes)| describe_share(name, *bytes)).collect::<Vec<_>>(),
                "memory_at_peak": at_peak.map(|(name, bytes)| describe_share(name, *bytes)).collect::<Vec<_>>(),
                "temp_dirs": plan.resources.temp_dirs.iter().map(|dir| dir.to_string_lossy()).collect::<Vec<_>>(),
                "spilled_bytes": stages.iter().map(|stage| stage.spilled).sum::<u64>(),
                "spilled_runs": summary.spilled_runs,
            },
            "time": {
                "ended": console::unix_seconds(),
                "seconds": stages.iter().map(|stage| stage.seconds).sum::<f64>(),
                "cpu_seconds": stages.iter().map(|stage| stage.cpu_seconds).sum::<f64>(),
            },
            "usage": self.console.take_samples().iter().map(describe_usage_sample).collect::<Vec<_>>(),
            "stages": stages.iter().map(describe_stage).collect::<Vec<_>>(),
            "warnings": self.console.warnings(),
        });
        // Moved, not copied: with a million contigs, the reports take hundreds of MiB.
        value["reports"] = Value::Object(reports);
        value
    }
}

/// Describes a memory share.
fn describe_share(name: &str, bytes: u64) -> Value {
    json!({ "name": name, "bytes": bytes })
}

/// Describes an input, with its size if it is a regular file.
pub(super) fn describe_input(path: &Path, sums: &InputSums) -> Value {
    let bytes = regular_file_bytes(path);
    add_path(
        path,
        json!({ "bytes": bytes, "xxh128": bytes.and_then(|bytes| sums.checksum_of(path, bytes)) }),
    )
}

/// Adds a file name to an object. A file name need not be valid UTF-8, but JSON must be: invalid
/// bytes are replaced by U+FFFD, and `path_hex` contains all bytes of the name.
pub(super) fn add_path(path: &Path, mut object: Value) -> Value {
    object["path"] = json!(path.to_string_lossy());
    if path.to_str().is_none() {
        let hex = path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}"));
        object["path_hex"] = json!(hex.collect::<String>());
    }
    object
}

pub(super) fn regular_file_bytes(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len())
}

fn describe_stage(stage: &StageTime) -> Value {
    json!({
        "name": stage.name,
        "began": stage.began,
        "seconds": stage.seconds,
        "cpu_seconds": stage.cpu_seconds,
        "memory_peak_bytes": stage.peak,
        "spilled_bytes": stage.spilled,
    })
}

fn describe_usage_sample(sample: &UsageSample) -> Value {
    json!({
        "at": sample.seconds,
        "resident_bytes": sample.resident,
        "cpu_seconds": sample.cpu_seconds,
        "spilled_bytes": sample.spilled,
    })
}

/// Describes all files that are written, except the description itself and the files derived from
/// it.
fn describe_outputs(
    plan: &Plan,
    summary: &RunSummary,
    main: Option<&CompleteOutput>,
    extra: &[CompleteOutput],
    files: &ReportFiles,
) -> Vec<Value> {
    let file = |kind: &str, path: &Path, bytes: Option<u64>, reads: Option<u64>| {
        add_path(path, json!({ "kind": kind, "bytes": bytes, "reads": reads }))
    };
    let mut list = Vec::new();
    let has_main = matches!(plan.destination, Destination::Main(..));
    if let Some(main) = main.filter(|_| has_main) {
        list.push(file("reads", main.path(), Some(main.bytes()), Some(summary.written_records)));
        list.extend(summary.parts.iter().map(|(path, bytes)| file("part", path, Some(*bytes), None)));
        list.extend(main.side_files().map(|(path, bytes)| file("beside", path, bytes, None)));
    }
    for (output, (_, reads)) in extra.iter().zip(&summary.extra_outputs) {
        list.push(file("reads", output.path(), Some(output.bytes()), Some(*reads)));
        list.extend(output.side_files().map(|(path, bytes)| file("beside", path, bytes, None)));
    }
    list.extend(files.complete().map(|(kind, path, bytes)| file(kind, path, bytes, None)));
    list
}

/// Describes the steps, in the order in which reads pass them, each with its flags.
fn describe_steps(plan: &Plan) -> Vec<Value> {
    let mut list = Vec::new();
    let mut add = |name: &str, flags: Vec<String>| list.push(json!({ "name": name, "flags": flags }));
    let steps = &plan.steps;
    if let Some(aligning) = &plan.aligning {
        add("align", aligning.command_words());
    }
    if let Some(merging) = &plan.merging {
        add("merge alignments", merging.command_words());
    }
    let filters = |stage| steps.filters.command_words(stage);
    if !filters(FilterStage::BeforeSort).is_empty() {
        add("filter", filters(FilterStage::BeforeSort));
    }
    if let Some(duplicates) = &steps.duplicates {
        add("mark duplicates", duplicates.command_words());
    }
    if let Some(order) = &steps.sort {
        add("sort", vec![order.name().to_string()]);
    }
    if !filters(FilterStage::AfterDuplicates).is_empty() {
        add("filter", filters(FilterStage::AfterDuplicates));
    }
    if let Some(recalibration) = &steps.recalibration {
        add("recalibrate", recalibration.command_words());
    }
    if !filters(FilterStage::Last).is_empty() {
        add("filter", filters(FilterStage::Last));
    }
    list
}
