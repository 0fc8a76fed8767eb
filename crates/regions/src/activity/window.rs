//! The pileup of reads that are added in order, as sums per locus.

use super::model::{ActivityModel, LocusActivity};
use super::steps::{Neighbour, Stretch, for_each_stretch};
use crate::read::CallerRead;
use crate::reference::Contig;

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
    fn add_terms(&mut self, sums: &mut [f64], terms: &[f64]) {
        self.depth += 1;
        if let ([a, b, c], [x, y, z]) = (&mut *sums, terms) {
            (*a, *b, *c) = (*a + x, *b + y, *c + z); // diploid: faster than a loop
        } else {
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
    }

    /// Updates the running mean, as GATK's `RunningAverage` does.
    fn add_soft_clips(&mut self, count: u32) {
        self.soft_clipped_reads += 1;
        let difference = f64::from(count) - self.soft_clip_mean;
        self.soft_clip_mean += difference / f64::from(self.soft_clipped_reads);
    }
}

/// Returns whether a base of this quality counts. As in Java, a quality above 127 is negative.
fn is_used(quality: u8) -> bool {
    quality as i8 >= MIN_BASE_QUALITY
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

    /// Adds a read's evidence to its loci. Loci that were taken, and those outside of the contig, are
    /// left out.
    pub fn add_read(&mut self, read: &CallerRead, contig: Contig<'_>) {
        let mut covered = read.span_without_adapter();
        covered.start = covered.start.max(self.origin + self.taken as i32).max(1);
        covered.end = covered.end.min(contig.length());
        if covered.is_empty() {
            return;
        }
        let loci = (covered.end - self.origin) as usize + 1;
        if loci > self.counts.len() {
            self.counts.resize(loci, LocusCounts::default());
            self.sums.resize(loci * self.model.genotypes(), 0.0);
        }
        let mut soft_clips = None;
        for_each_stretch(read, covered, |stretch| {
            self.add_stretch(read, &stretch, contig);
            if stretch.beside == Some(Neighbour::SoftClip) {
                let count = || read.count_soft_clips_above(SOFT_CLIP_QUALITY);
                self.add_soft_clips(read, &stretch, *soft_clips.get_or_insert_with(count));
            }
        });
    }

    /// Adds the terms of bases or deletions.
    fn add_stretch(&mut self, read: &CallerRead, stretch: &Stretch, contig: Contig<'_>) {
        let (at, length) = ((stretch.loci.start - self.origin) as usize, stretch.loci.len());
        let genotypes = self.model.genotypes();
        let sums = self.sums[at * genotypes..][..length * genotypes].chunks_exact_mut(genotypes);
        let loci = self.counts[at..][..length].iter_mut().zip(sums);
        let Some(offset) = stretch.offset else {
            let terms = self.model.terms(true, DELETION_QUALITY);
            return loci.for_each(|(counts, sums)| counts.add_terms(sums, terms));
        };
        let (bases, qualities) = (&read.bases[offset..][..length], &read.qualities[offset..][..length]);
        let expected = &contig.bases[stretch.loci.start as usize - 1..];
        for (((counts, sums), (base, expected)), &quality) in
            loci.zip(bases.iter().zip(expected)).zip(qualities)
        {
            if is_used(quality) {
                let is_different = stretch.beside.is_some() || base != expected;
                counts.add_terms(sums, self.model.terms(is_different, quality));
            }
        }
    }

    /// Counts the soft-clipped bases of the read at the base beside them.
    fn add_soft_clips(&mut self, read: &CallerRead, stretch: &Stretch, count: u32) {
        let is_used = stretch.offset.is_none_or(|offset| is_used(read.qualities[offset]));
        if is_used {
            self.counts[(stretch.loci.start - self.origin) as usize].add_soft_clips(count);
        }
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
