//! Trims reads before they are aligned, by fastp's rules, and adds the counts of all batches.

use std::sync::{Mutex, MutexGuard, PoisonError};

use readmill_record::{Error, ReadBatch, Result};
use readmill_trim::filter::FilterVerdict;
use readmill_trim::options::{PolyG, has_two_colours};
use readmill_trim::{TrimOptions, TrimTally, Trimmer, build_report};
use serde_json::Value;

use super::lane::LaneSource;
use crate::plan;

pub struct Trimming {
    options: TrimOptions,
    tally: Mutex<TrimTally>,
}

/// The reasons for dropping reads and their names in the summary, in summary order.
const DROP_REASONS: [(FilterVerdict, &str); 5] = [
    (FilterVerdict::LowQuality, "reads dropped by --trim (low quality)"),
    (FilterVerdict::TooManyN, "reads dropped by --trim (too many N)"),
    (FilterVerdict::TooShort, "reads dropped by --trim (too short)"),
    (FilterVerdict::TooLong, "reads dropped by --trim (too long)"),
    (FilterVerdict::LowComplexity, "reads dropped by --trim (low complexity)"),
];

impl Trimming {
    pub fn new(wanted: &plan::Trimming) -> Self {
        Trimming { options: wanted.options.clone(), tally: Mutex::default() }
    }

    /// Returns whether trailing Gs are removed from the reads of `source`. By default, this depends
    /// on the instrument in the first read name: two-colour instruments write G for missing signal.
    pub fn cuts_poly_g(&self, source: &LaneSource) -> bool {
        match self.options.poly_g {
            PolyG::Cut => true,
            PolyG::Keep => false,
            PolyG::ByName => match source {
                LaneSource::Fastq(claims) => claims.first_name().is_some_and(has_two_colours),
                LaneSource::Records(unaligned) => {
                    unaligned.first_name().is_some_and(|name| has_two_colours(&name))
                }
            },
        }
    }

    /// Trims the reads of a batch, and drops templates. Returns the counts, which are added to the
    /// totals when the batch is linked.
    ///
    /// # Errors
    /// Fails if a read cannot be trimmed, or if reads are unpaired and no adapter was given.
    pub fn trim_batch(
        &self,
        cuts_poly_g: bool,
        reads: &mut ReadBatch,
        blame: impl Fn(Error, &ReadBatch, usize) -> Error,
    ) -> Result<Box<TrimTally>> {
        let lacks_adapter = matches!(&self.options.adapters, Some([None, _]));
        // Single reads among pairs need no given adapter, because it is detected from the pairs.
        if reads.segments() == 1 && lacks_adapter && !reads.is_empty() && !reads.is_mixed() {
            return Err(blame(plan::missing_adapter_error(), reads, 0));
        }
        let mut tally = Box::<TrimTally>::default();
        Trimmer::new(&self.options, cuts_poly_g).trim_batch(reads, &mut tally, blame)?;
        Ok(tally)
    }

    pub fn add_tally(&self, more: &TrimTally) {
        *self.lock_tally() += more;
    }

    pub fn counts(&self) -> TrimTally {
        self.lock_tally().clone()
    }

    fn lock_tally(&self) -> MutexGuard<'_, TrimTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn to_fastp_report(&self) -> Value {
        build_report(&self.options, &self.lock_tally())
    }

    /// Returns the number of reads dropped for each reason, for the summary. Omits reasons without
    /// reads.
    pub fn dropped_by_reason(&self) -> Vec<(&'static str, u64)> {
        let tally = self.lock_tally();
        let all = DROP_REASONS.iter().map(|&(verdict, name)| (name, tally.reads_with_verdict(verdict)));
        all.filter(|(_, reads)| *reads > 0).collect()
    }
}
