//! Tallies in the same pass: the request.

use std::path::{Path, PathBuf};

use readmill_filters::tally::TallySpec;
use readmill_qc::{Options, Program};

/// Files to write about the reads of the output, and whether to verify that none was lost.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// Tallies, and the file of each.
    pub files: Vec<(&'static TallySpec, PathBuf)>,
    /// Picard's quality metrics.
    pub qc: Option<QcRequest>,
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

/// Quality metrics, in files that are named as those of Picard CollectMultipleMetrics.
#[derive(Clone, Debug)]
pub struct QcRequest {
    prefix: PathBuf,
    /// The programs and their options.
    pub options: Options,
    files: Vec<PathBuf>,
}

impl QcRequest {
    /// A request for these metrics, in files whose names begin with `prefix`.
    pub fn new(prefix: &Path, options: Options) -> Self {
        let file = |program: &Program| {
            let mut name = prefix.as_os_str().to_owned();
            name.push(program.ending());
            PathBuf::from(name)
        };
        let files = options.programs.iter().map(file).collect();
        QcRequest { prefix: prefix.to_path_buf(), options, files }
    }

    /// What the names of the files begin with.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// Each program with its file.
    pub fn files(&self) -> impl Iterator<Item = (Program, &Path)> {
        self.options.programs.iter().copied().zip(self.files.iter().map(PathBuf::as_path))
    }
}
