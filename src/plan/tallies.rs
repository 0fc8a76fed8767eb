//! Tallies in the same pass: the request.

use std::path::{Path, PathBuf};

use readmill_filters::tally::stats::StatsOptions;
use readmill_filters::tally::{TallySpec, stats};
use readmill_qc::MetricSelection;
use readmill_record::Result;
use readmill_report::Limits;

use super::{CoverageRequest, FastqcRequest};

/// Files to write about the reads of the output, and whether to verify that none was lost.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    /// Tallies, and the file of each.
    pub files: Vec<(&'static TallySpec, PathBuf)>,
    /// Options of the statistics, if they are among these.
    pub stats: StatsOptions,
    /// Picard's quality metrics.
    pub qc: Option<QcRequest>,
    /// Coverage, as mosdepth writes it.
    pub coverage: Option<CoverageRequest>,
    /// The modules of FastQC, of the inputs.
    pub fastqc: Option<FastqcRequest>,
    /// Alleles at common sites.
    pub fingerprint: Option<FingerprintRequest>,
    /// The file of what the run did, as JSON.
    pub json: Option<PathBuf>,
    /// The page of what the run did.
    pub page: Option<PageRequest>,
    /// The name of the sample in metrics, if it is not that of the output.
    pub sample: Option<String>,
    /// Fail if reads were lost, doubled or altered by what should not.
    pub verify: bool,
}

impl Tallies {
    /// Whether depths are counted, for quality metrics.
    pub fn count_depths(&self) -> bool {
        self.qc.as_ref().is_some_and(|qc| qc.metrics.needs_order())
    }

    /// Whether anything is counted of reads in their order, by coordinate.
    pub fn count_in_order(&self) -> bool {
        self.coverage.is_some() || self.count_depths()
    }

    /// Whether statistics are counted, of which some tell the order of reads.
    pub fn count_stats(&self) -> bool {
        self.files.iter().any(|(spec, _)| spec.name == stats::SPEC.name)
    }

    /// Whether the run is described, as JSON or as a page.
    pub fn describe(&self) -> bool {
        self.json.is_some() || self.page.is_some()
    }

    /// A request for one tally.
    pub fn only(tally: &'static TallySpec, file: PathBuf) -> Self {
        Tallies { files: vec![(tally, file)], ..Tallies::default() }
    }
}

/// The page of a run.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The file to write.
    pub file: PathBuf,
    /// Limits of its numbers.
    pub limits: Limits,
    /// The file that limits come from.
    pub limits_file: Option<PathBuf>,
}

/// A fingerprint of the sample.
#[derive(Clone, Debug)]
pub struct FingerprintRequest {
    /// The file to write.
    pub file: PathBuf,
    pub sites: PathBuf,
}

/// Quality metrics, in files that are named as those of Picard CollectMultipleMetrics.
#[derive(Clone, Debug)]
pub struct QcRequest {
    prefix: PathBuf,
    /// The programs and their options.
    pub metrics: MetricSelection,
    files: Vec<PathBuf>,
}

impl QcRequest {
    /// A request for these metrics, in files whose names begin with `prefix`.
    pub fn new(prefix: &Path, metrics: MetricSelection) -> Self {
        let file = |ending: &str| {
            let mut name = prefix.as_os_str().to_owned();
            name.push(ending);
            PathBuf::from(name)
        };
        let files = metrics.endings().map(file).collect();
        QcRequest { prefix: prefix.to_path_buf(), metrics, files }
    }

    /// What the names of the files begin with.
    pub fn prefix(&self) -> &Path {
        &self.prefix
    }

    /// The files, each after what its name ends in.
    pub fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.metrics.endings().zip(self.files.iter().map(PathBuf::as_path))
    }

    /// Checks that there is a reference for each program that needs one.
    pub(super) fn check(&self, has_reference: bool) -> Result<()> {
        self.metrics.check_reference(has_reference)
    }
}
