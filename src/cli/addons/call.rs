//! Flags for variants.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use readmill::addons::{CallIntervals, CallRequest};
use readmill::plan::Reports;
use readmill_caller::CallerOptions;
use readmill_genotypes::vcf::VcfMode;
use readmill_record::{Error, Result};

use super::flags::{AddOnFlags, GivenRun};

#[derive(Args)]
#[command(next_help_heading = "Variants")]
pub struct SamePassCall {
    /// Call variants of the output, as GATK HaplotypeCaller does, and write them to this VCF file
    ///
    /// The reads must be sorted by coordinate, and --reference is needed. The file is that of readmill
    /// call on the output.
    #[arg(long, value_name = "FILE.g.vcf.gz")]
    call: Option<PathBuf>,
    /// Which sites the VCF file has [default: gvcf]
    #[arg(long, value_name = "MODE", requires = "call")]
    call_mode: Option<CallMode>,
    /// Call variants only in these intervals: a region, or a BED, .interval_list or .list file. May be
    /// repeated
    #[arg(long, value_name = "WHERE", requires = "call")]
    call_intervals: Vec<String>,
    /// Do not call variants in these intervals
    #[arg(long, value_name = "WHERE", requires = "call")]
    call_exclude_intervals: Vec<String>,
    /// Extend each interval by N bases on both sides
    #[arg(long, value_name = "N", requires = "call_intervals", default_value_t = 0)]
    call_interval_padding: u32,
}

/// Which sites a VCF file has.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum CallMode {
    /// Variants, and blocks of sites without variants (GATK's -ERC GVCF)
    #[default]
    Gvcf,
    /// Variants, and one record for each site without variants (-ERC BP_RESOLUTION)
    #[value(alias = "bp-resolution")]
    Bp,
    /// Only variants (-ERC NONE)
    Vcf,
}

impl CallMode {
    /// Returns the options of a run with this mode.
    pub fn options(self) -> CallerOptions {
        let mode = match self {
            CallMode::Gvcf => VcfMode::Blocks,
            CallMode::Bp => VcfMode::Sites,
            CallMode::Vcf => VcfMode::Variants,
        };
        CallerOptions::new(mode)
    }
}

impl AddOnFlags for SamePassCall {
    fn is_empty(&self) -> bool {
        self.call.is_none()
    }

    fn add_to(&self, reports: &mut Reports, run: &GivenRun<'_>) -> Result<()> {
        let Some(file) = &self.call else { return Ok(()) };
        if !run.has_reference {
            let what = "--call compares reads with a reference, but there is none";
            return Err(Error::usage(what).hint("give the FASTA file of the reads with --reference"));
        }
        let intervals = CallIntervals {
            include: self.call_intervals.clone(),
            exclude: self.call_exclude_intervals.clone(),
            padding: self.call_interval_padding,
        };
        let options = self.call_mode.unwrap_or_default().options();
        reports.add_ons.push(CallRequest::new(file, options, intervals)?);
        Ok(())
    }
}
