//! The files of mosdepth: their names, and which of them a run writes.

use crate::options::ReportOptions;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoverageFile {
    PerBase,
    /// Mean or median depth of each region.
    Regions,
    /// Number of bases in each region that reach each threshold.
    Thresholds,
    Quantized,
    /// Length, sum of depths, mean, minimum and maximum depth of each contig.
    Summary,
    /// Cumulative distribution: the fraction of bases with at least each depth.
    GlobalDistribution,
    RegionDistribution,
}

impl CoverageFile {
    pub const ALL: [CoverageFile; 7] = [
        CoverageFile::GlobalDistribution,
        CoverageFile::RegionDistribution,
        CoverageFile::Summary,
        CoverageFile::PerBase,
        CoverageFile::Regions,
        CoverageFile::Quantized,
        CoverageFile::Thresholds,
    ];

    /// Returns the suffix that is appended to the user's prefix to form the file name.
    pub fn file_suffix(self) -> &'static str {
        match self {
            CoverageFile::PerBase => ".per-base.bed.gz",
            CoverageFile::Regions => ".regions.bed.gz",
            CoverageFile::Thresholds => ".thresholds.bed.gz",
            CoverageFile::Quantized => ".quantized.bed.gz",
            CoverageFile::Summary => ".mosdepth.summary.txt",
            CoverageFile::GlobalDistribution => ".mosdepth.global.dist.txt",
            CoverageFile::RegionDistribution => ".mosdepth.region.dist.txt",
        }
    }

    pub fn is_bed(self) -> bool {
        self.file_suffix().ends_with(".bed.gz")
    }

    pub fn is_requested(self, options: &ReportOptions) -> bool {
        match self {
            CoverageFile::PerBase => !options.no_per_base,
            CoverageFile::Regions | CoverageFile::RegionDistribution => options.by.is_some(),
            CoverageFile::Thresholds => !options.thresholds.is_empty(),
            CoverageFile::Quantized => !options.quantize.is_empty(),
            CoverageFile::Summary | CoverageFile::GlobalDistribution => true,
        }
    }
}
