//! Sequencing errors: as often as the qualities say, but not evenly over read groups, cycles and
//! neighbouring bases, so that there is something to recalibrate.

use crate::bases::complement;
use crate::fixed::Exponential;
use crate::quality::Pool;
use crate::rng::Rng;

/// The circumstances of a read.
#[derive(Clone, Copy)]
pub(crate) struct Circumstances {
    /// Its quality string.
    pub(crate) qualities: u16,
    /// Whether its bases are stored reversed.
    pub(crate) reverse: bool,
    /// Whether it is the second of its pair.
    pub(crate) second: bool,
    /// Its read group.
    pub(crate) group: u32,
}

/// Puts errors into a read. The usual read needs one random number.
#[inline]
pub(crate) fn apply(
    rng: &mut Rng,
    waits: &Exponential,
    pool: &Pool,
    read: Circumstances,
    bases: &mut [u8],
) {
    let first = waits.pick(rng.next());
    if first < pool.total(read.qualities) {
        scan(rng, waits, pool, read, bases, first);
    }
}

fn scan(
    rng: &mut Rng,
    waits: &Exponential,
    pool: &Pool,
    read: Circumstances,
    bases: &mut [u8],
    first: u64,
) {
    let (mut next, mut sum) = (first, 0);
    for (cycle, &quality) in pool.string(read.qualities).iter().enumerate() {
        sum += pool.hazard(quality);
        if sum > next {
            next = sum + waits.pick(rng.next());
            let bits = rng.next() as u32;
            if quality <= 2 && bits >> 31 == 0 {
                bases[index(cycle, bases.len(), read.reverse)] = b'N';
            } else if bits & 0xFF < acceptance(read, cycle, bases) {
                let slot = &mut bases[index(cycle, pool.string(read.qualities).len(), read.reverse)];
                *slot = other(*slot, bits >> 8 & 0xFFFF);
            }
        }
    }
}

fn index(cycle: usize, length: usize, reverse: bool) -> usize {
    if reverse { length - 1 - cycle } else { cycle }
}

/// Of 256 candidate errors, how many happen here; 128 means that the qualities are right.
fn acceptance(read: Circumstances, cycle: usize, bases: &[u8]) -> u32 {
    let sequenced = |cycle: usize| {
        let base = bases[index(cycle, bases.len(), read.reverse)];
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

/// One of the other three bases; N stays.
fn other(base: u8, bits: u32) -> u8 {
    let choices: &[u8; 3] = match base {
        b'A' => b"CGT",
        b'C' => b"ATG",
        b'G' => b"TAC",
        b'T' => b"GCA",
        _ => return base,
    };
    choices[((bits * 3) >> 16) as usize]
}
