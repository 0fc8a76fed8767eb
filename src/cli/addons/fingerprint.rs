//! Flags for the fingerprint of a sample.

use std::path::PathBuf;

use clap::Args;
use readmill::addons::FingerprintRequest;
use readmill::plan::Reports;
use readmill_record::Result;

use super::flags::{AddOnFlags, GivenRun};

/// A fingerprint in the same pass.
#[derive(Args)]
#[command(next_help_heading = "Fingerprint")]
pub(super) struct SamePassFingerprint {
    /// Write a fingerprint of the sample: allele counts at --fingerprint-sites, and reads on X and
    /// Y
    #[arg(long, value_name = "FILE", requires = "fingerprint_sites")]
    fingerprint: Option<PathBuf>,
    /// File of common variants for --fingerprint
    ///
    /// A VCF file, whose biallelic SNVs are used, or a haplotype map of Picard.
    #[arg(long, value_name = "FILE", requires = "fingerprint")]
    fingerprint_sites: Option<PathBuf>,
}

impl AddOnFlags for SamePassFingerprint {
    fn is_empty(&self) -> bool {
        self.fingerprint.is_none()
    }

    fn add_to(&self, reports: &mut Reports, _: &GivenRun<'_>) -> Result<()> {
        if let (Some(file), Some(sites)) = (self.fingerprint.clone(), self.fingerprint_sites.clone()) {
            reports.add_ons.push(FingerprintRequest { file, sites });
        }
        Ok(())
    }
}
