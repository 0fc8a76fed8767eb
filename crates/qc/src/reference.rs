//! The reference, as codes of bases.

use readmill_format::reference::{Matched, Reference, ReferenceWindow, WINDOW_BYTES};
use readmill_record::{Header, Result};

/// The contigs of the reads in a reference. Clones share them.
#[derive(Clone)]
pub(crate) struct ReferenceContigs {
    reference: Reference,
    contigs: Matched,
}

impl ReferenceContigs {
    /// The bytes that each thread takes.
    pub const THREAD_BYTES: u64 = WINDOW_BYTES as u64;

    /// Finds the contigs of `header`.
    ///
    /// # Errors
    /// They are not those of the reference.
    pub fn new(reference: Reference, header: &Header) -> Result<Self> {
        let contigs = Matched::new(&reference, header)?;
        Ok(ReferenceContigs { reference, contigs })
    }

    pub fn file(&self) -> &Reference {
        &self.reference
    }

    /// The number and the length of a contig, as [`Matched::place`].
    #[inline]
    pub fn place(&self, contig: i32) -> Result<Option<(u32, u32)>> {
        self.contigs.place(contig)
    }
}

/// One thread's pages of the reference.
#[derive(Default)]
pub(crate) struct ReferencePages(Option<Box<ReferenceWindow>>);

impl ReferencePages {
    /// The pages, which are those of this reference.
    #[inline]
    pub fn of(&mut self, reference: &ReferenceContigs) -> &mut ReferenceWindow {
        self.0.get_or_insert_with(|| Box::new(reference.reference.bam_code_window()))
    }
}
