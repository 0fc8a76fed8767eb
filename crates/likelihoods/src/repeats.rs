//! Tandem repeats in a read, from which the PCR model takes the probability of an indel.

/// Maximum length of a repeated unit, in bases.
const MAX_UNIT: usize = 8;

/// Maximum number of repeats that is told apart.
pub(crate) const MAX_REPEATS: usize = 20;

/// Returns the number of repeats at the border after the 0-based `offset`, at most [`MAX_REPEATS`],
/// like `findTandemRepeatUnits` of GATK 4.6.2.0.
///
/// The shortest unit that is repeated before the border, and the shortest after it, are found. If
/// they are equal, their repeats add up. Otherwise the repeats of the later unit on both sides count.
///
/// # Panics
/// `offset` is not in `bases`.
pub(crate) fn count_repeats(bases: &[u8], offset: usize) -> usize {
    let (before, after) = bases.split_at(offset + 1);
    let (unit_before, repeats_before) = find_unit(before.len(), |unit| {
        let unit = &before[before.len() - unit..];
        (unit, count_trailing(before, unit))
    });
    if after.is_empty() {
        return repeats_before.min(MAX_REPEATS);
    }
    let (unit_after, repeats_after) = find_unit(after.len(), |unit| {
        let unit = &after[..unit];
        (unit, after.chunks_exact(unit.len()).take_while(|&chunk| chunk == unit).count())
    });
    let repeats_before =
        if unit_before == unit_after { repeats_before } else { count_trailing(before, unit_after) };
    (repeats_before + repeats_after).min(MAX_REPEATS)
}

/// Returns the first unit, by length, that `count` finds more than once, or the unit of 1 base.
fn find_unit<'a>(bases: usize, count: impl Fn(usize) -> (&'a [u8], usize)) -> (&'a [u8], usize) {
    (1..=MAX_UNIT.min(bases)).map(&count).find(|&(_, repeats)| repeats > 1).unwrap_or_else(|| count(1))
}

/// Counts the copies of `unit` with which `bases` ends.
fn count_trailing(bases: &[u8], unit: &[u8]) -> usize {
    bases.rchunks_exact(unit.len()).take_while(|&chunk| chunk == unit).count()
}
