//! Compares operations in the flushing mode of the processor with those that flush in software.

use super::engine::{Engine, Input, VectorEngine};
use super::kernel::Group;
use super::lanes::Lanes;
use super::portable::{F32s, F64s, Portable, run};
use crate::HmmRead;

fn run_without_mode<V: Lanes>(group: &mut Group<V>, is_fused: bool) {
    if is_fused { group.compute::<true>() } else { group.compute::<false>() }
}

/// Returns the bits of likelihoods of reads that fit a haplotype worse and worse.
fn compute<V: Lanes>(run: fn(&mut Group<V>, bool), is_fused: bool) -> Vec<f64>
where
    V::Real: Into<f64>,
{
    let mut draw = 7_u32;
    let mut draw_bases = |length: usize| -> Vec<u8> {
        let mut next = || {
            draw = draw.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b"ACGT"[(draw >> 30) as usize]
        };
        (0..length).map(|_| next()).collect()
    };
    let (bases, haplotype) = (draw_bases(320), draw_bases(150));
    let qualities = [40; 320];
    let read = |length: usize| HmmRead {
        bases: &bases[..length],
        base_qualities: &qualities[..length],
        insertion_qualities: &qualities[..length],
        deletion_qualities: &qualities[..length],
        gap_continuations: &qualities[..length],
    };
    let reads: Vec<HmmRead<'_>> = (1..=64).map(|number| read(5 * number)).collect();
    let order: Vec<usize> = (0..64).collect();
    let mut likelihoods = vec![0.0; 64];
    VectorEngine::<V>::new(run, is_fused).compute_all(
        Input { reads: &reads, haplotypes: &[&haplotype] },
        &order,
        &mut |pair, likelihood| likelihoods[pair.read] = likelihood.into(),
    );
    likelihoods
}

#[test]
fn software_flushes_like_the_mode_of_the_processor() {
    for is_fused in [false, true] {
        let flushed = compute::<F32s>(run, is_fused);
        assert!(flushed[0] > 0.0 && flushed[63] == 0.0);
        assert_eq!(compute::<Portable<f32, 8, true>>(run_without_mode, is_fused), flushed);
        assert_ne!(compute::<F32s>(run_without_mode, is_fused), flushed, "the mode has an effect");
        let flushed = compute::<F64s>(run, is_fused);
        assert!(flushed[0] > 0.0 && flushed[63] == 0.0);
        assert_eq!(compute::<Portable<f64, 4, true>>(run_without_mode, is_fused), flushed);
    }
}
