//! The reference genome: a Markov chain sequence with repeats and gaps of N.
//!
//! Repeats are copies of mobile elements, microsatellites and exact duplications. A coarse map
//! records their positions, because aligners give low mapping qualities there.

use std::ops::Range;

use crate::profile::Profile;
use crate::rng::Rng;

#[derive(Debug)]
pub(crate) struct Contig {
    pub(crate) bases: Vec<u8>,
    pub(crate) repeats: RepeatMap,
    pub(crate) gap: Range<usize>,
}

impl Contig {
    #[inline]
    pub(crate) fn is_known(&self, start: usize, end: usize) -> bool {
        end <= self.gap.start || start >= self.gap.end
    }
}

/// Draws all contigs of a profile. Each depends only on the seed and its index.
pub(crate) fn draw_contigs(profile: &Profile) -> Vec<Contig> {
    let families = Families::new(profile.seed);
    // Parts of different GC content, which alternate along the contig.
    let shifts: &[i32] = if profile.isochores { &ISOCHORE_SHIFTS } else { &[0] };
    let chains: Vec<MarkovChain> = shifts.iter().map(|shift| MarkovChain::new(*shift)).collect();
    let draw = |(i, &(_, length)): (usize, &(String, u32))| {
        let mut rng = Rng::for_purpose(profile.seed, 0x6765_6E6F_0000 + i as u64);
        draw_contig(&mut rng, &chains, &families, length as usize)
    };
    profile.contigs.iter().enumerate().map(draw).collect()
}

/// Length in bases of a part of the genome with constant GC content.
const ISOCHORE_BASES: usize = 7_000;
/// Shifts of the weights of C and G (in 256ths) in the parts of the genome. The weights of A and T
/// are shifted by the same amount in the opposite direction.
const ISOCHORE_SHIFTS: [i32; 5] = [0, 24, -20, 44, -8];

fn draw_contig(rng: &mut Rng, chains: &[MarkovChain], families: &Families, length: usize) -> Contig {
    let mut bases = match chains {
        [chain] => chain.draw_bases(rng, length),
        _ => {
            let starts = (0..length).step_by(ISOCHORE_BASES).zip(chains.iter().cycle());
            starts
                .flat_map(|(start, chain)| chain.draw_bases(rng, ISOCHORE_BASES.min(length - start)))
                .collect()
        }
    };
    let repeats = families.scatter_repeats(rng, &mut bases);
    let gap = if length >= 100_000 {
        let start = length / 3 + rng.below(length as u32 / 4) as usize;
        start..start + length / 200
    } else {
        0..0
    };
    bases[gap.clone()].fill(b'N');
    Contig { bases, repeats, gap }
}

/// The distribution of the next base after each pair of bases: 41 % GC, few CG, and slightly more
/// homopolymers.
struct MarkovChain(Vec<[u8; 256]>);

impl MarkovChain {
    fn new(shift: i32) -> Self {
        let follow = |context: usize| {
            let (before, last) = (context >> 2, context & 3);
            // Weights of A, C, G, T out of 256.
            let mut weights: [usize; 4] = [75, 53, 53, 75];
            if last == 1 {
                weights = [88, 66, 16, 86];
            }
            for (base, weight) in weights.iter_mut().enumerate() {
                // G after C is rare, and some must remain.
                let shift = if last == 1 { (shift / 2).max(-4) } else { shift };
                let more = if base == 1 || base == 2 { shift } else { -shift };
                *weight = weight.saturating_add_signed(more as isize);
            }
            if before == last {
                weights[last] += 10;
                weights[(last + 2) & 3] -= 10;
            }
            let mut row = [0; 256];
            let mut at = 0;
            for (base, weight) in weights.into_iter().enumerate() {
                row[at..at + weight].fill(base as u8);
                at += weight;
            }
            row
        };
        Self((0..16).map(follow).collect())
    }

    fn draw_bases(&self, rng: &mut Rng, length: usize) -> Vec<u8> {
        let mut bases = Vec::with_capacity(length + 8);
        let mut context = 0;
        while bases.len() < length {
            for byte in rng.next_u64().to_le_bytes() {
                let base = usize::from(self.0[context][usize::from(byte)]);
                bases.push(b"ACGT"[base]);
                context = (context << 2 | base) & 15;
            }
        }
        bases.truncate(length);
        bases
    }
}

