//! The Burrows–Wheeler transform as bwa-mem2 stores it.

use std::path::Path;

use libsais::SuffixArrayConstruction;
use readmill_record::{Error, Result};

use super::partial::Partial;

/// Where the suffixes start, in their order, the empty one aside.
pub(super) enum Suffixes {
    Short(Vec<i32>),
    Long(Vec<i64>),
}

/// Rows between two counts.
const BLOCK: usize = 64;
/// Of so many rows one says where its suffix starts.
const SAMPLED: usize = 8;

/// Whether entries of the suffix array of both strands of so many bases need 8 bytes.
pub(super) fn is_long(bases: u64) -> bool {
    2 * bases >= i32::MAX as u64
}

/// Sorts the suffixes of a text of the letters 0 to 3.
pub(super) fn sort(text: &[u8]) -> Result<Suffixes> {
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
    fn start(&self, row: usize) -> usize {
        match self {
            Suffixes::Short(starts) if row == 0 => starts.len(),
            Suffixes::Long(starts) if row == 0 => starts.len(),
            Suffixes::Short(starts) => starts[row - 1] as usize,
            Suffixes::Long(starts) => starts[row - 1] as usize,
        }
    }
}

/// Writes `.bwt.2bit.64` of a text and its suffixes.
pub(super) fn write(prefix: &Path, text: &[u8], suffixes: &Suffixes) -> Result<Partial> {
    let rows = text.len() + 1;
    let mut file = Partial::new(prefix, ".bwt.2bit.64")?;
    file.write(&(rows as u64).to_le_bytes())?;
    for letter in 0..5 {
        let smaller = text.iter().filter(|&&base| base < letter).count() as u64;
        file.write(&smaller.to_le_bytes())?;
    }
    let end = occurrences(&mut file, text, suffixes)?;
    let sampled = || (0..rows).step_by(SAMPLED).map(|row| suffixes.start(row) as u64);
    for start in sampled() {
        file.write(&[(start >> 32) as u8])?;
    }
    for start in sampled() {
        file.write(&(start as u32).to_le_bytes())?;
    }
    file.write(&(end as u64).to_le_bytes())?;
    Ok(file)
}

/// Writes, for each 64 rows, how often each base stood before, and a mask of the rows of each, the first row in the
/// highest bit. Returns the row whose suffix is the whole text, which no base stands before.
fn occurrences(file: &mut Partial, text: &[u8], suffixes: &Suffixes) -> Result<usize> {
    let rows = text.len() + 1;
    let (mut before, mut end) = ([0u64; 4], 0);
    // bwa-mem2 has a block too many where the rows fill the last one, which an odd number never does.
    for first in (0..rows).step_by(BLOCK) {
        let mut masks = [0u64; 4];
        for row in first..rows.min(first + BLOCK) {
            match suffixes.start(row) {
                0 => end = row,
                start => masks[usize::from(text[start - 1])] |= 1 << (BLOCK - 1 - (row - first)),
            }
        }
        for word in before.iter().chain(&masks) {
            file.write(&word.to_le_bytes())?;
        }
        for (count, mask) in before.iter_mut().zip(masks) {
            *count += u64::from(mask.count_ones());
        }
    }
    Ok(end)
}
