//! Bases as bytes.

use crate::rng::Rng;

/// Bases without any structure.
pub(crate) fn random_bases(rng: &mut Rng, length: usize) -> Vec<u8> {
    (0..length).map(|_| b"ACGT"[rng.below(4) as usize]).collect()
}

/// The complement of a base; anything but A, C, G and T stays.
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

/// Reverses and complements bases in place.
pub(crate) fn reverse_complement(bases: &mut [u8]) {
    bases.reverse();
    bases.iter_mut().for_each(|b| *b = complement(*b));
}
