//! Corrects mismatches in the overlap of two mates (fastp `--correction`).
//!
//! If one base has a quality of at least 30 and the opposite base of the mate a quality of at most
//! 14, the better base replaces the other one. All other mismatches are kept.

use crate::bases::complement;
use crate::overlap::Overlap;

const MIN_TRUSTED_QUALITY: u8 = 33 + 30;

const MAX_CORRECTED_QUALITY: u8 = 33 + 14;

/// A base to replace by the complement of the opposite base in the mate, with the mate's quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Correction {
    pub is_last: bool,
    /// The 0-based index in the slice passed to [`for_each_correction`], not in the whole read.
    pub at: usize,
    pub base: u8,
    pub quality: u8,
}

/// Calls `tell` for each base to correct. Each mate is given as its bases and its qualities
/// (Phred + 33).
///
/// Changes nothing: the caller collects the corrections and applies them to the batch.
pub fn for_each_correction(
    [first, last]: [(&[u8], &[u8]); 2],
    overlap: Overlap,
    mut tell: impl FnMut(Correction),
) {
    if overlap.mismatches == 0 {
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
        if quality >= MIN_TRUSTED_QUALITY && of_mate <= MAX_CORRECTED_QUALITY {
            tell(Correction { is_last: true, at: other, base: complement(base), quality });
        } else if of_mate >= MIN_TRUSTED_QUALITY && quality <= MAX_CORRECTED_QUALITY {
            tell(Correction { is_last: false, at: one, base: complement(mate), quality: of_mate });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_base_becomes_that_of_a_good_mate() {
        // GATTACA and its reverse complement, each with one error and followed by one base of an
        // adapter.
        let first = (&b"GATGACAC"[..], &b"III#IIII"[..]);
        let last = (&b"TGTAATAG"[..], &b"IIIIII#I"[..]);
        let overlap = Overlap { offset: -1, length: 7, mismatches: 2 };
        let mut all = Vec::new();
        for_each_correction([first, last], overlap, |one| all.push(one));
        assert_eq!(
            all,
            [
                Correction { is_last: true, at: 6, base: b'C', quality: b'I' },
                Correction { is_last: false, at: 3, base: b'T', quality: b'I' },
            ]
        );
    }
}
