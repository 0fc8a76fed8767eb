//! Reference bases as GATK reads them.

use readmill_record::{Error, Result};

/// A part of a contig in memory, in upper case and with N for all codes that are not A, C, G or T
/// ([`normalize_reference`]).
#[derive(Clone, Copy, Debug)]
pub struct ReferenceWindow<'a> {
    /// Position of the first base, 1-based.
    pub start: i32,
    /// Bases from there on, one byte each.
    pub bases: &'a [u8],
}

impl<'a> ReferenceWindow<'a> {
    /// Wraps the bases of a whole contig.
    pub fn of_contig(bases: &'a [u8]) -> Self {
        ReferenceWindow { start: 1, bases }
    }

    /// Returns the bases from position `start` (1-based) on.
    ///
    /// # Panics
    /// The position is not in the window or right behind it.
    pub fn bases_from(&self, start: i32) -> &'a [u8] {
        &self.bases[(start - self.start) as usize..]
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
