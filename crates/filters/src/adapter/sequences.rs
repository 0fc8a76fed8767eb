//! The adapters of library preparation kits, with Picard's names.

use std::str::FromStr;

use readmill_record::{Error, Result};

/// The two adapters of a library, each as it appears in the reads.
///
/// The kit's sequences are given in the 5' to 3' direction of the library. Read 1 ends with the 3'
/// adapter; read 2 ends with the reverse complement of the 5' adapter.
///
/// ```
/// use readmill_filters::adapter::AdapterPair;
///
/// assert!("INDEXED".parse::<AdapterPair>().is_ok()); // a Picard name
/// assert!("indexed".parse::<AdapterPair>().is_ok());
/// assert!(AdapterPair::new("ACGT", "NNNN").is_err()); // only N would match everywhere
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterPair {
    /// The 3' adapter, for read 1 and single reads. A, C, G, T, and N for any base.
    pub(super) first: Vec<u8>,
    /// The reverse complement of the 5' adapter, for read 2.
    pub(super) last: Vec<u8>,
}

/// Name, 5' adapter and 3' adapter (Picard 3.4.0, `ADAPTERS` of MarkIlluminaAdapters; the sequences
/// are those of Illumina's document 1000000002694).
const KNOWN_ADAPTERS: [(&str, &str, &str); 9] = [
    (
        "PAIRED_END",
        "AATGATACGGCGACCACCGAGATCTACACTCTTTCCCTACACGACGCTCTTCCGATCT",
        "AGATCGGAAGAGCGGTTCAGCAGGAATGCCGAGACCGATCTCGTATGCCGTCTTCTGCTTG",
    ),
    (
        "INDEXED",
        "AATGATACGGCGACCACCGAGATCTACACTCTTTCCCTACACGACGCTCTTCCGATCT",
        "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACNNNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
    ),
    (
        "SINGLE_END",
        "AATGATACGGCGACCACCGAGATCTACACTCTTTCCCTACACGACGCTCTTCCGATCT",
        "AGATCGGAAGAGCTCGTATGCCGTCTTCTGCTTG",
    ),
    (
        "NEXTERA_V1",
        "AATGATACGGCGACCACCGAGATCTACACGCCTCCCTCGCGCCATCAGAGATGTGTATAAGAGACAG",
        "CTGTCTCTTATACACATCTCTGAGCGGGCTGGCAAGGCAGACCGNNNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
    ),
    (
        "NEXTERA_V2",
        "AATGATACGGCGACCACCGAGATCTACACNNNNNNNNTCGTCGGCAGCGTCAGATGTGTATAAGAGACAG",
        "CTGTCTCTTATACACATCTCCGAGCCCACGAGACNNNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
    ),
    (
        "DUAL_INDEXED",
        "AATGATACGGCGACCACCGAGATCTACACNNNNNNNNACACTCTTTCCCTACACGACGCTCTTCCGATCT",
        "AGATCGGAAGAGCACACGTCTGAACTCCAGTCACNNNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
    ),
    (
        "FLUIDIGM",
        "AATGATACGGCGACCACCGAGATCTACACTGACGACATGGTTCTACA",
        "AGACCAAGTCTCTGCTACCGTANNNNNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
    ),
    (
        "TRUSEQ_SMALLRNA",
        "AATGATACGGCGACCACCGAGATCTACACGTTCAGAGTTCTACAGTCCGACGATC",
        "TGGAATTCTCGGGTGCCAAGGAACTCCAGTCACNNNNNNATCTCGTATGCCGTCTTCTGCTTG",
    ),
    (
        "ALTERNATIVE_SINGLE_END",
        "AATGATACGGCGACCACCGACAGGTTCAGAGTTCTACAGTCCGACGATC",
        "TCGTATGCCGTCTTCTGCTTG",
    ),
];

impl FromStr for AdapterPair {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match KNOWN_ADAPTERS.iter().find(|(name, ..)| name.eq_ignore_ascii_case(text)) {
            Some((_, five_prime, three_prime)) => Self::new(five_prime, three_prime),
            None => Err(Error::usage(format!("{text:?} is not a known pair of adapters")).hint(
                "--help lists the names; set other adapters with --five-prime-adapter and --three-prime-adapter",
            )),
        }
    }
}

