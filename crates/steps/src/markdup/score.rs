//! How good a read is, as the strategies of Picard have it (htsjdk, DuplicateScoringStrategy).

use readmill_record::RecordRef;

/// Most a single read can score: half of Picard's 16-bit range, so that two fit.
const CAP: u32 = (i16::MAX / 2) as u32;

/// Qualities below do not count.
const LEAST_QUALITY: u8 = 15;

/// What makes a read good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The sum of its base qualities of 15 and more.
    #[default]
    SumOfBaseQualities,
    /// How many reference bases it is aligned to.
    TotalMappedReferenceLength,
    /// A hash of its name.
    Random,
}

impl Strategy {
    /// Its name as a flag has it.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::SumOfBaseQualities => "sum-of-base-qualities",
            Strategy::TotalMappedReferenceLength => "total-mapped-reference-length",
            Strategy::Random => "random",
        }
    }

    /// The score of a mapped read in Picard's 16-bit arithmetic; a read that fails quality control scores
    /// below every read that passes.
    pub fn score(self, record: RecordRef<'_>) -> i16 {
        let score = match self {
            Strategy::SumOfBaseQualities => sum_of_qualities(record.qual()).min(CAP) as i16,
            Strategy::TotalMappedReferenceLength => {
                record.cigar().reference_length().clamp(0, CAP.into()) as i16
            }
            // 14 bits of the hash, from 8192 on: the scores of two mates can overflow, and then wrap
            Strategy::Random => (murmur3(record.qname()) & 0x3fff) as i16 - i16::MIN / 4,
        };
        if record.flags().is_qc_fail() { score.wrapping_add(i16::MIN / 2) } else { score }
    }
}

/// Picard holds qualities in signed bytes: above 127 they are negative and do not count.
fn sum_of_qualities(qual: &[u8]) -> u32 {
    if qual.first() == Some(&0xff) {
        return 0;
    }
    qual.chunks(COUNTED_TOGETHER).map(sum).fold(0, u32::saturating_add)
}

/// So many qualities of up to 127 add up to less than 2^16 in each of 16 sums.
const COUNTED_TOGETHER: usize = 1 << 13;

fn sum(qual: &[u8]) -> u32 {
    let counted = |q: u8| if (LEAST_QUALITY..128).contains(&q) { u16::from(q) } else { 0 };
    let (sixteens, rest) = qual.as_chunks::<16>();
    let mut sums = [0u16; 16];
    for sixteen in sixteens {
        for (sum, &q) in sums.iter_mut().zip(sixteen) {
            *sum += counted(q);
        }
    }
    let rest: u32 = rest.iter().map(|&q| u32::from(counted(q))).sum();
    sums.iter().map(|&sum| u32::from(sum)).sum::<u32>() + rest
}

/// Murmur3 (A. Appleby; 32 bits, seed 1) over the UTF-16 code units of the name, two at a time.
fn murmur3(name: &[u8]) -> u32 {
    let mix = |k: u32| k.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (pairs, odd) = name.as_chunks::<2>();
    let mut hash = pairs.iter().fold(1u32, |hash, &[a, b]| {
        let hash = hash ^ mix(u32::from(a) | u32::from(b) << 16);
        hash.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64)
    });
    if let [last] = odd {
        hash ^= mix(u32::from(*last));
    }
    hash ^= 2 * name.len() as u32;
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}
