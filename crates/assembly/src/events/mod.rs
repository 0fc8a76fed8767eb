//! Differences of haplotypes from the reference.

mod event_map;
mod tandem;

use readmill_pairwise::HaplotypeEvent;

use crate::error::AssemblyError;

pub use event_map::EventMap;
pub(crate) use tandem::measure_tandem_repeat;

/// Makes an event of alleles that differ.
///
/// # Errors
/// See [`HaplotypeEvent::new`].
fn make_event(
    start: u32,
    reference: Vec<u8>,
    alternate: Vec<u8>,
) -> Result<HaplotypeEvent, AssemblyError> {
    let conflict = AssemblyError::ConflictingEvents { position: start };
    HaplotypeEvent::new(start, reference, alternate).ok_or(conflict)
}

/// Combines two events that start at the same position.
///
/// # Errors
/// Both are SNPs, or they are not an insertion and a deletion.
fn combine_events(
    first: &HaplotypeEvent,
    second: &HaplotypeEvent,
) -> Result<HaplotypeEvent, AssemblyError> {
    let start = first.start;
    let conflict = AssemblyError::ConflictingEvents { position: start };
    if first.is_snp() || second.is_snp() {
        let (snp, indel) = if first.is_snp() { (first, second) } else { (second, first) };
        if indel.is_snp() {
            return Err(conflict);
        }
        if snp.reference != indel.reference {
            return make_event(start, indel.reference.clone(), snp.alternate.clone());
        }
        let alternate = [&snp.alternate[..], &indel.alternate[1..]].concat();
        return make_event(start, snp.reference.clone(), alternate);
    }
    let (insertion, deletion) =
        if first.is_simple_insertion() { (first, second) } else { (second, first) };
    if !insertion.is_simple_insertion() || !deletion.is_simple_deletion() {
        return Err(conflict);
    }
    make_event(start, deletion.reference.clone(), insertion.alternate.clone())
}

/// Returns the events of all haplotypes, each once: by start, then by the length of the reference
/// allele, then by the alternate allele (GATK 4.6.2.0 `AssemblyResultSet.getVariationEvents`).
pub fn collect_events<'a>(maps: impl IntoIterator<Item = &'a EventMap>) -> Vec<HaplotypeEvent> {
    let mut events: Vec<HaplotypeEvent> = maps.into_iter().flat_map(EventMap::events).cloned().collect();
    let key = |event: &HaplotypeEvent| (event.start, event.reference.len());
    events.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.alternate.cmp(&b.alternate)));
    events.dedup_by(|a, b| key(a) == key(b) && a.alternate == b.alternate);
    events
}
