//! Alleles of a locus, merged from the events of haplotypes.

use std::fmt;

use readmill_pairwise::HaplotypeEvent;

use crate::alleles::Allele;

/// What genotyping needs of a haplotype.
#[derive(Clone, Copy, Debug)]
pub struct HaplotypeEvents<'a> {
    /// Differences to the reference, by start. No two have the same start.
    pub events: &'a [HaplotypeEvent],
    /// Decimal logarithm of the score of its path in the assembly graph. NaN if it is not a path.
    pub score: f64,
}

impl<'a> HaplotypeEvents<'a> {
    /// Returns the events that start at the locus or span it, like `EventMap.getOverlappingEvents`.
    ///
    /// Where an insertion starts, a deletion that ends at the same base is not seen as spanning.
    fn events_at(self, locus: u32) -> impl Iterator<Item = &'a HaplotypeEvent> {
        let until = self.events.partition_point(|event| event.start <= locus);
        let overlapping = move || self.events[..until].iter().filter(move |event| event.end() >= locus);
        let has_insertion = overlapping().any(HaplotypeEvent::is_simple_insertion);
        overlapping()
            .filter(move |event| !(has_insertion && event.is_simple_deletion() && event.end() == locus))
    }
}

/// The alleles at a locus, and the haplotypes that carry them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocusAlleles {
    /// 1-based position of the first base of the reference allele.
    pub start: u32,
    /// 1-based position of the last base of the reference allele.
    pub end: u32,
    /// The reference, then the alternate alleles in the order in which haplotypes show them.
    pub alleles: Vec<Allele>,
    /// Indices of the haplotypes of each allele, ascending.
    pub haplotypes: Vec<Vec<usize>>,
}

/// Two events at one locus disagree about the bases of the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InconsistentReference {
    /// 1-based position of the locus.
    pub locus: u32,
}

impl fmt::Display for InconsistentReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "events at position {} have different bases of the reference", self.locus)
    }
}

impl std::error::Error for InconsistentReference {}

/// Returns the ascending 1-based positions from `first` to `last` at which any haplotype has an
/// event. Each is a locus to genotype.
pub fn find_loci(haplotypes: &[HaplotypeEvents<'_>], first: u32, last: u32) -> Vec<u32> {
    let starts = haplotypes.iter().flat_map(|haplotype| haplotype.events).map(|event| event.start);
    let mut loci: Vec<u32> = starts.filter(|start| (first..=last).contains(start)).collect();
    loci.sort_unstable();
    loci.dedup();
    loci
}

/// Merges the events of all haplotypes at a locus, like `simpleMerge` and `createAlleleMapper` of
/// GATK 4.6.2.0. `reference_base` is the base of the reference at the locus. Returns `None` if no
/// haplotype has an event there.
///
/// The longest reference allele is that of all; alternate alleles of shorter ones get the missing
/// bases. A haplotype in which an earlier event spans the locus carries `*`, and no other allele.
///
/// ```
/// use readmill_genotypes::{Allele, HaplotypeEvents, merge_events};
/// use readmill_pairwise::HaplotypeEvent;
///
/// let event = |reference: &str, alternate: &str| HaplotypeEvent {
///     start: 7,
///     reference: reference.into(),
///     alternate: alternate.into(),
/// };
/// let (deletion, substitution) = ([event("ACC", "A")], [event("A", "T")]);
/// let haplotype = |events| HaplotypeEvents { events, score: -1.0 };
/// let haplotypes = [haplotype(&[][..]), haplotype(&deletion), haplotype(&substitution)];
/// let locus = merge_events(7, b'A', &haplotypes)?.ok_or("no event")?;
/// assert_eq!(locus.alleles[2], Allele::Alternate(b"TCC".to_vec()));
/// assert_eq!(locus.haplotypes, [[0], [1], [2]]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Two events of one length have different bases of the reference.
pub fn merge_events(
    locus: u32,
    reference_base: u8,
    haplotypes: &[HaplotypeEvents<'_>],
) -> Result<Option<LocusAlleles>, InconsistentReference> {
    let mut events: Vec<&HaplotypeEvent> = Vec::new();
    for event in haplotypes.iter().flat_map(|haplotype| haplotype.events_at(locus)) {
        if !events.contains(&event) {
            events.push(event);
        }
    }
    if events.is_empty() {
        return Ok(None);
    }
    let reference = find_longest_reference(locus, reference_base, &events)?;
    let mut alleles = vec![Allele::Reference(reference.clone())];
    for event in &events {
        let allele = allele_of_event(event, locus, &reference);
        if !alleles.contains(&allele) {
            alleles.push(allele);
        }
    }
    let end = locus + reference.len() as u32 - 1;
    let haplotypes = assign_haplotypes(locus, &reference, &alleles, haplotypes);
    Ok(Some(LocusAlleles { start: locus, end, alleles, haplotypes }))
}

fn find_longest_reference(
    locus: u32,
    reference_base: u8,
    events: &[&HaplotypeEvent],
) -> Result<Vec<u8>, InconsistentReference> {
    let base = [reference_base];
    let mut longest: &[u8] = &[];
    for event in events {
        let reference = if event.start == locus { &event.reference[..] } else { &base };
        if reference.len() > longest.len() {
            longest = reference;
        } else if reference.len() == longest.len() && reference != longest {
            return Err(InconsistentReference { locus });
        }
    }
    Ok(longest.to_vec())
}

/// Returns the allele of an event, with the bases by which `reference` is longer than that of the
/// event.
fn allele_of_event(event: &HaplotypeEvent, locus: u32, reference: &[u8]) -> Allele {
    if event.start != locus {
        return Allele::SpanningDeletion;
    }
    Allele::Alternate([&event.alternate, &reference[event.reference.len()..]].concat())
}

fn assign_haplotypes(
    locus: u32,
    reference: &[u8],
    alleles: &[Allele],
    haplotypes: &[HaplotypeEvents<'_>],
) -> Vec<Vec<usize>> {
    let mut by_allele = vec![Vec::new(); alleles.len()];
    for (index, haplotype) in haplotypes.iter().enumerate() {
        let mut is_reference = true;
        for event in haplotype.events_at(locus) {
            is_reference = false;
            let allele = allele_of_event(event, locus, reference);
            if let Some(at) = alleles.iter().position(|it| *it == allele) {
                by_allele[at].push(index);
            }
            if allele == Allele::SpanningDeletion {
                break;
            }
        }
        if is_reference {
            by_allele[0].push(index);
        }
    }
    by_allele
}
