//! The contigs of reads in a reference.

use std::sync::Arc;

use readmill_record::{Charge, Header, Result};

use super::Reference;

/// Where the contigs of a header lie in a reference. Clones share it.
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
    /// The contigs of `header`, which fit those of `reference` as [`Reference::matches`] says.
    ///
    /// # Errors
    /// They do not fit, or there is no memory for their numbers.
    pub fn new(reference: &Reference, header: &Header) -> Result<Self> {
        let bytes = header.references().len() * size_of::<Option<u32>>();
        let _charge = reference.0.ledger().charge("contigs of the reference", bytes as u64)?;
        let numbers = Arc::new(Numbers { list: reference.matches(header)?, _charge });
        Ok(Matched { reference: reference.clone(), header: header.clone(), numbers })
    }

    /// Returns the number that contig number `contig` of the reads has in the reference, and the bases it has there; None
    /// where the header has no such contig.
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
