//! The smoothed activity of a contig, cut into active and inactive regions.

use std::collections::VecDeque;

use readmill_jmath::JavaMath;

use crate::ContigSpan;
use crate::activity::LocusActivity;

/// Positions at each side of a locus that its activity reaches.
const REACH: i32 = 50;
/// Standard deviation of the kernel.
const SIGMA: f64 = 17.0;
/// Mean number of soft-clipped bases above which a locus weighs more.
const MIN_SOFT_CLIP_MEAN: f64 = 6.0;
/// Largest number of soft-clipped bases that count.
const MAX_SOFT_CLIPS: i32 = 50 + REACH;
const ACTIVE_PROBABILITY: f64 = 0.002;
const MIN_REGION_LENGTH: usize = 50;
const MAX_REGION_LENGTH: usize = 300;
/// Positions that a profile must hold before a region is cut from it.
const POSITIONS_TO_CUT: usize = MAX_REGION_LENGTH + MAX_SOFT_CLIPS as usize;

/// A region that was cut from a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutRegion {
    /// Its positions.
    pub span: ContigSpan,
    /// Whether the sample may differ from the reference in it.
    pub is_active: bool,
}

/// Smooths the activity of consecutive loci and cuts it into regions: GATK 4.6.2.0
/// `BandPassActivityProfile`.
///
/// An active locus adds a Gaussian of ±50 positions to the profile; next to long soft clips it is added
/// several times. The start of the profile decides whether the next region is active. It ends where the
/// activity changes, or after 300 positions; an active one then ends at the lowest local minimum after
/// at least 50 positions.
///
/// Regions are cut as soon as the profile reaches 400 positions, before the next locus is added. That
/// locus may still add to position 301, with which a minimum at position 300 is compared. So a later cut
/// could have another result.
///
/// ```
/// use readmill_jmath::{CpuMaker, JavaMath};
/// use readmill_regions::ContigSpan;
/// use readmill_regions::activity::LocusActivity;
/// use readmill_regions::profile::{CutRegion, RegionCutter};
///
/// let math = JavaMath::of_maker(CpuMaker::Intel)?;
/// let (mut cutter, mut regions) = (RegionCutter::new(math, 1000), Vec::new());
/// for locus in 1..=1000 {
///     let probability = if locus == 500 { 1.0 } else { 0.0 };
///     cutter.add(locus, LocusActivity { probability, soft_clip_mean: 0.0 }, &mut regions);
/// }
/// cutter.finish(&mut regions);
/// let active = Vec::from_iter(regions.iter().filter(|region| region.is_active));
/// assert_eq!(active, [&CutRegion { span: ContigSpan { start: 463, end: 537 }, is_active: true }]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RegionCutter {
    contig_length: i32,
    kernel: Vec<f64>,
    /// Position of the first probability, 1-based.
    start: i32,
    /// The last locus that was added.
    last_locus: i32,
    probabilities: VecDeque<f64>,
}

impl RegionCutter {
    /// Creates an empty profile of a contig.
    pub fn new(math: JavaMath, contig_length: i32) -> Self {
        let kernel = make_kernel(math);
        RegionCutter { contig_length, kernel, start: 1, last_locus: 0, probabilities: VecDeque::new() }
    }

    /// Adds the next locus of the contig, 1-based, and appends the regions that are cut before. If loci
    /// were left out, everything up to the last locus becomes regions.
    pub fn add(&mut self, locus: i32, activity: LocusActivity, regions: &mut Vec<CutRegion>) {
        if locus != self.last_locus + 1 {
            self.finish(regions);
        }
        while self.probabilities.len() >= POSITIONS_TO_CUT {
            regions.push(self.cut_region());
        }
        if self.probabilities.is_empty() {
            self.start = locus;
        }
        self.last_locus = locus;
        if activity.probability > 0.0 {
            self.add_active(locus, activity);
        } else if (locus - self.start) as usize == self.probabilities.len() {
            self.probabilities.push_back(0.0);
        }
    }

    /// Ends the contig or interval: cuts the rest of the profile up to the last locus.
    pub fn finish(&mut self, regions: &mut Vec<CutRegion>) {
        if self.probabilities.is_empty() {
            return;
        }
        self.probabilities.truncate((self.last_locus - self.start) as usize + 1);
        while !self.probabilities.is_empty() {
            regions.push(self.cut_region());
        }
    }

