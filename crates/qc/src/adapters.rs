//! Finds reads that begin with part of an adapter, as Picard's `AdapterUtility` does.

use readmill_record::RecordRef;
use readmill_record::bases::CODES;

const MATCH_BASES: usize = 16;

/// The Illumina adapters that Picard uses by default: single-end, both reads of paired-end, and
/// indexed.
pub const DEFAULT_ADAPTERS: [&str; 4] = [
    "AATGATACGGCGACCACCGAGATCTACACTCTTTCCCTACACGACGCTCTTCCGATCT",
    "AGATCGGAAGAGCTCGTATGCCGTCTTCTGCTTG",
    "AGATCGGAAGAGCGGTTCAGCAGGAATGCCGAGACCGATCTCGTATGCCGTCTTCTGCTTG",
    "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACNNNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
];

/// All 16-base windows of the adapters, on both strands. A window is stored as 16 codes of 4 bits
/// in one integer.
///
/// A read may differ from a window in one base. Then one half of it is equal to the same half of
/// the window, so windows are found by binary search over each of the two halves.
#[derive(Debug, Default)]
pub(crate) struct Adapters {
    /// Windows in ascending order, so that windows with the same first half are adjacent.
    by_first: Vec<u64>,
    /// Windows with their halves exchanged, in ascending order.
    by_last: Vec<u64>,
}

impl Adapters {
    /// Collects the windows of these adapters. Windows with more than one N are omitted.
    pub fn new<S: AsRef<str>>(sequences: &[S]) -> Self {
        let mut by_first = Vec::new();
        for sequence in sequences {
            let codes: Vec<u8> =
                sequence.as_ref().bytes().map(|base| CODES[usize::from(base)]).collect();
            for piece in codes.windows(MATCH_BASES) {
                if piece.iter().filter(|&&code| code == 15).count() <= 1 {
                    by_first.push(pack_codes(piece.iter().copied()));
                    by_first.push(pack_codes(piece.iter().rev().map(|&code| complement_code(code))));
                }
            }
        }
        by_first.sort_unstable();
        by_first.dedup();
        let mut by_last: Vec<u64> = by_first.iter().map(|piece| piece.rotate_left(32)).collect();
        by_last.sort_unstable();
        Adapters { by_first, by_last }
    }

    /// Returns whether a record begins with part of an adapter in the direction of sequencing. The
    /// memory of `codes` is reused.
    pub fn is_record_adapter(&self, record: RecordRef<'_>, codes: &mut Vec<u8>) -> bool {
        let flags = record.flags();
        codes.clear();
        codes.extend(record.seq().iter().flat_map(|byte| [byte >> 4, byte & 15]));
        codes.truncate(record.l_seq());
        let is_reverse = !flags.is_unmapped() && flags.is_reverse();
        let is_adapter = self.is_read_adapter(codes, is_reverse);
        codes.shrink_to(1 << 16);
        is_adapter
    }

    /// Returns whether the first 16 bases agree with a window of an adapter in at least 15 bases.
    /// With `reverse`, the reverse complement of the read is compared. Always `false` for shorter
    /// reads.
    pub fn is_read_adapter(&self, bases: &[u8], reverse: bool) -> bool {
        if bases.len() < MATCH_BASES {
            return false;
        }
        let start = if reverse {
            pack_codes(bases.iter().rev().take(MATCH_BASES).map(|&code| complement_code(code)))
        } else {
            pack_codes(bases.iter().take(MATCH_BASES).copied())
        };
        is_near(&self.by_first, start) || is_near(&self.by_last, start.rotate_left(32))
    }
}

/// Returns whether `pieces` has a number with the same upper half as `start` that differs from it
/// in at most one code.
fn is_near(pieces: &[u64], start: u64) -> bool {
    let from = pieces.partition_point(|&piece| piece >> 32 < start >> 32);
    let same_half = pieces[from..].iter().take_while(|&&piece| piece >> 32 == start >> 32);
    same_half.into_iter().any(|piece| {
        let bits = piece ^ start;
        let codes = (bits | bits >> 1 | bits >> 2 | bits >> 3) & 0x1111_1111_1111_1111;
        codes.count_ones() <= 1
    })
}

fn pack_codes(codes: impl Iterator<Item = u8>) -> u64 {
    codes.fold(0, |packed, code| packed << 4 | u64::from(code))
}

/// Complements A, C, G and T. Other codes stay unchanged, as in htsjdk.
fn complement_code(code: u8) -> u8 {
    match code {
        1 => 8,
        2 => 4,
        4 => 2,
        8 => 1,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(text: &str) -> Vec<u8> {
        text.bytes().map(|base| CODES[usize::from(base)]).collect()
    }

    #[test]
    fn one_base_may_differ() {
        let adapters = Adapters::new(&DEFAULT_ADAPTERS);
        for (read, is_adapter) in [
            ("AGATCGGAAGAGCTCG", true),
            ("GATCGGAAGAGCTCGTATGG", true),
            ("CAGATCGGAAGAGCTCG", false),
            ("AGATCGGATGAGCTCG", true),
            ("TGATCGGATGAGCTCG", false),
            ("AGATCGGAAGAGCTC", false),
            ("CCGTCTTCTGCTTGAA", false),
        ] {
            assert_eq!(adapters.is_read_adapter(&codes(read), false), is_adapter, "{read}");
        }
        assert!(
            adapters.is_read_adapter(&codes("AAAACGAGCTCTTCCGATCT"), true),
            "the strand of the machine is compared"
        );
        assert!(!Adapters::new::<&str>(&[]).is_read_adapter(&codes("AGATCGGAAGAGCTCG"), false));
    }
}
