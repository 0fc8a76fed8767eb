//! The files that metrics go to.

use std::path::Path;

use readmill_record::{Error, Result};
use readmill_steps::markdup::apply::Counted;
use readmill_steps::markdup::{DuplicationMetrics, Libraries, Tally};

use crate::plan::Plan;
use crate::target::Target;

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
        let same = |path: &Path| path.as_os_str() != "-" && path == plan.output.path;
        let paths = [&metrics.picard, &metrics.json];
        if paths.iter().any(|path| path.as_deref().is_some_and(same))
            || metrics.picard.is_some() && metrics.picard == metrics.json
        {
            return Err(
                Error::usage("two outputs have one name").hint("give each file a name of its own")
            );
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
