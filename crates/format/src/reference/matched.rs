//! The contigs of reads, matched with those of a reference.

use std::sync::Arc;

use readmill_record::{Charge, Header, Result};

use super::Reference;

/// The contigs of a header with their indexes in a reference. Clones share them.
#[derive(Clone)]
pub struct Matched {
    reference: Reference,
    header: Header,
    numbers: Arc<Numbers>,
}

struct Numbers {
    list: Vec<Option<u32>>,
    _charge: Charge,
}

impl Matched {
    /// Matches the contigs of `header` with those of `reference`, as [`Reference::matches`] does.
    ///
    /// # Errors
    /// They do not match, or there is no memory for their indexes.
    pub fn new(reference: &Reference, header: &Header) -> Result<Self> {
        let bytes = header.references().len() * size_of::<Option<u32>>();
        let _charge = reference.0.ledger().charge("contigs of the reference", bytes as u64)?;
        let numbers = Arc::new(Numbers { list: reference.matches(header)?, _charge });
        Ok(Matched { reference: reference.clone(), header: header.clone(), numbers })
    }

    /// Returns the index of contig `contig` in the reference, and its length there; `None` if the header has no
    /// such contig.
    ///
    /// # Errors
    /// The reference does not have it.
    #[inline]
    pub fn place(&self, contig: i32) -> Result<Option<(u32, u32)>> {
        let number = usize::try_from(contig).ok().and_then(|contig| self.numbers.list.get(contig));
        match number {
            Some(Some(number)) => Ok(Some((*number, self.reference.length(*number)))),
            Some(None) => Err(self.reference.lacks(&self.header.references()[contig as usize].name)),
            None => Ok(None),
        }
    }
}
