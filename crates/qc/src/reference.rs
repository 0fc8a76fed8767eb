//! The reference as BAM base codes, which programs compare with the bases of reads.

use readmill_format::reference::{Matched, Reference, ReferenceWindow, WINDOW_BYTES};
use readmill_record::{Header, Result};

/// The reference, with its contigs matched to the contigs of the header. Clones share the data.
#[derive(Clone)]
pub(crate) struct ReferenceContigs {
    reference: Reference,
    contigs: Matched,
}

impl ReferenceContigs {
    /// Memory of the reference window per thread, in bytes.
    pub const THREAD_BYTES: u64 = WINDOW_BYTES as u64;

    /// Matches the contigs of `header` to the reference by name.
    ///
    /// # Errors
    /// The length of a contig in the reference differs from its length in the header.
    pub fn new(reference: Reference, header: &Header) -> Result<Self> {
        let contigs = Matched::new(&reference, header)?;
        Ok(ReferenceContigs { reference, contigs })
    }

    pub fn file(&self) -> &Reference {
        &self.reference
    }

    /// Returns the index of a contig in the reference, and its length in bases. `contig` is its
    /// index in the header. See [`Matched::locate_contig`].
    #[inline]
    pub fn place(&self, contig: i32) -> Result<Option<(u32, u32)>> {
        self.contigs.locate_contig(contig)
    }
}

/// The window of the reference that one thread has read. It is allocated at its first use.
#[derive(Default)]
pub(crate) struct ReferencePages(Option<Box<ReferenceWindow>>);

impl ReferencePages {
    /// Returns the window. All calls must pass the same reference.
    #[inline]
    pub fn window_of(&mut self, reference: &ReferenceContigs) -> &mut ReferenceWindow {
        self.0.get_or_insert_with(|| Box::new(reference.reference.bam_code_window()))
    }
}
