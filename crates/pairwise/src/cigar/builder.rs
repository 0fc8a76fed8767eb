//! Builds CIGARs in normal form, element by element.

use super::{Cigar, CigarElement, CigarError, CigarOperator, MAX_ELEMENT_LENGTH};
use CigarOperator::{Deletion, HardClip, Insertion, SoftClip};

/// The parts of a CIGAR, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    LeftHardClip,
    LeftSoftClip,
    Middle,
    RightSoftClip,
    RightHardClip,
}

/// Builds a CIGAR in GATK's normal form (GATK 4.6.2.0 `CigarBuilder`).
///
/// Elements of no bases are left out, equal neighbours are merged, a deletion goes before an
/// insertion that it follows, and deletions at the ends are removed unless
/// [`CigarBuilder::keeping_deletions_at_ends`] is used.
///
/// ```
/// use readmill_pairwise::{Cigar, CigarBuilder};
///
/// let mut builder = CigarBuilder::new();
/// builder.add_all(&"3S2D10M5M4I6D1M7D".parse::<Cigar>()?)?;
/// let built = builder.make()?;
/// assert_eq!(built.cigar.to_string(), "3S15M6D4I1M");
/// assert_eq!((built.leading_deletion, built.trailing_deletion), (2, 7));
/// # Ok::<(), readmill_pairwise::CigarError>(())
/// ```
#[derive(Clone, Debug)]
pub struct CigarBuilder {
    elements: Vec<CigarElement>,
    last: Option<CigarOperator>,
    section: Section,
    removes_deletions: bool,
    leading_deletion: usize,
    trailing_deletion: usize,
}

/// A CIGAR, and how many deleted bases at its ends were removed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltCigar {
    /// The elements that are left.
    pub cigar: Cigar,
    /// Deleted reference bases that were removed at the start: the alignment starts so many bases later.
    pub leading_deletion: usize,
    /// Deleted reference bases that were removed at the end. Skipped bases (N) and padding before clips
    /// count, too, as in GATK.
    pub trailing_deletion: usize,
}

impl Default for CigarBuilder {
    fn default() -> CigarBuilder {
        CigarBuilder::new()
    }
}

impl CigarBuilder {
    /// Returns a builder that removes deletions at the ends, for reads.
    pub fn new() -> CigarBuilder {
        CigarBuilder {
            elements: Vec::new(),
            last: None,
            section: Section::LeftHardClip,
            removes_deletions: true,
            leading_deletion: 0,
            trailing_deletion: 0,
        }
    }

    /// Returns a builder that keeps deletions at the ends, for haplotypes, whose CIGARs span a given
    /// part of the reference.
    pub fn keeping_deletions_at_ends() -> CigarBuilder {
        CigarBuilder { removes_deletions: false, ..CigarBuilder::new() }
    }

    /// Appends `length` bases with `operator`.
    ///
    /// # Errors
    ///
    /// Returns [`CigarError::ElementAfterClip`] if the clips at the end have begun and `operator` is
    /// none of them.
    pub fn add(&mut self, length: usize, operator: CigarOperator) -> Result<(), CigarError> {
        if length == 0 {
            return Ok(());
        }
        if self.removes_deletions && operator == Deletion && self.is_at_start() {
            self.leading_deletion += length;
            return Ok(());
        }
        self.advance_section(operator)?;
        let count = self.elements.len();
        let element = CigarElement::new(length, operator);
        match self.last {
            Some(last) if last == operator => self.lengthen(count - 1, length)?,
            Some(last) if operator.is_clip() => self.add_clip(element, last),
            // The last operator stays the insertion.
            Some(Insertion) if operator == Deletion => {
                if count > 1 && self.elements[count - 2].operator() == Deletion {
                    self.lengthen(count - 2, length)?;
                } else {
                    self.elements.insert(count - 1, element);
                }
            }
            _ => {
                self.elements.push(element);
                self.last = Some(operator);
            }
        }
        Ok(())
    }

