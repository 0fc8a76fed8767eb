//! The suffixes of a text, sorted.

use libsais::SuffixArrayConstruction;
use readmill_record::{Error, Result};

/// Where the suffixes start, in their order, the empty one aside.
pub(crate) enum Suffixes {
    Short(Vec<i32>),
    Long(Vec<i64>),
}

/// Whether entries of the suffix array of both strands of so many bases need 8 bytes.
pub(crate) fn is_long(bases: u64) -> bool {
    2 * bases >= i32::MAX as u64
}

/// Sorts the suffixes of a text of the letters 0 to 3.
pub(crate) fn sort(text: &[u8]) -> Result<Suffixes> {
    let refused = |error: libsais::LibsaisError| Error::bug(format!("libsais: {error}"));
    let construction = SuffixArrayConstruction::for_text(text);
    if is_long(text.len() as u64 / 2) {
        let sorted = construction.in_owned_buffer64().single_threaded().run().map_err(refused)?;
        Ok(Suffixes::Long(sorted.into_vec()))
    } else {
        let sorted = construction.in_owned_buffer32().single_threaded().run().map_err(refused)?;
        Ok(Suffixes::Short(sorted.into_vec()))
    }
}

impl Suffixes {
    /// Where the suffix of a row starts; row 0 is of the empty one.
    pub(crate) fn start(&self, row: usize) -> usize {
        match self {
            Suffixes::Short(starts) if row == 0 => starts.len(),
            Suffixes::Long(starts) if row == 0 => starts.len(),
            Suffixes::Short(starts) => starts[row - 1] as usize,
            Suffixes::Long(starts) => starts[row - 1] as usize,
        }
    }
}
