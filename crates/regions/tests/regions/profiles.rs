//! Regions cut from random activity, as `tests/oracles/java/Profiles.java` draws it.

use readmill_jmath::{CpuMaker, JavaMath};
use readmill_regions::PADDING;
use readmill_regions::activity::LocusActivity;
use readmill_regions::profile::{CutRegion, RegionCutter};

use super::draws::{Draws, hash_number};

const PROBABILITIES: [f64; 8] = [1.0, 1.0, 0.5, 0.9999, 0.08526, 0.0852, 0.001, 0.1];
const MEANS: [f64; 8] = [6.0, 6.000000000000001, 7.5, 20.0, 99.9, 100.0, 101.0, 300.0];

/// Returns the hash of the regions of a block of contigs.
pub fn hash_block(block: usize, size: usize) -> u64 {
    let mut hash = 0;
    for contig in 0..size {
        let (length, regions) = cut((block * size + contig) as u64);
        for CutRegion { span, is_active } in regions {
            let padded = span.pad(PADDING, length);
            let numbers = [span.start, span.end, i32::from(is_active), padded.start, padded.end];
            numbers.iter().for_each(|&number| hash_number(&mut hash, number as u64));
        }
    }
    hash
}

/// Returns the length of a contig and its regions.
pub fn cut(seed: u64) -> (i32, Vec<CutRegion>) {
    let mut draws = Draws::new(seed);
    let max_length = draws.pick(&[30, 400, 2000, 2000]);
    let length = 1 + draws.below(max_length) as i32;
    let loci_per_active = draws.pick(&[1, 2, 10, 40, 100, 300]);
    let is_plateau = draws.one_in(4);
    let has_gaps = draws.one_in(3);
    let math = JavaMath::of_maker(CpuMaker::Intel).expect("the tables of Intel's processors");
    let (mut cutter, mut regions) = (RegionCutter::new(math, length), Vec::new());
    let mut locus = 0;
    loop {
        locus += 1;
        if locus <= length && has_gaps && draws.one_in(200) {
            locus += draws.below(150) as i32;
        }
        if locus > length {
            break;
        }
        let mut activity = LocusActivity::default();
        if draws.one_in(loci_per_active) {
            activity.probability = if is_plateau { 0.7 } else { draws.pick(&PROBABILITIES) };
            if draws.one_in(8) {
                activity.soft_clip_mean = draws.pick(&MEANS);
            }
        }
        cutter.add(locus, activity, &mut regions);
    }
    cutter.finish(&mut regions);
    (length, regions)
}
