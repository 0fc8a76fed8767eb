//! The reports of a run, in addition to its output.

use std::path::PathBuf;

use crate::addons::{AddOn, AddOns};

/// Fields of the JSON description that say how the run is judged (`--assay`, `--qc-thresholds`).
/// `readmill report` uses them if its command line has no others.
#[derive(Clone, Debug, Default)]
pub struct JudgementFields {
    /// The name of the assay. `None` if it was not given.
    pub assay: Option<String>,
    /// The thresholds that replace the defaults of the assay, by metric. `Null` if there are none.
    pub thresholds: serde_json::Value,
    /// The file that contains the thresholds, so that no output overwrites it.
    pub file: Option<PathBuf>,
}

/// The reports of a run, in addition to its output.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// The add-ons that count reads in the same pass, each with its files.
    pub add_ons: AddOns,
    /// The file for the JSON description of the run (`--json`).
    pub json: Option<PathBuf>,
    /// How the run is judged: fields that are copied to the JSON description.
    pub judgement: JudgementFields,
    /// The sample name in reports. `None` means the name of the output.
    pub sample: Option<String>,
    /// Fail if reads were lost, duplicated, or changed by a step that must not change them
    /// (`--verify`).
    pub verify: bool,
}

impl Reports {
    /// Returns a request for one add-on and nothing else.
    pub fn only(add_on: impl AddOn) -> Self {
        let mut reports = Reports::default();
        reports.add_ons.push(add_on);
        reports
    }

    /// Returns whether a description of the run is needed, for `--json` or for an add-on.
    pub fn is_described(&self) -> bool {
        self.json.is_some() || self.add_ons.iter().any(|add_on| add_on.needs().description)
    }

    /// Returns whether an add-on counts reads in output order.
    pub fn counts_in_order(&self) -> bool {
        self.add_ons.iter().any(|add_on| add_on.order().is_some())
    }
}
