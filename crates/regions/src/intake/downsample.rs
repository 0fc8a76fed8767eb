//! Downsampling of reads that start at one position.

use readmill_jmath::JavaRandom;

/// Seed of the generator from which GATK draws during a whole run.
pub const GATK_SEED: i64 = 47_382_911;

/// Keeps at most a given number of reads per start: GATK 4.6.2.0 `PositionalDownsampler`.
///
/// The first reads of a run with one start are kept in slots. Read number n beyond them draws from 0 to
/// n - 1, and replaces the read in that slot if there is one. When the run ends, the kept reads are
/// emitted in the order of slots, so replaced reads change the order within the run.
///
/// All samples share the slots. Each contig has a downsampler of its own, but the generator goes on.
///
/// ```
/// use readmill_jmath::JavaRandom;
/// use readmill_regions::intake::{GATK_SEED, PositionalDownsampler};
///
/// let (mut random, mut kept) = (JavaRandom::new(GATK_SEED), Vec::new());
/// let mut downsampler = PositionalDownsampler::new(50);
/// for read in 1..=51 {
///     downsampler.push(read, 1000, &mut random, |read| kept.push(read));
/// }
/// downsampler.finish(|read| kept.push(read));
/// assert_eq!(kept.len(), 50);
/// assert_eq!(kept[36], 51, "the first draw from 51 is 36");
/// ```
#[derive(Clone, Debug)]
pub struct PositionalDownsampler<T> {
    max_reads_per_start: usize,
    start: i32,
    seen: i32,
    slots: Vec<T>,
}

impl<T> PositionalDownsampler<T> {
    /// Creates a downsampler; 0 keeps all reads.
    pub fn new(max_reads_per_start: usize) -> Self {
        PositionalDownsampler { max_reads_per_start, start: 0, seen: 0, slots: Vec::new() }
    }

    /// Returns whether the next read draws a number if it starts at `start`.
    pub fn draws_at(&self, start: i32) -> bool {
        self.max_reads_per_start > 0
            && start == self.start
            && self.slots.len() >= self.max_reads_per_start
    }

    /// Adds the next read of the contig, which starts at `start`. If it ends a run, the reads of that
    /// run are emitted.
    pub fn push(&mut self, read: T, start: i32, random: &mut JavaRandom, mut emit: impl FnMut(T)) {
        if self.max_reads_per_start == 0 {
            return emit(read);
        }
        if start != self.start {
            self.finish(emit);
            self.start = start;
        }
        self.seen += 1;
        if self.slots.len() < self.max_reads_per_start {
            self.slots.push(read);
        } else if let Some(slot) = self.slots.get_mut(random.next_int(self.seen) as usize) {
            *slot = read;
        }
    }

    /// Ends the last run and emits its reads.
    pub fn finish(&mut self, emit: impl FnMut(T)) {
        self.slots.drain(..).for_each(emit);
        self.seen = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn downsample(starts: impl IntoIterator<Item = i32>, max: usize) -> Vec<usize> {
        let (mut random, mut kept) = (JavaRandom::new(GATK_SEED), Vec::new());
        let mut downsampler = PositionalDownsampler::new(max);
        for (read, start) in starts.into_iter().enumerate() {
            downsampler.push(read, start, &mut random, |read| kept.push(read));
        }
        downsampler.finish(|read| kept.push(read));
        kept
    }

    #[test]
    fn a_full_run_draws_nothing() {
        assert_eq!(downsample([7; 50], 50), Vec::from_iter(0..50));
        assert_eq!(downsample([7; 90], 0), Vec::from_iter(0..90));
    }

    #[test]
    fn neighbouring_runs_share_the_generator() {
        // Draws of GATK's generator from 51, 52 and 53: 36, 25 and 46.
        let starts = [7; 52].into_iter().chain([8; 51]);
        let mut expected = Vec::from_iter((0..50).chain(52..102));
        (expected[36], expected[25]) = (50, 51);
        let mut random = JavaRandom::new(GATK_SEED);
        random.next_int(51);
        random.next_int(52);
        let draw = random.next_int(51);
        if draw < 50 {
            expected[50 + draw as usize] = 102;
        }
        assert_eq!(downsample(starts, 50), expected);
    }
}
