//! Base qualities, and sequencing errors drawn from them.
//!
//! Quality strings are drawn once into a pool, which all reads share. The total number of errors
//! agrees with the qualities, but errors are unevenly distributed over read groups, cycles and
//! neighbouring bases, so that recalibration has an effect.

use crate::genome::complement;
use crate::profile::{Fault, Profile, Qualities};
use crate::rng::{Exponential, Rng, error_probabilities};

/// Number of strings in the pool for each read of a pair.
const STRINGS_PER_READ: u32 = 4096;
const MAX_QUALITY: u32 = 41;

pub(crate) struct QualityPool {
    length: usize,
    bytes: Vec<u8>,
    totals: Vec<u64>,
    hazards: [u64; 94],
}

impl QualityPool {
    pub(crate) fn new(profile: &Profile) -> Self {
        let (length, qualities) = (profile.clamped_read_length(), profile.qualities);
        let mut rng = Rng::for_purpose(profile.seed, 0x7175_616C);
        // Twice the error rate, because about half of the candidate errors are rejected by context.
        let hazards = error_probabilities().map(|p| 2 * p);
        let mut pool = Self { length, bytes: Vec::new(), totals: Vec::new(), hazards };
        for i in 0..2 * STRINGS_PER_READ {
            let mut string = draw_string(&mut rng, length, i >= STRINGS_PER_READ);
            if qualities == Qualities::Binned {
                string.iter_mut().for_each(|q| *q = bin_quality(*q));
            }
            // Most tiles lose the cycle, but not all.
            if profile.fault == Some(Fault::FailingCycle) && i < STRINGS_PER_READ && i % 10 < 7 {
                string[length / 2] = 2;
            }
            pool.totals.push(string.iter().map(|&q| pool.hazards[usize::from(q)]).sum());
            pool.bytes.extend_from_slice(&string);
        }
        pool
    }

    #[inline]
    pub(crate) fn pick_string(&self, rng: &mut Rng, second: bool) -> u16 {
        (rng.below(STRINGS_PER_READ) + if second { STRINGS_PER_READ } else { 0 }) as u16
    }

    #[inline]
    pub(crate) fn string(&self, index: u16) -> &[u8] {
        let start = usize::from(index) * self.length;
        &self.bytes[start..start + self.length]
    }

    #[inline]
    pub(crate) fn total_hazard(&self, index: u16) -> u64 {
        self.totals[usize::from(index)]
    }

    #[inline]
    pub(crate) fn error_hazard(&self, quality: u8) -> u64 {
        self.hazards[usize::from(quality)]
    }
}

fn bin_quality(quality: u8) -> u8 {
    match quality {
        0..=2 => 2,
        3..=17 => 12,
        18..=29 => 23,
        _ => 37,
    }
}

/// Draws one string: a plateau with dips that become more frequent, and sometimes a bad tail.
fn draw_string(rng: &mut Rng, length: usize, second: bool) -> Vec<u8> {
    let worse = if second { 3 } else { 2 };
    // Dips per 65,536 cycles: at the start of the read, and the increase towards its end.
    let (early, late) = match rng.below(100) {
        0..60 => (500, 1800),
        60..90 => (1700, 7000),
        _ => (4500, 16_000),
    };
    let tail = if rng.per_mille(40 * worse) {
        length - rng.below(length as u32 * 2 / 5) as usize
    } else {
        length
    };
    let plateau = MAX_QUALITY - rng.below(8).saturating_sub(5);
    let mut quality = plateau;
    let mut string = Vec::with_capacity(length);
    for cycle in 0..length {
        let ramp = [9, 7, 7, 4, 2].get(cycle).copied().unwrap_or(0);
        quality = if cycle >= tail {
            quality.saturating_sub(rng.below(6)).max(2)
        } else if quality == plateau {
            let progress = (cycle * cycle * 256 / (length * length)) as u32;
            let chance = (early + late * progress / 256) * worse / 2;
            if rng.below(65536) < chance { draw_dip(rng, plateau) } else { plateau }
        } else {
            draw_recovery(rng, quality, plateau)
        };
        string.push((quality.saturating_sub(ramp)).max(2) as u8);
    }
    string
}

fn draw_dip(rng: &mut Rng, plateau: u32) -> u32 {
    let depth = if rng.per_mille(600) { rng.between(1, 8) } else { rng.between(4, 30) };
    plateau - depth
}

fn draw_recovery(rng: &mut Rng, quality: u32, plateau: u32) -> u32 {
    match rng.below(16) {
        0..6 => plateau,
        6..9 => quality,
        9..13 => (quality + rng.between(1, 9)).min(plateau),
        _ => quality.saturating_sub(rng.below(5)).max(4),
    }
}

#[derive(Clone, Copy)]
pub(crate) struct ReadCircumstances {
    pub(crate) qualities: u16,
    pub(crate) reverse: bool,
    pub(crate) second: bool,
    pub(crate) group: u32,
}

/// Adds sequencing errors to a read. For most reads, a single random number decides that they have
/// none.
#[inline]
pub(crate) fn add_errors(
    rng: &mut Rng,
    waits: &Exponential,
    pool: &QualityPool,
    read: ReadCircumstances,
    bases: &mut [u8],
) {
    let first = waits.pick(rng.next_u64());
    if first < pool.total_hazard(read.qualities) {
        add_errors_from(rng, waits, pool, read, bases, first);
    }
}

fn add_errors_from(
    rng: &mut Rng,
    waits: &Exponential,
    pool: &QualityPool,
    read: ReadCircumstances,
    bases: &mut [u8],
    first: u64,
) {
    let (mut next, mut sum) = (first, 0);
    for (cycle, &quality) in pool.string(read.qualities).iter().enumerate() {
        sum += pool.error_hazard(quality);
        if sum > next {
            next = sum + waits.pick(rng.next_u64());
            let bits = rng.next_u64() as u32;
            if quality <= 2 && bits >> 31 == 0 {
                bases[base_index(cycle, bases.len(), read.reverse)] = b'N';
            } else if bits & 0xFF < acceptance_per_256(read, cycle, bases) {
                let slot =
                    &mut bases[base_index(cycle, pool.string(read.qualities).len(), read.reverse)];
                *slot = draw_other_base(*slot, bits >> 8 & 0xFFFF);
            }
        }
    }
}

fn base_index(cycle: usize, length: usize, reverse: bool) -> usize {
    if reverse { length - 1 - cycle } else { cycle }
}

/// Returns how many of 256 candidate errors are accepted at this cycle. With 128, the error rate
/// would match the qualities.
fn acceptance_per_256(read: ReadCircumstances, cycle: usize, bases: &[u8]) -> u32 {
    let sequenced = |cycle: usize| {
        let base = bases[base_index(cycle, bases.len(), read.reverse)];
        if read.reverse { complement(base) } else { base }
    };
    let before = if cycle > 0 { sequenced(cycle - 1) } else { b'A' };
    let context = match (before, sequenced(cycle)) {
        (b'G', b'G') => 230,
        (b'C', b'C') | (b'G', b'T') => 170,
        (b'A', _) => 95,
        _ => 120,
    };
    let group = [256, 205, 300][read.group as usize % 3];
    let late = if read.second && 4 * cycle > 3 * bases.len() { 310 } else { 250 };
    (context * group * late) >> 16
}

fn draw_other_base(base: u8, bits: u32) -> u8 {
    let choices: &[u8; 3] = match base {
        b'A' => b"CGT",
        b'C' => b"ATG",
        b'G' => b"TAC",
        b'T' => b"GCA",
        _ => return base,
    };
    choices[((bits * 3) >> 16) as usize]
}
