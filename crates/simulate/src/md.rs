//! MD, NM and the alignment score of a read, from its bases and the reference.

use crate::names::decimal;
use crate::place::op;

/// The summary of an alignment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    /// Bases of the reference covered.
    pub(crate) covered: usize,
    /// Edit distance.
    pub(crate) edits: u32,
    /// Alignment score as bwa counts it.
    pub(crate) score: u32,
}

/// Compares a read with the reference from `start` on; the text of MD replaces `md`.
pub(crate) fn summarize(
    cigar: &[u32],
    bases: &[u8],
    reference: &[u8],
    start: usize,
    md: &mut Vec<u8>,
) -> Summary {
    md.clear();
    let (mut at, mut read, mut run) = (start, 0, 0);
    let (mut edits, mut score) = (0, 0i64);
    for &element in cigar {
        let (length, operator) = ((element >> 4) as usize, element & 15);
        match operator {
            op::MATCH => {
                let (ours, theirs) = (&bases[read..read + length], &reference[at..at + length]);
                let differing = mismatches(ours, theirs, &mut run, md);
                edits += differing;
                score += length as i64 - 5 * i64::from(differing);
                read += length;
                at += length;
            }
            op::INSERTION => {
                edits += length as u32;
                score -= 6 + length as i64;
                read += length;
            }
            op::DELETION => {
                decimal(run, md);
                run = 0;
                md.push(b'^');
                md.extend_from_slice(&reference[at..at + length]);
                edits += length as u32;
                score -= 6 + length as i64;
                at += length;
            }
            op::SOFT_CLIP => read += length,
            op::SKIP => at += length,
            _ => {}
        }
    }
    decimal(run, md);
    Summary { covered: at - start, edits, score: score.max(0) as u32 }
}

/// Counts mismatches, eight bases at a time, and writes them.
fn mismatches(ours: &[u8], theirs: &[u8], run: &mut u32, md: &mut Vec<u8>) -> u32 {
    let mut count = 0;
    let mut last = 0;
    let mut found = |at: usize| {
        decimal(*run + (at - last) as u32, md);
        md.push(theirs[at]);
        *run = 0;
        last = at + 1;
        count += 1;
    };
    let (left, right) = (ours.as_chunks::<8>(), theirs.as_chunks::<8>());
    for (i, (a, b)) in left.0.iter().zip(right.0).enumerate() {
        let mut differing = u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b);
        while differing != 0 {
            let byte = differing.trailing_zeros() as usize / 8;
            found(8 * i + byte);
            differing &= !(0xFF << (8 * byte));
        }
    }
    for (i, (a, b)) in left.1.iter().zip(right.1).enumerate() {
        if a != b {
            found(8 * left.0.len() + i);
        }
    }
    *run += (ours.len() - last) as u32;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    fn md_of(cigar: &[(u32, u32)], bases: &[u8], reference: &[u8]) -> (String, Summary) {
        let cigar: Vec<u32> = cigar.iter().map(|&(n, o)| n << 4 | o).collect();
        let mut md = Vec::new();
        let summary = summarize(&cigar, bases, reference, 0, &mut md);
        (String::from_utf8(md).expect("ASCII"), summary)
    }

    #[test]
    fn matches_and_mismatches() {
        let (md, s) = md_of(&[(2, 4), (10, 0)], b"TTACGTACGTAC", b"CCGTACGTAG");
        assert_eq!(md, "0C8G0");
        assert_eq!(s, Summary { covered: 10, edits: 2, score: 0 });
    }

    #[test]
    fn insertions_are_not_written_and_deletions_are() {
        let (md, s) =
            md_of(&[(4, 0), (2, 1), (4, 0), (3, 2), (2, 0)], b"ACGTTTACGTAC", b"ACGTACGTGGGTC");
        assert_eq!(md, "8^GGG0T1");
        assert_eq!(s.edits, 6);
        assert_eq!(s.covered, 13);
    }
}
