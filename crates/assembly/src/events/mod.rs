//! Differences of haplotypes from the reference.

mod event_map;
mod tandem;

use crate::error::AssemblyError;

pub use event_map::EventMap;
pub(crate) use tandem::measure_tandem_repeat;

/// A difference of a haplotype from the reference, with one alternate allele, as in a VCF record
/// (GATK 4.6.2.0 `Event`).
///
/// ```
/// # use readmill_assembly::Event;
/// let event = Event::new(100, b"ACC".to_vec(), b"AC".to_vec())?;
/// assert_eq!((event.reference.as_slice(), event.alternate.as_slice()), (&b"AC"[..], &b"A"[..]));
/// assert_eq!((event.start, event.end()), (100, 101));
/// assert!(event.is_simple_deletion());
/// # Ok::<(), readmill_assembly::AssemblyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// 1-based position of the first reference base.
    pub start: u32,
    /// Reference bases. Those of an indel start with the base before it.
    pub reference: Vec<u8>,
    /// Bases of the haplotype, in place of the reference bases.
    pub alternate: Vec<u8>,
}

impl Event {
    /// Returns an event without the bases that both alleles have at the end, if both have several.
    ///
    /// # Errors
    /// The alleles are equal, or one is empty, perhaps without the end that they have in common.
    pub fn new(
        start: u32,
        mut reference: Vec<u8>,
        mut alternate: Vec<u8>,
    ) -> Result<Event, AssemblyError> {
        if reference.is_empty() || alternate.is_empty() || reference == alternate {
            return Err(AssemblyError::ConflictingEvents { position: start });
        }
        if reference.len() > 1 && alternate.len() > 1 {
            let common =
                reference.iter().rev().zip(alternate.iter().rev()).take_while(|(a, b)| a == b).count();
            if common == reference.len() || common == alternate.len() {
                return Err(AssemblyError::ConflictingEvents { position: start });
            }
            reference.truncate(reference.len() - common);
            alternate.truncate(alternate.len() - common);
        }
        Ok(Event { start, reference, alternate })
    }

    /// Returns the 1-based position of the last reference base.
    pub fn end(&self) -> u32 {
        self.start + self.reference.len() as u32 - 1
    }

    /// Returns whether one base is replaced.
    pub fn is_snp(&self) -> bool {
        self.reference.len() == 1 && self.alternate.len() == 1
    }

    /// Returns whether the alleles differ in length.
    pub fn is_indel(&self) -> bool {
        self.reference.len() != self.alternate.len()
    }

    /// Returns whether bases are inserted after one reference base.
    pub fn is_simple_insertion(&self) -> bool {
        self.reference.len() == 1 && self.alternate.len() > 1
    }

    /// Returns whether all reference bases but one are deleted.
    pub fn is_simple_deletion(&self) -> bool {
        self.reference.len() > 1 && self.alternate.len() == 1
    }

    /// Combines two events that start at the same position.
    ///
    /// # Errors
    /// Both are SNPs, or they are not an insertion and a deletion.
    fn combine(&self, other: &Event) -> Result<Event, AssemblyError> {
        let conflict = AssemblyError::ConflictingEvents { position: self.start };
        if self.is_snp() || other.is_snp() {
            let (snp, indel) = if self.is_snp() { (self, other) } else { (other, self) };
            if indel.is_snp() {
                return Err(conflict);
            }
            if snp.reference != indel.reference {
                return Event::new(self.start, indel.reference.clone(), snp.alternate.clone());
            }
            let alternate = [&snp.alternate[..], &indel.alternate[1..]].concat();
            return Event::new(self.start, snp.reference.clone(), alternate);
        }
        let (insertion, deletion) =
            if self.is_simple_insertion() { (self, other) } else { (other, self) };
        if !insertion.is_simple_insertion() || !deletion.is_simple_deletion() {
            return Err(conflict);
        }
        Event::new(self.start, deletion.reference.clone(), insertion.alternate.clone())
    }
}

/// Returns the events of all haplotypes, each once: by start, then by the length of the reference
/// allele, then by the alternate allele (GATK 4.6.2.0 `AssemblyResultSet.getVariationEvents`).
pub fn collect_events<'a>(maps: impl IntoIterator<Item = &'a EventMap>) -> Vec<Event> {
    let mut events: Vec<Event> = maps.into_iter().flat_map(EventMap::events).cloned().collect();
    let key = |event: &Event| (event.start, event.reference.len());
    events.sort_by(|a, b| key(a).cmp(&key(b)).then_with(|| a.alternate.cmp(&b.alternate)));
    events.dedup_by(|a, b| key(a) == key(b) && a.alternate == b.alternate);
    events
}
