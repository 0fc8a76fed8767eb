//! The Burrows–Wheeler transform as bwa-mem2 stores it.

use std::path::Path;

use readmill_record::Result;

use crate::partial::Partial;
use crate::suffixes::Suffixes;

/// Rows between two counts.
const BLOCK: usize = 64;
/// Of so many rows one says where its suffix starts.
const SAMPLED: usize = 8;

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
