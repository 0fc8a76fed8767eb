//! Sample fingerprints: alleles at common sites, and reads on X and Y.

use std::path::{Path, PathBuf};

use readmill_fingerprint::{Fingerprint, FingerprintTally, Sites};
use readmill_record::Result;
use readmill_stats::TallyReport;

use super::add_on::{AddOn, AddOnNeeds, AddOnSetup, RunningAddOn};
use super::planned_file::PlannedFile;
use super::reported_tally::ReportedTally;
use crate::pipeline::tap::Tap;

/// A request for a sample fingerprint.
#[derive(Clone, Debug)]
pub struct FingerprintRequest {
    /// The output file.
    pub file: PathBuf,
    /// The common sites: a VCF file, or a Picard haplotype map.
    pub sites: PathBuf,
}

impl FingerprintRequest {
    /// The name of the add-on's row in [`ADD_ONS`](super::ADD_ONS).
    pub const NAME: &'static str = "fingerprint";
}

impl AddOn for FingerprintRequest {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn needs(&self) -> AddOnNeeds {
        AddOnNeeds { sample: true, sample_of_read_groups: true, ..AddOnNeeds::default() }
    }

    fn input_files(&self) -> Vec<&Path> {
        vec![&self.sites]
    }

    fn output_files(&self) -> Vec<PlannedFile<'_>> {
        vec![PlannedFile::new("fingerprint", &self.file)]
    }

    /// Returns an empty text: a job already compares the state of all files on the command line,
    /// including the sites.
    fn stage_identity(&self) -> String {
        String::new()
    }

    fn start(&self, setup: &AddOnSetup<'_>) -> Result<Box<dyn RunningAddOn>> {
        let sites = Sites::read(&self.sites, setup.header, setup.ledger)?;
        let tally = FingerprintTally::new(sites, setup.header);
        let report =
            TallyReport::new(tally, |total, names| Fingerprint { sample: names.sample.into(), ..total });
        Ok(Box::new(ReportedTally::new(Tap::MainOutput, report)))
    }
}
