//! Bases that are corrected where mates overlap.

use crate::bases::complement;
use crate::overlap::Overlap;

/// The lowest quality of a base that is trusted, in text.
const GOOD: u8 = 33 + 30;

/// The highest quality of a base that is corrected, in text.
const BAD: u8 = 33 + 14;

/// A new base, with the quality of the one that it is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction {
    /// Whether it is of the last read.
    pub is_last: bool,
    /// Its place in the read.
    pub at: usize,
    /// The base.
    pub base: u8,
    /// Its quality, in text.
    pub quality: u8,
}

/// Tells the corrections of mates, given by their bases and qualities.
pub fn corrections(
    [first, last]: [(&[u8], &[u8]); 2],
    overlap: Overlap,
    mut tell: impl FnMut(Correction),
) {
    if overlap.differing == 0 {
        return;
    }
    let start = overlap.offset.max(0) as usize;
    let end = last.0.len() - overlap.offset.min(0).unsigned_abs();
    for at in 0..overlap.length {
        let (one, other) = (start + at, end - 1 - at);
        let (base, mate) = (first.0[one], last.0[other]);
        if base == complement(mate) {
            continue;
        }
        let (quality, of_mate) = (first.1[one], last.1[other]);
        if quality >= GOOD && of_mate <= BAD {
            tell(Correction { is_last: true, at: other, base: complement(base), quality });
        } else if of_mate >= GOOD && quality <= BAD {
            tell(Correction { is_last: false, at: one, base: complement(mate), quality: of_mate });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_base_becomes_that_of_a_good_mate() {
        // GATTACA, and its reverse complement, each with an error, and a base of an adapter behind it.
        let first = (&b"GATGACAC"[..], &b"III#IIII"[..]);
        let last = (&b"TGTAATAG"[..], &b"IIIIII#I"[..]);
        let overlap = Overlap { offset: -1, length: 7, differing: 2 };
        let mut all = Vec::new();
        corrections([first, last], overlap, |one| all.push(one));
        assert_eq!(
            all,
            [
                Correction { is_last: true, at: 6, base: b'C', quality: b'I' },
                Correction { is_last: false, at: 3, base: b'T', quality: b'I' },
            ]
        );
    }
}
