//! Tallies in the same pass: the request.

use std::path::PathBuf;

use readmill_filters::tally::TallySpec;

/// Files to write about the reads of the output, and whether to verify that none was lost.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// Tallies, and the file of each.
    pub files: Vec<(&'static TallySpec, PathBuf)>,
    /// The name of the sample in metrics, if it is not that of the output.
    pub sample: Option<String>,
    /// Fail if reads were lost, doubled or altered by what should not.
    pub verify: bool,
}

impl Tallies {
    /// A request for one tally.
    pub fn only(tally: &'static TallySpec, file: PathBuf) -> Self {
        Tallies { files: vec![(tally, file)], ..Tallies::default() }
    }
}
