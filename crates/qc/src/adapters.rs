//! Which reads begin with a piece of an adapter.

use readmill_record::RecordRef;
use readmill_record::bases::CODES;

/// Bases of a read that are compared.
const LENGTH: usize = 16;

/// The parts of Illumina's adapters that Picard knows by itself: of single ends, pairs, and indexed libraries.
pub const DEFAULT_ADAPTERS: [&str; 4] = [
    "AATGATACGGCGACCACCGAGATCTACACTCTTTCCCTACACGACGCTCTTCCGATCT",
    "AGATCGGAAGAGCTCGTATGCCGTCTTCTGCTTG",
    "AGATCGGAAGAGCGGTTCAGCAGGAATGCCGAGACCGATCTCGTATGCCGTCTTCTGCTTG",
    "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACNNNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
];

/// All pieces of adapters, of both strands, as sixteen codes of four bits in one number.
///
/// A read may differ in one base, so one half of it is equal to the same half of a piece.
#[derive(Debug, Default)]
pub(crate) struct Adapters {
    /// Pieces in ascending order, which is that of their first halves.
    by_first: Vec<u64>,
    /// Pieces with their halves exchanged, in ascending order.
    by_last: Vec<u64>,
}

impl Adapters {
    /// The pieces of these sequences.
    pub fn new<S: AsRef<str>>(sequences: &[S]) -> Self {
        let mut by_first = Vec::new();
        for sequence in sequences {
            let codes: Vec<u8> =
                sequence.as_ref().bytes().map(|base| CODES[usize::from(base)]).collect();
            for piece in codes.windows(LENGTH) {
                if piece.iter().filter(|&&code| code == 15).count() <= 1 {
                    by_first.push(pack(piece.iter().copied()));
                    by_first.push(pack(piece.iter().rev().map(|&code| complement(code))));
                }
            }
        }
        by_first.sort_unstable();
        by_first.dedup();
        let mut by_last: Vec<u64> = by_first.iter().map(|piece| piece.rotate_left(32)).collect();
        by_last.sort_unstable();
        Adapters { by_first, by_last }
    }

    /// Whether a record begins with a piece, read from its first base on; `codes` is memory that is used again.
    pub fn begin_record(&self, record: RecordRef<'_>, codes: &mut Vec<u8>) -> bool {
        let flags = record.flags();
        codes.clear();
        codes.extend(record.seq().iter().flat_map(|byte| [byte >> 4, byte & 15]));
        codes.truncate(record.l_seq());
        let is_reverse = !flags.is_unmapped() && flags.is_reverse();
        let is_adapter = self.begin(codes, is_reverse);
        codes.shrink_to(1 << 16);
        is_adapter
    }

    /// Whether a read of these codes begins with a piece, but for one base; with `reverse`, the reverse complement of the
    /// read.
    pub fn begin(&self, bases: &[u8], reverse: bool) -> bool {
        if bases.len() < LENGTH {
            return false;
        }
        let start = if reverse {
            pack(bases.iter().rev().take(LENGTH).map(|&code| complement(code)))
        } else {
            pack(bases.iter().take(LENGTH).copied())
        };
        is_near(&self.by_first, start) || is_near(&self.by_last, start.rotate_left(32))
    }
}

/// Whether a number with the same upper half differs in at most one code.
fn is_near(pieces: &[u64], start: u64) -> bool {
    let from = pieces.partition_point(|&piece| piece >> 32 < start >> 32);
    let same_half = pieces[from..].iter().take_while(|&&piece| piece >> 32 == start >> 32);
    same_half.into_iter().any(|piece| {
        let bits = piece ^ start;
        let codes = (bits | bits >> 1 | bits >> 2 | bits >> 3) & 0x1111_1111_1111_1111;
        codes.count_ones() <= 1
    })
}

fn pack(codes: impl Iterator<Item = u8>) -> u64 {
    codes.fold(0, |packed, code| packed << 4 | u64::from(code))
}

/// The complement of A, C, G and T; other codes stay, as in htsjdk.
fn complement(code: u8) -> u8 {
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
            assert_eq!(adapters.begin(&codes(read), false), is_adapter, "{read}");
        }
        assert!(
            adapters.begin(&codes("AAAACGAGCTCTTCCGATCT"), true),
            "the strand of the machine is compared"
        );
        assert!(!Adapters::new::<&str>(&[]).begin(&codes("AGATCGGAAGAGCTCG"), false));
    }
}