    /// Adds the kernel around a locus. GATK adds it again for each position that the soft clips reach,
    /// always around the locus itself; repeated addition does not give the bits of a product.
    fn add_active(&mut self, locus: i32, activity: LocusActivity) {
        let mut times = 1;
        if activity.soft_clip_mean > MIN_SOFT_CLIP_MEAN {
            let reach = (activity.soft_clip_mean as i32).min(MAX_SOFT_CLIPS);
            let reached = ContigSpan { start: locus, end: locus }.pad(reach, self.contig_length);
            times = reached.len();
        }
        let first = (locus - REACH).max(self.start);
        let last = (locus + REACH).min(self.contig_length);
        let positions = (last - self.start) as usize + 1;
        if positions > self.probabilities.len() {
            self.probabilities.resize(positions, 0.0);
        }
        let weights = &self.kernel[(first - locus + REACH) as usize..];
        let profile = self.probabilities.range_mut((first - self.start) as usize..positions);
        for (probability, weight) in profile.zip(weights) {
            let added = activity.probability * weight;
            for _ in 0..times {
                *probability += added;
            }
        }
    }

    fn cut_region(&mut self) -> CutRegion {
        let is_active = is_active(self.probabilities[0]);
        let considered = self.probabilities.iter().take(MAX_REGION_LENGTH);
        let mut length =
            considered.take_while(|&&probability| self::is_active(probability) == is_active).count();
        if is_active && length == MAX_REGION_LENGTH {
            length = self.find_best_cut();
        }
        self.probabilities.drain(..length);
        let span = ContigSpan { start: self.start, end: self.start + length as i32 - 1 };
        self.start += length as i32;
        CutRegion { span, is_active }
    }

    /// Returns the length of an active region that is too long: up to the lowest local minimum. Of equal
    /// minima, the last one counts.
    fn find_best_cut(&self) -> usize {
        let profile = &self.probabilities;
        let (mut best, mut lowest) = (MAX_REGION_LENGTH - 1, f64::MAX);
        for at in (MIN_REGION_LENGTH - 1..MAX_REGION_LENGTH).rev() {
            let Some(&next) = profile.get(at + 1) else { continue };
            let here = profile[at];
            if here < lowest && here <= next && here < profile[at - 1] {
                (best, lowest) = (at, here);
            }
        }
        best + 1
    }
}

fn is_active(probability: f64) -> bool {
    probability > ACTIVE_PROBABILITY
}

/// Returns the normal distribution at distances -50 to 50, divided by its sum there. GATK leaves out
/// distances with less than 0.00001, of which there are none.
fn make_kernel(math: JavaMath) -> Vec<f64> {
    let root_two_pi = (2.0 * std::f64::consts::PI).sqrt();
    let density = |at: i32| {
        let distance = f64::from(at) - f64::from(REACH);
        math.exp(-distance * distance / (2.0 * SIGMA * SIGMA)) / (SIGMA * root_two_pi)
    };
    let densities = Vec::from_iter((0..=2 * REACH).map(density));
    let sum = densities.iter().fold(0.0, |sum, density| sum + density);
    densities.iter().map(|density| density / sum).collect()
}

#[cfg(test)]
mod tests {
    use readmill_jmath::CpuMaker;

    use super::*;

    #[test]
    fn a_probability_of_exactly_the_threshold_is_inactive() {
        let math = JavaMath::of_maker(CpuMaker::Intel).unwrap();
        let peak = make_kernel(math)[REACH as usize];
        let threshold = ACTIVE_PROBABILITY / peak;
        assert_eq!(threshold * peak, ACTIVE_PROBABILITY);
        for (probability, expected) in [(threshold, false), (threshold.next_up(), true)] {
            let (mut cutter, mut regions) = (RegionCutter::new(math, 200), Vec::new());
            for locus in 1..=200 {
                let probability = if locus == 100 { probability } else { 0.0 };
                cutter.add(locus, LocusActivity { probability, soft_clip_mean: 0.0 }, &mut regions);
            }
            cutter.finish(&mut regions);
            assert_eq!(regions.iter().any(|region| region.is_active), expected);
        }
    }
}
