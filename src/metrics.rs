//! The files that metrics go to.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};
use readmill_steps::markdup::apply::Counted;
use readmill_steps::markdup::{DuplicationMetrics, Libraries, Tally};

use crate::plan::Plan;
use crate::target::{Target, check_distinct};

/// Metrics files that are open, so that a name that cannot be written is told at once.
#[derive(Default)]
pub struct MetricsFiles {
    picard: Option<Target>,
    json: Option<Target>,
}

impl MetricsFiles {
    /// Opens those that the plan names.
    pub fn open(plan: &Plan) -> Result<Self> {
        let Some(duplicates) = &plan.steps.duplicates else { return Ok(MetricsFiles::default()) };
        let open = |path: &Option<_>| path.as_deref().map(Target::open).transpose();
        let metrics = &duplicates.metrics;
        let paths = [&metrics.picard, &metrics.json].into_iter().flatten().map(PathBuf::as_path);
        let paths: Vec<&Path> = paths.collect();
        for (n, path) in paths.iter().enumerate() {
            if paths[..n].iter().chain([&&*plan.output.path]).any(|other| is_same(path, other)) {
                return Err(
                    Error::usage("two outputs have one name").hint("give each file a name of its own")
                );
            }
            plan.inputs.iter().try_for_each(|input| check_distinct(input, path))?;
            if path.as_os_str() != "-" && plan.inputs.iter().any(|input| is_same(input, path)) {
                let what = format!("{} is an input, and cannot be an output", path.display());
                return Err(Error::usage(what).hint("give the metrics another name"));
            }
        }
        Ok(MetricsFiles { picard: open(&metrics.picard)?, json: open(&metrics.json)? })
    }

    /// Writes what is asked for, under temporary names.
    pub fn write(&mut self, plan: &Plan, metrics: &DuplicationMetrics) -> Result<()> {
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
        self.picard.iter_mut().chain(&mut self.json).try_for_each(Target::rename)
    }
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