impl AdapterPair {
    /// Creates a pair from two sequences in the form of Picard's options `FIVE_PRIME_ADAPTER` and
    /// `THREE_PRIME_ADAPTER`.
    ///
    /// # Errors
    /// A sequence is empty, has a letter other than A, C, G, T and N, or has only N.
    pub fn new(five_prime: &str, three_prime: &str) -> Result<Self> {
        for text in [five_prime, three_prime] {
            let is_base = |letter: u8| b"ACGTN".contains(&letter.to_ascii_uppercase());
            if !text.bytes().all(is_base) || text.bytes().all(|letter| matches!(letter, b'N' | b'n')) {
                return Err(Error::usage(format!("{text:?} is not an adapter sequence"))
                    .hint("use A, C, G, T, and N for any base"));
            }
        }
        let last =
            five_prime.bytes().rev().map(|base| complement_base(base.to_ascii_uppercase())).collect();
        Ok(AdapterPair { first: three_prime.to_ascii_uppercase().into_bytes(), last })
    }

    /// Returns the pair with each sequence truncated to its first `bases` bases and stripped of
    /// trailing N.
    ///
    /// # Errors
    /// A sequence has only N in its first `bases` bases.
    pub(super) fn truncate_to(&self, bases: usize) -> Result<Self> {
        let cut = |sequence: &[u8]| {
            let prefix_scan = &sequence[..sequence.len().min(bases)];
            let end = prefix_scan.iter().rposition(|&base| base != b'N').map_or(0, |last| last + 1);
            prefix_scan[..end].to_vec()
        };
        let pair = AdapterPair { first: cut(&self.first), last: cut(&self.last) };
        if pair.first.is_empty() || pair.last.is_empty() {
            return Err(Error::usage(format!("an adapter has only N in its first {bases} bases"))
                .hint("raise --adapter-truncation-length"));
        }
        Ok(pair)
    }

    /// Returns the Java `hashCode` of the truncated pair in Picard, which decides which of several
    /// equally frequent adapters remains after pruning.
    pub(super) fn java_hash(&self) -> i32 {
        let hash = |text: &mut dyn Iterator<Item = u8>| {
            text.fold(0i32, |hash, byte| hash.wrapping_mul(31).wrapping_add(i32::from(byte)))
        };
        let five_prime = hash(&mut self.last.iter().rev().map(|&base| complement_base(base)));
        five_prime.wrapping_mul(31).wrapping_add(hash(&mut self.first.iter().copied()))
    }
}

fn complement_base(base: u8) -> u8 {
    match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        b'T' => b'A',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sequences_are_read() {
        for (name, ..) in KNOWN_ADAPTERS {
            assert!(name.to_lowercase().parse::<AdapterPair>().is_ok(), "{name}");
        }
        assert!("INDEX".parse::<AdapterPair>().is_err());
        let pair = AdapterPair::new("acgtN", "TTGNN").unwrap();
        assert_eq!((&pair.last[..], &pair.first[..]), (&b"NACGT"[..], &b"TTGNN"[..]));
        let cut = pair.truncate_to(30).unwrap();
        assert_eq!((&cut.last[..], &cut.first[..]), (&b"NACGT"[..], &b"TTG"[..]));
        assert!(pair.truncate_to(1).is_err());
        for (five_prime, three_prime) in [("", ""), ("ACGT", ""), ("ACGT", "NN"), ("ACRT", "ACG")] {
            assert!(AdapterPair::new(five_prime, three_prime).is_err(), "{five_prime} {three_prime}");
        }
    }

    #[test]
    fn truncated_adapters_of_both_indexings_are_one() {
        let cut = |name: &str| name.parse::<AdapterPair>().unwrap().truncate_to(30).unwrap();
        assert_eq!(cut("INDEXED"), cut("DUAL_INDEXED"));
        assert_ne!(cut("INDEXED"), cut("PAIRED_END"));
    }
}
