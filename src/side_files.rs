//! The files beside the output: metrics, and the recalibration table.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};
use readmill_steps::bqsr;
use readmill_steps::markdup::apply::Counted;
use readmill_steps::markdup::{DuplicationMetrics, Libraries, Tally};

use crate::plan::Plan;
use crate::target::{Target, check_distinct, with_suffix};

/// The files that are open, so that a name that cannot be written is told at once.
#[derive(Default)]
pub struct SideFiles {
    picard: Option<Target>,
    json: Option<Target>,
    table: Option<Target>,
    after: Option<Target>,
}

impl SideFiles {
    /// Opens those that the plan names.
    pub fn open(plan: &Plan) -> Result<Self> {
        let open = |path: Option<&Path>| path.map(Target::open).transpose();
        let [picard, json, table, after] = paths(plan);
        let (picard, json) = (open(picard)?, open(json)?);
        Ok(SideFiles { picard, json, table: open(table)?, after: open(after)? })
    }

    /// Writes a recalibration table, that of the reads as they are or as they leave, if it is asked for, under a
    /// temporary name.
    pub fn write_table(&mut self, report: &bqsr::Report, after: bool) -> Result<()> {
        let target = if after { &mut self.after } else { &mut self.table };
        let Some(target) = target else { return Ok(()) };
        target.write(&report.text())?;
        target.sync()
    }

    /// Writes the metrics that are asked for, under temporary names.
    pub fn write_metrics(&mut self, plan: &Plan, metrics: &DuplicationMetrics) -> Result<()> {
        // Report tools look for the input behind these words. No date: equal runs write equal bytes.
        let input = plan.inputs.first().and_then(|path| path.file_name());
        let input = input.map_or("-".into(), |name| name.to_string_lossy());
        let command = format!("MarkDuplicates INPUT={input} ({})", plan.command_line());
        if let Some(target) = &mut self.picard {
            let version = concat!("Written by readmill ", env!("CARGO_PKG_VERSION"));
            target.write(&metrics.to_picard(&command, version))?;
            target.sync()?;
        }
        if let Some(target) = &mut self.json {
            target.write(metrics.to_json(&command).as_bytes())?;
            target.sync()?;
        }
        Ok(())
    }

    /// Gives complete files their names.
    pub fn rename(&mut self) -> Result<()> {
        let targets = [&mut self.picard, &mut self.json, &mut self.table, &mut self.after];
        targets.into_iter().flatten().try_for_each(Target::rename)
    }
}

/// Metrics, metrics as JSON, and the tables before and after.
fn paths(plan: &Plan) -> [Option<&Path>; 4] {
    let metrics = plan.steps.duplicates.as_ref().map(|duplicates| &duplicates.metrics);
    let training = plan.steps.recalibration.as_ref().and_then(|it| it.training());
    let picard = metrics.and_then(|metrics| metrics.picard.as_deref());
    let json = metrics.and_then(|metrics| metrics.json.as_deref());
    let table = training.and_then(|training| training.table.as_deref());
    [picard, json, table, training.and_then(|training| training.after.as_deref())]
}

/// Refuses names that make one output overwrite another, or an input. (The main output may replace an input.)
pub fn check(plan: &Plan) -> Result<()> {
    let main = plan.output.as_ref().map(|output| &*output.path);
    let recalibration = plan.steps.recalibration.iter().flat_map(|it| it.inputs());
    let mut read: Vec<PathBuf> = recalibration.cloned().collect();
    let training = plan.steps.recalibration.iter().filter_map(|it| it.training());
    training.for_each(|it| read.extend([".fai", ".gzi"].map(|index| with_suffix(&it.reference, index))));
    let beside: Vec<&Path> = paths(plan).into_iter().flatten().collect();
    for (n, path) in main.into_iter().chain(beside.iter().copied()).enumerate() {
        let is_main = n == 0 && main.is_some();
        plan.inputs.iter().try_for_each(|input| check_distinct(input, path))?;
        let mut reads = plan.inputs.iter().filter(|_| !is_main).chain(&read);
        reads.try_for_each(|input| spare(input, path))?;
    }
    for (n, path) in beside.iter().enumerate() {
        if main.into_iter().chain(beside[..n].iter().copied()).any(|other| is_same(path, other)) {
            return Err(
                Error::usage("two outputs have one name").hint("give each file a name of its own")
            );
        }
    }
    Ok(())
}

/// Refuses an output that would overwrite an input, or whose temporary file would.
pub fn spare(input: &Path, output: &Path) -> Result<()> {
    check_distinct(input, output)?;
    if output.as_os_str() != "-" && is_same(input, output) {
        let what = format!("{} is an input, and cannot be an output", output.display());
        return Err(Error::usage(what).hint("give the output another name"));
    }
    Ok(())
}

/// Whether two paths are one: the same words, or one file.
fn is_same(a: &Path, b: &Path) -> bool {
    let file = |path: &Path| {
        let meta = std::fs::metadata(path).ok().filter(|meta| meta.is_file())?;
        Some((meta.dev(), meta.ino()))
    };
    let spelled = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?))
    };
    a == b
        || spelled(a).is_some_and(|a| Some(a) == spelled(b))
        || file(a).is_some_and(|a| Some(a) == file(b))
}

/// The metrics of what was judged and applied.
pub fn duplication(libraries: &Libraries, tally: &Tally, counted: &Counted) -> DuplicationMetrics {
    let mut counts = tally.libraries.clone();
    counted.add_to(&mut counts);
    let rows = libraries.names().iter().enumerate().filter_map(|(number, name)| {
        let counts = counts.get(number).cloned().unwrap_or_default();
        let listed = libraries.is_listed(number) || counts != Default::default();
        listed.then(|| (name.clone(), counts))
    });
    DuplicationMetrics { libraries: rows.collect(), sets: tally.sizes.clone() }
}
