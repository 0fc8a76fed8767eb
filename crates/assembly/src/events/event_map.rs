//! The events of one haplotype.

use std::ops::Range;

use readmill_pairwise::{CigarError, CigarOperator, HaplotypeEvent};

use super::{combine_events, make_event};
use crate::error::AssemblyError;
use crate::haplotype::Haplotype;
use crate::region_reference::RegionReference;

/// The events of a haplotype, at most one at each start position (GATK 4.6.2.0 `EventMap`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventMap {
    events: Vec<HaplotypeEvent>,
}

impl EventMap {
    /// Finds the events in the alignment of a haplotype.
    ///
    /// Mismatches are SNPs, and neighbours are not merged. An event with a base other than A, C, G and
    /// T is left out, and so is an insertion at an end of the haplotype. Events that start at one
    /// position are combined.
    ///
    /// # Errors
    /// See [`AssemblyError::ConflictingEvents`].
    ///
    /// # Panics
    /// The haplotype has fewer bases than its CIGAR, or starts beyond the bases of `reference`.
    pub fn of_haplotype(
        haplotype: &Haplotype,
        reference: &RegionReference<'_>,
    ) -> Result<EventMap, AssemblyError> {
        let mut map = EventMap::default();
        let (mut at, mut own) = (haplotype.reference_index, 0);
        let count = haplotype.cigar.len();
        for (index, element) in haplotype.cigar.iter().enumerate() {
            let length = element.length();
            match element.operator() {
                CigarOperator::Insertion => {
                    if at > 0 && index > 0 && index + 1 < count {
                        let inserted = &haplotype.bases[own..own + length];
                        map.add_indel(reference, at - 1..at, inserted)?;
                    }
                }
                CigarOperator::Deletion => {
                    if at > 0 {
                        map.add_indel(reference, at - 1..at + length, &[])?;
                    }
                }
                CigarOperator::Match | CigarOperator::Equal | CigarOperator::Mismatch => {
                    map.add_snps(reference, at, &haplotype.bases[own..own + length])?;
                }
                CigarOperator::SoftClip => {}
                operator => return Err(CigarError::UnknownOperator(operator as u8).into()),
            }
            at += element.reference_length();
            own += element.read_length();
        }
        Ok(map)
    }

    /// Returns the events, by position.
    pub fn events(&self) -> &[HaplotypeEvent] {
        &self.events
    }

    /// Returns the events that overlap a 1-based position. If an insertion is among them, deletions
    /// that end there are left out.
    pub fn overlapping(&self, position: u32) -> Vec<&HaplotypeEvent> {
        let overlaps = |event: &&HaplotypeEvent| event.start <= position && position <= event.end();
        let mut events: Vec<&HaplotypeEvent> = self.events.iter().filter(overlaps).collect();
        if events.iter().any(|event| event.is_simple_insertion()) {
            events.retain(|event| !(event.is_simple_deletion() && event.end() == position));
        }
        events
    }

    /// Adds an event that replaces the reference bases `range` by the first of them and `inserted`.
    fn add_indel(
        &mut self,
        reference: &RegionReference<'_>,
        range: Range<usize>,
        inserted: &[u8],
    ) -> Result<(), AssemblyError> {
        let start = reference.position(range.start);
        let Some(bases) = reference.bases.get(range) else {
            return Ok(());
        };
        let alternate = [&bases[..1], inserted].concat();
        if bases.iter().chain(&alternate).all(|&base| is_regular(base)) {
            self.add(make_event(start, bases.to_vec(), alternate)?)?;
        }
        Ok(())
    }

    fn add_snps(
        &mut self,
        reference: &RegionReference<'_>,
        start: usize,
        bases: &[u8],
    ) -> Result<(), AssemblyError> {
        for (index, (&from, &to)) in (start..).zip(reference.bases[start..].iter().zip(bases)) {
            if from != to && is_regular(from) && is_regular(to) {
                self.add(make_event(reference.position(index), vec![from], vec![to])?)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, event: HaplotypeEvent) -> Result<(), AssemblyError> {
        match self.events.binary_search_by_key(&event.start, |event| event.start) {
            Ok(index) => self.events[index] = combine_events(&self.events[index], &event)?,
            Err(index) => self.events.insert(index, event),
        }
        Ok(())
    }
}

fn is_regular(base: u8) -> bool {
    matches!(base, b'A' | b'C' | b'G' | b'T')
}
