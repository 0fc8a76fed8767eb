//! Flags for coverage. Each name is `coverage-` followed by the name of mosdepth's option.

use std::path::{Path, PathBuf};

use clap::Args;
use readmill::addons::CoverageRequest;
use readmill::plan::Reports;
use readmill_coverage::{Quantize, ReadOptions, ReportOptions};
use readmill_record::{Error, Result};

use super::flags::{AddOnFlags, GivenRun};

#[derive(Args)]
#[command(next_help_heading = "Coverage")]
pub struct SamePassCoverage {
    /// Write the coverage of the output as mosdepth files (PREFIX.per-base.bed.gz and so on)
    #[arg(long, value_name = "PREFIX")]
    coverage: Option<PathBuf>,
    #[command(flatten)]
    options: CoverageOptions,
}

impl AddOnFlags for SamePassCoverage {
    fn is_empty(&self) -> bool {
        self.coverage.is_none()
    }

    fn add_to(&self, reports: &mut Reports, _: &GivenRun<'_>) -> Result<()> {
        let request = self.options.build_request(self.coverage.as_deref())?;
        request.into_iter().for_each(|request| reports.add_ons.push(request));
        Ok(())
    }
}

/// Options of coverage. The defaults are those of mosdepth.
#[derive(Args, Debug, Default, PartialEq)]
#[command(next_help_heading = "Coverage")]
pub struct CoverageOptions {
    /// Also write the mean depth of the regions in a BED file, or of windows of N bases
    #[arg(long, value_name = "BED|WINDOW")]
    coverage_by: Option<String>,
    /// For each region, count the bases that reach these depths (comma-separated list)
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = clap::value_parser!(i32).range(0..))]
    coverage_thresholds: Vec<i32>,
    /// Write one line for adjacent bases whose depths are in the same bin
    ///
    /// SEGMENTS lists the limits of the bins, such as 0:1:4:100:
    #[arg(long, value_name = "SEGMENTS")]
    coverage_quantize: Option<String>,
    /// Do not write the depth of each base
    #[arg(long)]
    coverage_no_per_base: bool,
    /// Count deletions as covered, and count bases in the overlap of mates twice
    #[arg(long)]
    coverage_fast_mode: bool,
    /// Write the median depth of regions instead of the mean
    #[arg(long)]
    coverage_use_median: bool,
    /// Count only reads with at least this mapping quality [default: 0]
    #[arg(long, value_name = "N")]
    coverage_mapq: Option<u8>,
    /// Do not count reads with any of these flags [default: 1796]
    #[arg(long, value_name = "FLAGS")]
    coverage_flag: Option<u16>,
    /// Count only reads with any of these flags [default: all reads]
    #[arg(long, value_name = "FLAGS")]
    coverage_include_flag: Option<u16>,
    /// Count only reads of read groups with these IDs [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    coverage_read_groups: Vec<String>,
}

impl CoverageOptions {
    /// Returns the request for coverage in files whose names begin with `prefix`, or `None` without
    /// a prefix.
    ///
    /// # Errors
    /// Fails if options are given without a prefix, or if they contradict each other.
    pub fn build_request(&self, prefix: Option<&Path>) -> Result<Option<CoverageRequest>> {
        let Some(prefix) = prefix else {
            if *self != CoverageOptions::default() {
                let what = "coverage options are given without --coverage";
                return Err(Error::usage(what).hint("add --coverage, or omit these options"));
            }
            return Ok(None);
        };
        let default = ReadOptions::default();
        let reads = ReadOptions {
            min_mapq: self.coverage_mapq.unwrap_or(default.min_mapq),
            exclude_flags: self.coverage_flag.unwrap_or(default.exclude_flags),
            include_flags: self.coverage_include_flag.unwrap_or(default.include_flags),
            read_groups: self.coverage_read_groups.iter().map(|it| it.as_bytes().to_vec()).collect(),
            fast_mode: self.coverage_fast_mode,
        };
        let quantize = self.coverage_quantize.as_deref().map(Quantize::parse).transpose()?;
        let report = ReportOptions {
            no_per_base: self.coverage_no_per_base,
            by: None,
            use_median: self.coverage_use_median,
            thresholds: self.coverage_thresholds.clone(),
            quantize: quantize.unwrap_or_default(),
        };
        CoverageRequest::new(prefix, reads, report, self.coverage_by.as_deref()).map(Some)
    }
}
