//! Reference bases as GATK reads them.

use std::sync::Arc;

use readmill_record::{Error, Result};

use crate::ContigSpan;

/// A contig of the reference, whole: the ends of regions and intervals depend on its length. Clones
/// share the bases.
///
/// ```
/// use readmill_regions::{Contig, ContigSpan};
///
/// let contig = Contig::new(0, b"chr1", *b"ACGTN");
/// assert_eq!(contig.length(), 5);
/// assert_eq!(contig.slice(ContigSpan { start: 2, end: 4 }), b"CGT");
/// ```
#[derive(Clone, Debug)]
pub struct Contig {
    /// Index in the header.
    pub index: usize,
    /// Name, for messages.
    pub name: Arc<[u8]>,
    /// All bases, in upper case and with N for all codes that are not A, C, G or T
    /// ([`normalize_reference`]).
    pub bases: Arc<[u8]>,
}

impl Contig {
    /// Creates a contig from its index in the header, its name and its bases.
    pub fn new(index: usize, name: &[u8], bases: impl Into<Arc<[u8]>>) -> Self {
        Contig { index, name: name.into(), bases: bases.into() }
    }

    /// Returns the number of bases.
    pub fn length(&self) -> i32 {
        self.bases.len() as i32
    }

    /// Returns the bases of a span.
    ///
    /// # Panics
    /// The span is not within the contig.
    pub fn slice(&self, span: ContigSpan) -> &[u8] {
        &self.bases[span.start as usize - 1..span.end as usize]
    }
}

/// Makes bases upper case, and N of each IUPAC code of several bases, as GATK does when it reads a FASTA
/// file.
///
/// ```
/// let mut bases = *b"acgtRyNx";
/// assert!(readmill_regions::normalize_reference(&mut bases).is_err(), "x is no base");
/// readmill_regions::normalize_reference(&mut bases[..7])?;
/// assert_eq!(&bases[..7], b"ACGTNNN");
/// # Ok::<(), readmill_record::Error>(())
/// ```
///
/// # Errors
/// A byte is not a base of IUPAC's code.
pub fn normalize_reference(bases: &mut [u8]) -> Result<()> {
    for base in bases {
        *base = match base.to_ascii_uppercase() {
            kept @ (b'A' | b'C' | b'G' | b'T' | b'N') => kept,
            b'R' | b'Y' | b'M' | b'K' | b'W' | b'S' | b'B' | b'D' | b'H' | b'V' => b'N',
            other => {
                let shown = other.escape_ascii();
                return Err(Error::input(format!("the reference has {shown:?}, which is not a base")));
            }
        };
    }
    Ok(())
}