const CELL_BITS: u32 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Repeat {
    Unique = 0,
    /// An old copy of a mobile element, similar to other copies.
    Old = 1,
    /// A young copy of a mobile element, nearly identical to other copies.
    Young = 2,
    Exact = 3,
}

#[derive(Debug)]
pub(crate) struct RepeatMap(Vec<Repeat>);

impl RepeatMap {
    #[inline]
    pub(crate) fn at(&self, position: usize) -> Repeat {
        self.0[position >> CELL_BITS]
    }

    fn mark_repeat(&mut self, start: usize, length: usize, repeat: Repeat) {
        // Only cells that are at least half covered are marked, because reads at the border are
        // partly unique.
        let half = 1 << (CELL_BITS - 1);
        let cells = (start + half) >> CELL_BITS..(start + length + half) >> CELL_BITS;
        for cell in cells {
            if let Some(slot) = self.0.get_mut(cell) {
                *slot = (*slot).max(repeat);
            }
        }
    }
}

pub(crate) struct Families(Vec<Vec<u8>>);

impl Families {
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = Rng::for_purpose(seed, 0x5245_5045);
        let lengths = [300, 300, 290, 310, 3000, 3000];
        Self(lengths.iter().map(|&n| random_bases(&mut rng, n)).collect())
    }

    /// Writes repeats over about one eighth of a contig, and returns their map.
    pub(crate) fn scatter_repeats(&self, rng: &mut Rng, contig: &mut [u8]) -> RepeatMap {
        let mut map = RepeatMap(vec![Repeat::Unique; (contig.len() >> CELL_BITS) + 1]);
        let mut budget = contig.len() / 8;
        while budget > 4000 {
            budget -= self.write_element(rng, contig, &mut map);
        }
        for _ in 0..contig.len() / 6000 {
            write_microsatellite(rng, contig);
        }
        for _ in 0..contig.len() / 400_000 {
            write_duplication(rng, contig, &mut map);
        }
        map
    }

    fn write_element(&self, rng: &mut Rng, contig: &mut [u8], map: &mut RepeatMap) -> usize {
        let family = &self.0[rng.below(self.0.len() as u32) as usize];
        let length = family.len().min(300 + rng.below(700) as usize);
        let from = rng.below((family.len() - length + 1) as u32) as usize;
        let mut copy = family[from..from + length].to_vec();
        if rng.flip_coin() {
            copy.reverse();
            copy.iter_mut().for_each(|b| *b = complement(*b));
        }
        let divergence = if rng.per_mille(150) { rng.below(8) } else { rng.between(40, 200) };
        for base in copy.iter_mut() {
            if rng.per_mille(divergence) {
                *base = b"ACGT"[rng.below(4) as usize];
            }
        }
        let at = rng.below((contig.len() - length) as u32) as usize;
        contig[at..at + length].copy_from_slice(&copy);
        let class = if divergence < 20 { Repeat::Young } else { Repeat::Old };
        map.mark_repeat(at, length, class);
        length
    }
}

fn write_microsatellite(rng: &mut Rng, contig: &mut [u8]) {
    let unit = random_bases(rng, 1 + rng.clone().below(5) as usize);
    let length = rng.between(12, 45) as usize;
    let at = rng.below((contig.len() - length) as u32) as usize;
    let repeated = unit.iter().cycle();
    contig[at..at + length].iter_mut().zip(repeated).for_each(|(b, &u)| *b = u);
}

fn write_duplication(rng: &mut Rng, contig: &mut [u8], map: &mut RepeatMap) {
    let length = rng.between(1000, 4000) as usize;
    let room = (contig.len() / 2 - length) as u32;
    let from = rng.below(room) as usize;
    let to = contig.len() / 2 + rng.below(room) as usize;
    contig.copy_within(from..from + length, to);
    map.mark_repeat(from, length, Repeat::Exact);
    map.mark_repeat(to, length, Repeat::Exact);
}

pub(crate) fn random_bases(rng: &mut Rng, length: usize) -> Vec<u8> {
    (0..length).map(|_| b"ACGT"[rng.below(4) as usize]).collect()
}

/// Returns the complement of a base. Anything except A, C, G and T is returned unchanged.
#[inline]
pub(crate) fn complement(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        other => other,
    }
}

pub(crate) fn reverse_complement(bases: &mut [u8]) {
    bases.reverse();
    bases.iter_mut().for_each(|b| *b = complement(*b));
}
