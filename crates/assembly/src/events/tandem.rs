//! Tandem repeats at an indel.

use readmill_pairwise::HaplotypeEvent;

/// Returns how many bases the repeat has that an indel lengthens or shortens: the greater count of
/// units of both alleles, times the length of the unit (GATK 4.6.2.0 `TandemRepeat`). `following` are
/// the reference bases after the first one of the event. Returns `None` if there is no repeat.
pub(crate) fn measure_tandem_repeat(event: &HaplotypeEvent, following: &[u8]) -> Option<usize> {
    let (reference, alternate) = (&event.reference[1..], &event.alternate[1..]);
    let longer = if alternate.len() > reference.len() { alternate } else { reference };
    let unit = &longer[..find_unit_length(longer)];
    let in_reference_allele = count_leading_units(unit, reference, &[]);
    let in_reference = count_leading_units(unit, reference, following) - in_reference_allele;
    // Fewer units than the reference allele alone count as a repeat, too.
    let in_alternate = count_leading_units(unit, alternate, following).cast_signed()
        - in_reference_allele.cast_signed();
    if in_reference == 0 || in_alternate == 0 {
        return None;
    }
    Some(in_reference.max(in_alternate.max(0).cast_unsigned()) * unit.len())
}

/// Returns the length of the shortest unit that, repeated, makes up all of the bases.
fn find_unit_length(bases: &[u8]) -> usize {
    let is_unit = |&length: &usize| {
        bases.len().is_multiple_of(length) && bases.chunks(length).all(|chunk| chunk == &bases[..length])
    };
    (1..=bases.len()).find(is_unit).unwrap_or(bases.len())
}

/// Returns how often `unit` is repeated at the start of `first` and `second` together.
fn count_leading_units(unit: &[u8], first: &[u8], second: &[u8]) -> usize {
    let mut bases = first.iter().chain(second);
    let mut count = 0;
    while unit.iter().all(|base| bases.next() == Some(base)) {
        count += 1;
    }
    count
}
