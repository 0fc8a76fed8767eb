//! The pileup of reads that are added in order, as sums per locus.

use std::sync::Arc;

use super::model::{ActivityModel, LocusActivity};
use super::steps::{Neighbour, Stretch, for_each_stretch};
use crate::ContigSpan;
use crate::read::CallerRead;
use crate::reference::Contig;

const MIN_BASE_QUALITY: i8 = 11;
const DELETION_QUALITY: u8 = 30;
/// Soft-clipped bases count if their quality is above this.
const SOFT_CLIP_QUALITY: i8 = 28;
/// Loci that were taken and are kept before their memory is reused.
const MAX_TAKEN_LOCI: usize = 4096;
/// Loci from the next one on whose evidence is summed at a time.
const MAX_SUMMED_LOCI: i32 = 4096;

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
///
/// A read adds its terms to a few thousand loci, and to the next ones when these are reached. So memory
/// does not depend on the length of deletions.
#[derive(Debug)]
pub struct ActivityWindow {
    model: Arc<ActivityModel>,
    contig: Contig,
    /// Position of the first element of `counts`, 1-based.
    origin: i32,
    /// The first locus that was not taken.
    next_locus: i32,
    /// The first locus to which no read has added terms yet.
    horizon: i32,
    /// Reads that reach the horizon, in the order in which they were added.
    far_reads: Vec<Arc<CallerRead>>,
    counts: Vec<LocusCounts>,
    /// For each element of `counts`, a sum for each genotype.
    sums: Vec<f64>,
}

impl ActivityWindow {
    /// Creates a window whose first locus is `start`, 1-based.
    pub fn new(model: Arc<ActivityModel>, contig: Contig, start: i32) -> Self {
        ActivityWindow {
            model,
            contig,
            origin: start,
            next_locus: start,
            horizon: start.saturating_add(MAX_SUMMED_LOCI),
            far_reads: Vec::new(),
            counts: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Adds a read's evidence to its loci. Loci that were taken, and those outside of the contig, are
    /// left out.
    pub fn add_read(&mut self, read: &Arc<CallerRead>) {
        self.add_summed_loci(read);
        if read.span_without_adapter().end >= self.horizon {
            self.far_reads.push(Arc::clone(read));
        }
    }

    /// Adds a read's evidence to its loci from the next one to the horizon.
    fn add_summed_loci(&mut self, read: &CallerRead) {
        let covered = read.span_without_adapter();
        let covered = ContigSpan {
            start: covered.start.max(self.next_locus).max(1),
            end: covered.end.min(self.horizon - 1).min(self.contig.length()),
        };
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
            self.add_stretch(read, &stretch);
            if stretch.beside == Some(Neighbour::SoftClip) {
                let count = || read.count_soft_clips_above(SOFT_CLIP_QUALITY);
                self.add_soft_clips(read, &stretch, *soft_clips.get_or_insert_with(count));
            }
        });
    }

    /// Adds the terms of bases or deletions.
    fn add_stretch(&mut self, read: &CallerRead, stretch: &Stretch) {
        let (at, length) = ((stretch.loci.start - self.origin) as usize, stretch.loci.len());
        let genotypes = self.model.genotypes();
        let sums = self.sums[at * genotypes..][..length * genotypes].chunks_exact_mut(genotypes);
        let loci = self.counts[at..][..length].iter_mut().zip(sums);
        let Some(offset) = stretch.offset else {
            let terms = self.model.terms(true, DELETION_QUALITY);
            return loci.for_each(|(counts, sums)| counts.add_terms(sums, terms));
        };
        let (bases, qualities) = (&read.bases[offset..][..length], &read.qualities[offset..][..length]);
        let expected = &self.contig.bases[stretch.loci.start as usize - 1..];
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
        self.next_locus = self.next_locus.max(start);
    }

    /// Takes the loci up to and including `last`, 1-based, and passes each with its activity. No read
    /// that starts there may follow.
    pub fn take_until(&mut self, last: i32, mut take: impl FnMut(i32, LocusActivity)) {
        while self.next_locus <= last.min(i32::MAX - 1) {
            if self.next_locus >= self.horizon {
                self.advance_horizon();
            }
            take(self.next_locus, self.activity((self.next_locus - self.origin) as usize));
            self.next_locus += 1;
        }
        if self.count_taken() >= MAX_TAKEN_LOCI.min(self.counts.len()) {
            self.release_taken();
        }
    }

    /// Adds the evidence of reads that reach the horizon to the next loci.
    fn advance_horizon(&mut self) {
        self.release_taken();
        self.horizon = self.next_locus.saturating_add(MAX_SUMMED_LOCI);
        let mut reads = std::mem::take(&mut self.far_reads);
        reads.iter().for_each(|read| self.add_summed_loci(read));
        reads.retain(|read| read.span_without_adapter().end >= self.horizon);
        self.far_reads = reads;
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

    /// Returns the number of loci from the origin on that were taken or left out.
    fn count_taken(&self) -> usize {
        (self.next_locus - self.origin) as usize
    }

    /// Forgets the loci that were taken.
    fn release_taken(&mut self) {
        let in_memory = self.count_taken().min(self.counts.len());
        self.counts.drain(..in_memory);
        self.sums.drain(..in_memory * self.model.genotypes());
        self.origin = self.next_locus;
    }
}

#[cfg(test)]
mod tests {
    use readmill_jmath::{CpuMaker, JavaMath};

    use super::*;
    use crate::activity::compute_activity;

    fn model() -> Arc<ActivityModel> {
        Arc::new(ActivityModel::new(JavaMath::of_maker(CpuMaker::Intel).unwrap(), 2))
    }

    fn read_with_deletion(start: i32, deleted: usize, quality: u8) -> Arc<CallerRead> {
        let cigar = format!("9S20M{deleted}D40M").parse().unwrap();
        let (bases, qualities) = (vec![b'C'; 69], vec![quality; 69]);
        Arc::new(CallerRead { start, cigar, bases, qualities, ..CallerRead::default() })
    }

    #[test]
    fn activity_does_not_depend_on_where_the_window_starts() {
        let bases = vec![b'A'; 30_000];
        let contig = Contig::new(0, b"c", bases);
        let reads = Vec::from_iter((0..50).map(|number: i32| {
            let deleted = [1, 4000, 9000, 20_000][number as usize % 4];
            read_with_deletion(1 + 291 * number, deleted, 12 + (number % 29) as u8)
        }));
        let whole = ContigSpan { start: 1, end: 30_000 };
        let activity = compute_activity(&model(), &reads, &contig, whole);
        assert!(activity.iter().filter(|locus| locus.probability > 0.1).count() > 20_000);
        for start in [2, 3000, 8191, 12_345] {
            let part = compute_activity(&model(), &reads, &contig, ContigSpan { start, ..whole });
            assert!(part == activity[start as usize - 1..], "from {start}");
        }
    }

    #[test]
    fn a_long_deletion_takes_little_memory() {
        let bases = vec![b'A'; 300_000];
        let contig = Contig::new(0, b"c", bases);
        let mut window = ActivityWindow::new(model(), contig, 1);
        window.add_read(&read_with_deletion(1000, 250_000, 30));
        let mut active = 0;
        for last in [1100, 299_000] {
            window.take_until(last, |_, activity| active += i32::from(activity.probability > 0.1));
            assert!(window.counts.capacity() <= 4 * MAX_SUMMED_LOCI as usize);
        }
        assert_eq!(active, 250_060);
    }
}
