//! The HTML page of a run.

use std::path::PathBuf;

use readmill_record::{Charge, Result};
use readmill_report::{PageOptions, page_bytes, render_page};
use serde_json::Value;

use super::add_on::{AddOn, AddOnNeeds, AddOnSetup, RunningAddOn};
use super::planned_file::{FileTime, PlannedFile};

/// A request for the HTML page of a run, made from the description that `--json` writes.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The output file.
    pub file: PathBuf,
}

impl PageRequest {
    /// The name of the add-on's row in [`ADD_ONS`](super::ADD_ONS).
    pub const NAME: &'static str = "page";
}

impl AddOn for PageRequest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> AddOnNeeds {
        AddOnNeeds { description: true, ..AddOnNeeds::default() }
    }

    fn output_files(&self) -> Vec<PlannedFile<'_>> {
        let time = FileTime::AfterDescription;
        vec![PlannedFile { time, ..PlannedFile::new("page", &self.file) }]
    }

    /// Returns an empty text: the page does not affect what stages write.
    fn stage_identity(&self) -> String {
        String::new()
    }

    fn start(&self, _: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
        Ok(Box::new(RunningPage))
    }
}

/// Creates the page from the description of the run.
struct RunningPage;

impl RunningAddOn for RunningPage {
    fn text_of_run(&self, run: &Value, charge: &mut Charge) -> Result<Option<Vec<u8>>> {
        charge.grow_to(charge.bytes() + page_bytes(run))?;
        Ok(Some(render_page(&[run], &PageOptions::default()).into_bytes()))
    }
}
