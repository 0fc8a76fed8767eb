//! The request for coverage: which reads are counted, and which files are written.

use std::path::{Path, PathBuf};

use readmill_coverage::{CoverageFile, ReadOptions, RegionChoice, ReportOptions};
use readmill_record::{Error, Result};

/// A request for coverage, in files with mosdepth's names.
#[derive(Clone, Debug)]
pub struct CoverageRequest {
    pub(super) prefix: PathBuf,
    pub(super) reads: ReadOptions,
    pub(super) report: ReportOptions,
    /// The BED file of the regions, unless they are windows.
    pub(super) bed: Option<PathBuf>,
    /// The files and their indexes, each with its file name suffix.
    pub(super) files: Vec<(&'static str, PathBuf)>,
}

/// The file name suffixes of the indexes.
const INDEX: [(CoverageFile, &str); 4] = [
    (CoverageFile::PerBase, ".per-base.bed.gz.csi"),
    (CoverageFile::Regions, ".regions.bed.gz.csi"),
    (CoverageFile::Quantized, ".quantized.bed.gz.csi"),
    (CoverageFile::Thresholds, ".thresholds.bed.gz.csi"),
];

/// Returns the file name suffix of a file's index, if it has one.
pub(super) fn index_ending(file: CoverageFile) -> Option<&'static str> {
    INDEX.iter().find(|(which, _)| *which == file).map(|(_, ending)| *ending)
}

impl CoverageRequest {
    /// The name of the add-on's row in [`ADD_ONS`](crate::addons::ADD_ONS).
    pub const NAME: &'static str = "coverage";

    /// Creates a request for coverage, in files whose names begin with `prefix`. `by` is a number
    /// of bases or a BED file.
    ///
    /// # Errors
    /// Fails if the options contradict each other, or if no file name can begin with `prefix`.
    pub fn new(
        prefix: &Path,
        reads: ReadOptions,
        mut report: ReportOptions,
        by: Option<&str>,
    ) -> Result<Self> {
        if prefix.as_os_str() == "-" || prefix.file_name().is_none() {
            let what = "coverage is several files, which need a name prefix";
            return Err(Error::usage(what).hint("give a prefix such as out/sample"));
        }
        let window = by.filter(|by| !by.is_empty() && by.bytes().all(|byte| byte.is_ascii_digit()));
        let bed = by.filter(|_| window.is_none()).map(PathBuf::from);
        report.by = match (window.map(str::parse), &bed) {
            (Some(Ok(window)), _) if window > 0 => Some(RegionChoice::Window(window)),
            (Some(_), _) => {
                let what = "the window size must be from 1 to 4294967295 bases";
                return Err(
                    Error::usage(what).hint("give --coverage-by a number of bases or a BED file")
                );
            }
            (None, Some(_)) => Some(RegionChoice::Bed),
            (None, None) => None,
        };
        if report.by.is_none() && !report.thresholds.is_empty() {
            let what = "coverage thresholds apply to regions, but no regions are given";
            return Err(
                Error::usage(what).hint("add --coverage-by with a BED file or a number of bases")
            );
        }
        if report.by.is_none() && report.use_median {
            let what = "median coverage applies to regions, but no regions are given";
            return Err(
                Error::usage(what).hint("add --coverage-by with a BED file or a number of bases")
            );
        }
        report.thresholds.sort_unstable();
        let name = |ending: &'static str| {
            let mut name = prefix.as_os_str().to_owned();
            name.push(ending);
            (ending, PathBuf::from(name))
        };
        let wanted = CoverageFile::ALL.into_iter().filter(|file| file.is_requested(&report));
        let files = wanted
            .flat_map(|file| std::iter::once(file.file_suffix()).chain(index_ending(file)).map(name));
        let files = files.collect();
        Ok(CoverageRequest { prefix: prefix.to_path_buf(), reads, report, bed, files })
    }
}