    /// Appends elements, each as [`CigarBuilder::add`] does.
    ///
    /// # Errors
    ///
    /// Returns the error of the first element that cannot be added.
    pub fn add_all(
        &mut self,
        elements: impl IntoIterator<Item = CigarElement>,
    ) -> Result<(), CigarError> {
        elements.into_iter().try_for_each(|element| self.add(element.length(), element.operator()))
    }

    /// Returns the CIGAR.
    ///
    /// # Errors
    ///
    /// Returns [`CigarError::AllSoftClipped`] or [`CigarError::Empty`].
    pub fn make(mut self) -> Result<BuiltCigar, CigarError> {
        if self.section == Section::LeftSoftClip && self.elements[0].operator() == SoftClip {
            return Err(CigarError::AllSoftClipped);
        }
        let count = self.elements.len();
        let trailing = match self.last {
            Some(Deletion) => Some(count - 1),
            _ if self.ends_in_deletion_and_insertion() => Some(count - 2),
            _ => None,
        };
        if let Some(index) = trailing.filter(|_| self.removes_deletions) {
            self.trailing_deletion += self.elements.remove(index).length();
        }
        if self.elements.is_empty() {
            return Err(CigarError::Empty);
        }
        Ok(BuiltCigar {
            cigar: Cigar::new(self.elements),
            leading_deletion: self.leading_deletion,
            trailing_deletion: self.trailing_deletion,
        })
    }

    /// Returns whether nothing but clips, and perhaps one insertion, was added.
    fn is_at_start(&self) -> bool {
        match self.last {
            None => true,
            Some(last) if last.is_clip() => true,
            Some(Insertion) => {
                let count = self.elements.len();
                count == 1 || self.elements[count - 2].operator().is_clip()
            }
            Some(_) => false,
        }
    }

    fn lengthen(&mut self, index: usize, length: usize) -> Result<(), CigarError> {
        let element = self.elements[index];
        let total = element.length() + length;
        if total > MAX_ELEMENT_LENGTH {
            return Err(CigarError::ElementTooLong { length: total });
        }
        self.elements[index] = CigarElement::new(total, element.operator());
        Ok(())
    }

    /// Appends a clip, and removes a deletion before it.
    fn add_clip(&mut self, clip: CigarElement, last: CigarOperator) {
        let count = self.elements.len();
        if self.removes_deletions && !last.consumes_read() && !last.is_clip() {
            self.trailing_deletion += self.elements[count - 1].length();
            self.elements[count - 1] = clip;
            self.last = Some(clip.operator());
        } else if self.removes_deletions && self.ends_in_deletion_and_insertion() {
            // GATK keeps the insertion as the last operator, so a further clip is not merged.
            self.trailing_deletion += self.elements.remove(count - 2).length();
            self.elements.push(clip);
        } else {
            self.elements.push(clip);
            self.last = Some(clip.operator());
        }
    }

    fn ends_in_deletion_and_insertion(&self) -> bool {
        let count = self.elements.len();
        self.last == Some(Insertion) && count > 1 && self.elements[count - 2].operator() == Deletion
    }

    fn advance_section(&mut self, operator: CigarOperator) -> Result<(), CigarError> {
        use Section::{LeftHardClip, LeftSoftClip, Middle, RightHardClip, RightSoftClip};
        self.section = match (operator, self.section) {
            (HardClip, LeftHardClip) => LeftHardClip,
            (HardClip, _) => RightHardClip,
            (SoftClip, LeftHardClip | LeftSoftClip) => LeftSoftClip,
            (SoftClip, Middle | RightSoftClip) => RightSoftClip,
            (_, LeftHardClip | LeftSoftClip | Middle) => Middle,
            (_, RightSoftClip | RightHardClip) => return Err(CigarError::ElementAfterClip),
        };
        Ok(())
    }
}
