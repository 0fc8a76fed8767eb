//! Reads that are trimmed on their way in, and the counts of that.

use std::sync::{Mutex, MutexGuard, PoisonError};

use readmill_record::{Error, ReadBatch, Result};
use readmill_trim::filter::Verdict;
use readmill_trim::options::{PolyG, has_two_colours};
use readmill_trim::{TrimOptions, TrimTally, Trimmer, report};
use serde_json::Value;

use super::lane::LaneSource;
use crate::plan;

/// How reads are trimmed, and what was trimmed of those that were linked.
pub struct Trimming {
    options: TrimOptions,
    tally: Mutex<TrimTally>,
}

/// Names of what filters drop, in the order in which they are told.
const DROPPED: [(Verdict, &str); 5] = [
    (Verdict::LowQuality, "reads dropped by --trim: their qualities are low"),
    (Verdict::TooManyN, "reads dropped by --trim: they have too many N"),
    (Verdict::TooShort, "reads dropped by --trim: they are too short"),
    (Verdict::TooLong, "reads dropped by --trim: they are too long"),
    (Verdict::LowComplexity, "reads dropped by --trim: their complexity is low"),
];

impl Trimming {
    /// Nothing trimmed so far.
    pub fn new(wanted: &plan::Trimming) -> Self {
        Trimming { options: wanted.options.clone(), tally: Mutex::default() }
    }

    /// Whether tails of G are cut off reads from here.
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

    /// Trims a batch, and drops templates; returns the counts.
    ///
    /// # Errors
    /// A read cannot be trimmed.
    pub fn trim(
        &self,
        cuts_poly_g: bool,
        reads: &mut ReadBatch,
        blame: impl Fn(Error, &ReadBatch, usize) -> Error,
    ) -> Result<Box<TrimTally>> {
        let lacks_adapter = matches!(&self.options.adapters, Some([None, _]));
        // (Single reads among pairs keep theirs: it was not named because pairs tell it.)
        if reads.segments() == 1 && lacks_adapter && !reads.is_empty() && !reads.is_mixed() {
            return Err(blame(plan::without_adapter(), reads, 0));
        }
        let mut tally = Box::<TrimTally>::default();
        Trimmer::new(&self.options, cuts_poly_g).trim(reads, &mut tally, blame)?;
        Ok(tally)
    }

    /// Adds the counts of a batch.
    pub fn add(&self, more: &TrimTally) {
        *self.tally() += more;
    }

    /// The counts so far.
    pub fn counts(&self) -> TrimTally {
        self.tally().clone()
    }

    fn tally(&self) -> MutexGuard<'_, TrimTally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts, in the fields of fastp.
    pub fn report(&self) -> Value {
        report(&self.options, &self.tally())
    }

    /// How many reads were dropped, by the reason, which is left out where there is none.
    pub fn dropped(&self) -> Vec<(&'static str, u64)> {
        let tally = self.tally();
        let all = DROPPED.iter().map(|&(verdict, name)| (name, tally.reads(verdict)));
        all.filter(|(_, reads)| *reads > 0).collect()
    }
}
