//! Flags of add-ons in commands that write reads.
//!
//! Each add-on has a file in this directory: a clap `Args` type with its flags, which implements
//! [`AddOnFlags`]. [`SamePassAddOns`] lists them in help order, and all commands that write reads
//! include it.
//!
//! | file | flags |
//! |---|---|
//! | `tallies` | `--flagstat`, `--stats` and so on |
//! | `qc` | `--qc` and the options of Picard's programs |
//! | `coverage` | `--coverage` and its options |
//! | `fastqc` | `--fastqc` |
//! | `fingerprint` | `--fingerprint` |
//! | `call` | `--call` and its options |
//! | `description` | `--json`, `--report` and its limits |
//! | `limits` | thresholds of metrics in a report |
//!
//! `flags` has the trait.

pub mod call;
pub mod coverage;
pub mod description;
pub mod fastqc;
mod fingerprint;
mod flags;
pub mod limits;
pub mod qc;
mod tallies;

use clap::Args;
use readmill::plan::Reports;
use readmill_record::Result;

use call::SamePassCall;
use coverage::SamePassCoverage;
use description::DescriptionFlags;
use fastqc::FastqcFlags;
use fingerprint::SamePassFingerprint;
use flags::AddOnFlags;
pub use flags::GivenRun;
use qc::SamePassQc;
use tallies::TallyFlags;

/// The flags of all add-ons.
#[derive(Args)]
pub struct SamePassAddOns {
    #[command(flatten)]
    tallies: TallyFlags,
    #[command(flatten)]
    qc: Box<SamePassQc>,
    #[command(flatten)]
    coverage: Box<SamePassCoverage>,
    #[command(flatten)]
    fastqc: FastqcFlags,
    #[command(flatten)]
    fingerprint: SamePassFingerprint,
    #[command(flatten)]
    call: Box<SamePassCall>,
    #[command(flatten)]
    description: DescriptionFlags,
}

impl SamePassAddOns {
    /// Returns the flags of each add-on, in help order.
    fn all(&self) -> [&dyn AddOnFlags; 7] {
        let SamePassAddOns { tallies, qc, coverage, fastqc, fingerprint, call, description } = self;
        [tallies, &**qc, &**coverage, fastqc, fingerprint, &**call, description]
    }

    /// Returns whether no add-on is requested.
    pub fn is_empty(&self) -> bool {
        self.all().iter().all(|flags| flags.is_empty())
    }

    /// Returns the requests for all add-ons.
    pub fn reports(&self, run: &GivenRun<'_>) -> Result<Reports> {
        let mut reports = Reports::default();
        self.all().iter().try_for_each(|flags| flags.add_to(&mut reports, run))?;
        Ok(reports)
    }
}
