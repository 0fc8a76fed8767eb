//! Removal of bases that all alleles share at their right end.

use crate::alleles::{Allele, CalledVariant};

/// Removes the bases that the reference and all alternate alleles share at their right end, but
/// leaves each at least one base, like `reverseTrimAlleles` of GATK 4.6.2.0. GATK does so after
/// annotation if alleles were dropped from the call.
pub fn trim_right(variant: &mut CalledVariant) {
    let bases = || variant.alleles.iter().filter_map(Allele::bases);
    let Some(shortest) = bases().map(<[u8]>::len).min() else { return };
    let from_end = |bases: &[u8], i: usize| bases[bases.len() - 1 - i];
    let is_shared = |&i: &usize| {
        let mut at_end = bases().map(|bases| from_end(bases, i));
        let first = at_end.next();
        at_end.all(|base| Some(base) == first)
    };
    let shared = (0..shortest - 1).take_while(is_shared).count();
    for allele in &mut variant.alleles {
        if let Allele::Reference(bases) | Allele::Alternate(bases) = allele {
            bases.truncate(bases.len() - shared);
        }
    }
    variant.end -= shared as u32;
}
