//! The pileup of reads that are added in order, as sums per locus.

use super::model::{ActivityModel, LocusActivity};
use super::steps::{Deviation, for_each_deviation};
use crate::read::CallerRead;
use crate::reference::ReferenceWindow;

const MIN_BASE_QUALITY: i8 = 11;
const DELETION_QUALITY: u8 = 30;
/// Soft-clipped bases count if their quality is above this.
const SOFT_CLIP_QUALITY: i8 = 28;
/// Consumed loci that are kept before their memory is reused.
const MAX_CONSUMED_LOCI: usize = 4096;

/// Counts of a locus beside its sums of terms.
#[derive(Clone, Copy, Debug, Default)]
struct LocusCounts {
    /// Bases and deletions whose terms were added.
    depth: u32,
    soft_clipped_reads: u32,
    soft_clip_mean: f64,
}

impl LocusCounts {
    /// Updates the running mean, as GATK's `RunningAverage` does.
    fn add_soft_clips(&mut self, count: u32) {
        self.soft_clipped_reads += 1;
        let difference = f64::from(count) - self.soft_clip_mean;
        self.soft_clip_mean += difference / f64::from(self.soft_clipped_reads);
    }
}

/// Evidence at the loci that reads cover, from the first locus that was not taken yet.
///
/// GATK walks over loci and adds the terms of all reads at each. Here each read adds its terms to all
/// its loci, which makes the same sums: reads come in the order in which a pileup lists them.
///
/// ```text
/// add_read:    reads in order of start ──►  sums of loci  first … last
/// take_until:  loci left of the next read's start are complete ──►  LocusActivity of each
/// ```
#[derive(Debug)]
pub struct ActivityWindow<'m> {
    model: &'m ActivityModel,
    /// Position of the first element of `counts`, 1-based.
    origin: i32,
    /// Loci of `counts` that were taken.
    taken: usize,
    counts: Vec<LocusCounts>,
    /// For each element of `counts`, a sum for each genotype.
    sums: Vec<f64>,
}

impl<'m> ActivityWindow<'m> {
    /// Creates a window whose first locus is `start`, 1-based.
    pub fn new(model: &'m ActivityModel, start: i32) -> Self {
        ActivityWindow { model, origin: start, taken: 0, counts: Vec::new(), sums: Vec::new() }
    }

    /// Adds a read's evidence to its loci. Loci that were taken, and those outside of `reference`, are
    /// left out.
    pub fn add_read(&mut self, read: &CallerRead, reference: ReferenceWindow<'_>) {
        let mut covered = read.span_without_adapter();
        covered.start = covered.start.max(self.origin + self.taken as i32).max(reference.start);
        let reference_end = i64::from(reference.start) + reference.bases.len() as i64 - 1;
        covered.end = i64::from(covered.end).min(reference_end) as i32;
        if covered.is_empty() {
            return;
        }
        let loci = (covered.end - self.origin) as usize + 1;
        if loci > self.counts.len() {
            self.counts.resize(loci, LocusCounts::default());
            self.sums.resize(loci * self.model.genotypes(), 0.0);
        }
        let bases = reference.bases_from(covered.start);
        let mut soft_clips = None;
        for_each_deviation(read, covered, bases, |locus, quality, deviation| {
            let quality = if deviation == Deviation::Deletion { DELETION_QUALITY } else { quality };
            if (quality as i8) < MIN_BASE_QUALITY {
                return;
            }
            let at = (locus - self.origin) as usize;
            let genotypes = self.model.genotypes();
            let terms = self.model.terms(deviation != Deviation::None, quality);
            let sums = &mut self.sums[at * genotypes..][..genotypes];
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
            self.counts[at].depth += 1;
            if deviation == Deviation::NextToSoftClip {
                let count =
                    *soft_clips.get_or_insert_with(|| read.count_soft_clips_above(SOFT_CLIP_QUALITY));
                self.counts[at].add_soft_clips(count);
            }
        });
    }

    /// Leaves out the loci left of `start`, 1-based.
    pub fn skip_to(&mut self, start: i32) {
        let end = (i64::from(start) - i64::from(self.origin)).max(0) as usize;
        self.taken = self.taken.max(end);
    }

    /// Takes the loci up to and including `last`, 1-based, and passes each with its activity. No read
    /// that starts there may follow.
    pub fn take_until(&mut self, last: i32, mut take: impl FnMut(i32, LocusActivity)) {
        let end = (i64::from(last) - i64::from(self.origin) + 1).max(0) as usize;
        while self.taken < end {
            let activity = self.activity(self.taken);
            take(self.origin + self.taken as i32, activity);
            self.taken += 1;
        }
        if self.taken >= MAX_CONSUMED_LOCI.min(self.counts.len()) {
            self.release_taken();
        }
    }

    fn activity(&self, at: usize) -> LocusActivity {
        let Some(counts) = self.counts.get(at).filter(|counts| counts.depth > 0) else {
            return LocusActivity::default();
        };
        let genotypes = self.model.genotypes();
        let sums = &self.sums[at * genotypes..][..genotypes];
        LocusActivity {
            probability: self.model.probability(sums, counts.depth),
            soft_clip_mean: counts.soft_clip_mean,
        }
    }

    /// Forgets the loci that were taken.
    fn release_taken(&mut self) {
        let in_memory = self.taken.min(self.counts.len());
        self.counts.drain(..in_memory);
        self.sums.drain(..in_memory * self.model.genotypes());
        self.origin += self.taken as i32;
        self.taken = 0;
    }
}
