//! What a run reports of its reads beside the output.

use std::path::PathBuf;

use crate::addons::{AddOn, AddOns};

/// What a run reports of its reads beside the output.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// What is counted in the same pass, each with its files.
    pub add_ons: AddOns,
    /// The file that describes the run as JSON.
    pub json: Option<PathBuf>,
    /// The name of the sample in reports, if it is not the name of the output.
    pub sample: Option<String>,
    /// Fail if reads were lost, doubled or changed by a step that must not change them.
    pub verify: bool,
}

impl Reports {
    /// Returns a request for one add-on and nothing else.
    pub fn only(add_on: impl AddOn) -> Self {
        let mut reports = Reports::default();
        reports.add_ons.push(add_on);
        reports
    }

    /// Whether the run is described, as JSON or for an add-on.
    pub fn is_described(&self) -> bool {
        self.json.is_some() || self.add_ons.iter().any(|add_on| add_on.needs().description)
    }

    /// Whether an add-on counts reads in the order of the output.
    pub fn counts_in_order(&self) -> bool {
        self.add_ons.iter().any(|add_on| add_on.order().is_some())
    }
}
