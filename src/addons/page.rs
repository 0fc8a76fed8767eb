//! The HTML page of a run.

use std::path::{Path, PathBuf};

use readmill_record::{Charge, Result};
use readmill_report::{Limits, PageOptions, page_bytes, render_page};
use serde_json::Value;

use super::add_on::{AddOn, AddOnNeeds, AddOnSetup, RunningAddOn};
use super::planned_file::{FileTime, PlannedFile};

/// The page of a run, made of the description that `--json` writes.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The file to write.
    pub file: PathBuf,
    /// Limits of its numbers.
    pub limits: Limits,
    /// The file that limits come from.
    pub limits_file: Option<PathBuf>,
}

impl PageRequest {
    /// The name of its row in the table of add-ons.
    pub const NAME: &'static str = "page";
}

impl AddOn for PageRequest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> AddOnNeeds {
        AddOnNeeds { description: true, ..AddOnNeeds::default() }
    }

    fn input_files(&self) -> Vec<&Path> {
        self.limits_file.iter().map(PathBuf::as_path).collect()
    }

    fn output_files(&self) -> Vec<PlannedFile<'_>> {
        let time = FileTime::AfterDescription;
        vec![PlannedFile { time, ..PlannedFile::new("page", &self.file) }]
    }

    /// Returns nothing: the page does not change what stages write.
    fn stage_identity(&self) -> String {
        String::new()
    }

    fn start(&self, _: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
        Ok(Box::new(RunningPage { limits: self.limits.clone() }))
    }
}

/// Makes the page when the run is described.
struct RunningPage {
    limits: Limits,
}

impl RunningAddOn for RunningPage {
    fn text_of_run(&self, run: &Value, charge: &mut Charge) -> Result<Option<Vec<u8>>> {
        charge.grow_to(charge.bytes() + page_bytes(run))?;
        let options = PageOptions { limits: self.limits.clone(), ..PageOptions::default() };
        Ok(Some(render_page(&[run], &options).into_bytes()))
    }
}
