//! A difference of a haplotype from the reference.

/// A difference of a haplotype from the reference, with one alternate allele, as in a VCF record (GATK
/// 4.6.2.0 `Event`).
///
/// ```
/// use readmill_pairwise::HaplotypeEvent;
///
/// let event = HaplotypeEvent::new(100, b"ACC".to_vec(), b"AC".to_vec()).expect("alleles differ");
/// assert_eq!((&*event.reference, &*event.alternate), (&b"AC"[..], &b"A"[..]));
/// assert_eq!((event.start, event.end()), (100, 101));
/// assert!(event.is_simple_deletion());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HaplotypeEvent {
    /// 1-based position of the first reference base.
    pub start: u32,
    /// Reference bases. Those of an indel start with the base before it.
    pub reference: Vec<u8>,
    /// Bases of the haplotype, in place of the reference bases.
    pub alternate: Vec<u8>,
}

impl HaplotypeEvent {
    /// Returns an event without the bases that both alleles have at the end, if both have several.
    /// Returns `None` if the alleles are equal, or one is empty, perhaps without the end that they have
    /// in common.
    pub fn new(start: u32, mut reference: Vec<u8>, mut alternate: Vec<u8>) -> Option<Self> {
        if reference.is_empty() || alternate.is_empty() || reference == alternate {
            return None;
        }
        if reference.len() > 1 && alternate.len() > 1 {
            let common =
                reference.iter().rev().zip(alternate.iter().rev()).take_while(|(a, b)| a == b).count();
            if common == reference.len() || common == alternate.len() {
                return None;
            }
            reference.truncate(reference.len() - common);
            alternate.truncate(alternate.len() - common);
        }
        Some(HaplotypeEvent { start, reference, alternate })
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

    /// Returns whether bases are only inserted, after one reference base.
    pub fn is_simple_insertion(&self) -> bool {
        self.reference.len() == 1 && self.alternate.len() > 1
    }

    /// Returns whether bases are only deleted, after one reference base.
    pub fn is_simple_deletion(&self) -> bool {
        self.reference.len() > 1 && self.alternate.len() == 1
    }
}
