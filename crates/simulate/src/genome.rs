//! The reference genome: a Markov sequence with repeats and gaps of N.

use crate::profile::Profile;
use crate::repeats::{Families, RepeatMap};
use crate::rng::Rng;
use std::ops::Range;

/// One contig.
#[derive(Debug)]
pub(crate) struct Contig {
    /// Its bases, in capitals.
    pub(crate) bases: Vec<u8>,
    /// Where it is repetitive.
    pub(crate) repeats: RepeatMap,
    /// Its run of N, empty if it has none.
    pub(crate) gap: Range<usize>,
}

impl Contig {
    /// Whether an interval is free of N.
    #[inline]
    pub(crate) fn is_known(&self, start: usize, end: usize) -> bool {
        end <= self.gap.start || start >= self.gap.end
    }
}

/// Draws all contigs of a profile; each depends on the seed and its number only.
pub(crate) fn contigs(profile: &Profile) -> Vec<Contig> {
    let families = Families::new(profile.seed);
    let chain = Chain::new();
    let draw = |(i, &(_, length)): (usize, &(String, u32))| {
        let mut rng = Rng::stream(profile.seed, 0x6765_6E6F_0000 + i as u64);
        contig(&mut rng, &chain, &families, length as usize)
    };
    profile.contigs.iter().enumerate().map(draw).collect()
}

fn contig(rng: &mut Rng, chain: &Chain, families: &Families, length: usize) -> Contig {
    let mut bases = chain.draw(rng, length);
    let repeats = families.scatter(rng, &mut bases);
    let gap = if length >= 100_000 {
        let start = length / 3 + rng.below(length as u32 / 4) as usize;
        start..start + length / 200
    } else {
        0..0
    };
    bases[gap.clone()].fill(b'N');
    Contig { bases, repeats, gap }
}

/// Follow-up bases of every pair of bases: 41 % GC, few CG, runs slightly favoured.
struct Chain(Vec<[u8; 256]>);

impl Chain {
    fn new() -> Self {
        let follow = |context: usize| {
            let (before, last) = (context >> 2, context & 3);
            // Weights of A, C, G, T out of 256.
            let mut weights: [usize; 4] = [75, 53, 53, 75];
            if last == 1 {
                weights = [88, 66, 16, 86];
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

    fn draw(&self, rng: &mut Rng, length: usize) -> Vec<u8> {
        let mut bases = Vec::with_capacity(length + 8);
        let mut context = 0;
        while bases.len() < length {
            for byte in rng.next().to_le_bytes() {
                let base = usize::from(self.0[context][usize::from(byte)]);
                bases.push(b"ACGT"[base]);
                context = (context << 2 | base) & 15;
            }
        }
        bases.truncate(length);
        bases
    }
}
