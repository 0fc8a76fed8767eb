//! Published Illumina adapters and primers, as possible sources of overrepresented sequences.

use std::sync::LazyLock;

const PRIMERS: [(&str, &str); 5] = [
    ("TruSeq Universal Adapter", "AATGATACGGCGACCACCGAGATCTACACTCTTTCCCTACACGACGCTCTTCCGATCT"),
    ("Nextera Transposase Read 1", "TCGTCGGCAGCGTCAGATGTGTATAAGAGACAG"),
    ("Nextera Transposase Read 2", "GTCTCGTGGGCTCGGAGATGTGTATAAGAGACAG"),
    ("TruSeq Small RNA 3' Adapter", "TGGAATTCTCGGGTGCCAAGG"),
    ("TruSeq Small RNA 5' Adapter", "GTTCAGAGTTCTACAGTCCGACGATC"),
];

/// Indexes of the first twelve TruSeq adapters, and the adapter sequence before and after them.
const TRUSEQ_INDEXES: [&str; 12] = [
    "ATCACG", "CGATGT", "TTAGGC", "TGACCA", "ACAGTG", "GCCAAT", "CAGATC", "ACTTGA", "GATCAG", "TAGCTT",
    "GGCTAC", "CTTGTA",
];
const AROUND_INDEX: [&str; 2] = ["GATCGGAAGAGCACACGTCTGAACTCCAGTCAC", "ATCTCGTATGCCGTCTTCTGCTTG"];

static KNOWN_SEQUENCES: LazyLock<Vec<(String, Vec<u8>)>> = LazyLock::new(|| {
    let primers =
        PRIMERS.iter().map(|(name, sequence)| (name.to_string(), sequence.as_bytes().to_vec()));
    let [before, behind] = AROUND_INDEX;
    let indexed = (1..).zip(TRUSEQ_INDEXES).map(|(number, index)| {
        (format!("TruSeq Adapter, Index {number}"), format!("{before}{index}{behind}").into_bytes())
    });
    primers.chain(indexed).collect()
});

/// A match must be longer than this, and may contain one mismatch.
const MIN_MATCH_BASES: usize = 20;

/// Lengths of sequences that are too short for such a match. They must be contained in a known
/// sequence without mismatches.
const SHORT_LENGTHS: std::ops::Range<usize> = 8..MIN_MATCH_BASES;

/// The longest match of two sequences: its length in bases, and the percentage of matching bases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SequenceMatch {
    bases: usize,
    percent: usize,
}

/// Returns the known sequence with the longest match on either strand, as in FastQC's column
/// "Possible Source", or `None` if nothing matches.
pub(crate) fn find_source(sequence: &[u8]) -> Option<String> {
    let mut best: Option<(&str, SequenceMatch)> = None;
    for (name, known) in KNOWN_SEQUENCES.iter() {
        let hit = match_both_strands(known, sequence);
        if let Some(hit) = hit.filter(|hit| best.is_none_or(|(_, best)| hit.bases > best.bases)) {
            best = Some((name, hit));
        }
    }
    best.map(|(name, hit)| format!("{name} ({}% over {}bp)", hit.percent, hit.bases))
}

fn match_both_strands(known: &[u8], sequence: &[u8]) -> Option<SequenceMatch> {
    let complement = |base: &u8| match base {
        b'A' => b'T',
        b'C' => b'G',
        b'G' => b'C',
        _ => b'A',
    };
    let strands = [known.to_vec(), known.iter().rev().map(complement).collect()];
    let holds = |strand: &Vec<u8>| strand.windows(sequence.len()).any(|part| part == sequence);
    if SHORT_LENGTHS.contains(&sequence.len()) && strands.iter().any(holds) {
        return Some(SequenceMatch { bases: sequence.len(), percent: 100 });
    }
    let mut best: Option<SequenceMatch> = None;
    for strand in &strands {
        // `start` is the position in `sequence` at which the known sequence begins; negative if it
        // begins earlier.
        for start in (MIN_MATCH_BASES as isize - strand.len() as isize)
            ..(sequence.len() as isize - MIN_MATCH_BASES as isize)
        {
            let hit = match_at_offset(strand, sequence, start);
            if let Some(hit) = hit.filter(|hit| best.is_none_or(|best| hit.bases > best.bases)) {
                best = Some(hit);
            }
        }
    }
    best
}

/// Finds the longest stretch with at most one mismatch if base 0 of `known` is aligned to position
/// `start` of `sequence`.
fn match_at_offset(known: &[u8], sequence: &[u8], start: isize) -> Option<SequenceMatch> {
    let mut best: Option<SequenceMatch> = None;
    // The current stretch, from its first base to its last match, and the number of mismatches in
    // it.
    let (mut first, mut last, mut others) = (0, 0, 0);
    let mut note = |first: usize, last: usize, others: usize| {
        let bases = 1 + last - first.min(last + 1);
        let hit = SequenceMatch { bases, percent: (bases.saturating_sub(others)) * 100 / bases.max(1) };
        let is_better = best.is_none_or(|best| (hit.bases, hit.percent) > (best.bases, best.percent));
        if bases > MIN_MATCH_BASES && is_better {
            best = Some(hit);
        }
    };
    for (at, &base) in known.iter().enumerate() {
        let Ok(place) = usize::try_from(at as isize + start) else {
            first = at + 1;
            continue;
        };
        let Some(&other) = sequence.get(place) else { break };
        if base == other {
            last = at;
            continue;
        }
        others += 1;
        if others > 1 {
            note(first, last, others - 1);
            (first, last, others) = (at + 1, at + 1, 0);
        }
    }
    note(first, last, others);
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_sequences_are_explained() {
        let of = |sequence: &str| find_source(sequence.as_bytes());
        let first = "GATCGGAAGAGCACACGTCTGAACTCCAGTCACATCACGATCTCGTATGC";
        assert_eq!(of(first).unwrap(), "TruSeq Adapter, Index 1 (100% over 50bp)");
        assert_eq!(
            of(&first.replace("ATCACG", "CGATGT")).unwrap(),
            "TruSeq Adapter, Index 2 (100% over 50bp)"
        );
        assert_eq!(
            of("AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGT").unwrap(),
            "TruSeq Universal Adapter (100% over 33bp)"
        );
        assert_eq!(of("GAATTCTCGG").unwrap(), "TruSeq Small RNA 3' Adapter (100% over 10bp)");
        assert_eq!(of(&"A".repeat(50)), None);
        assert_eq!(of(""), None);
        let one_other = "GATCGGAAGAGCACACGTCTGAACACCAGTCACATCACGATCTCGTATGC";
        assert_eq!(of(one_other).unwrap(), "TruSeq Adapter, Index 1 (98% over 50bp)");
    }
}
