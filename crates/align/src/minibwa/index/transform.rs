//! The Burrows–Wheeler transform as minibwa stores it.

use std::path::Path;

use readmill_record::Result;

use crate::partial::Partial;
use crate::suffixes::Suffixes;

/// Rows of a block.
const BLOCK: usize = 128;
/// Rows of its first half, whose counts stand above the others.
const HALF: usize = BLOCK / 2;
/// Where in a word they stand.
const HALF_SHIFT: u32 = 56;
/// Of 2 to this power of rows one says where its suffix starts.
const SAMPLED: u32 = 4;

/// Writes `.mbw` of a text and its suffixes.
pub(super) fn write(prefix: &Path, text: &[u8], suffixes: &Suffixes) -> Result<Partial> {
    let mut file = Partial::new(prefix, ".mbw")?;
    // The row whose suffix is the whole text, which no base stands before.
    let end = (0..=text.len()).find(|&row| suffixes.start(row) == 0).unwrap_or(0);
    file.write(b"MBW\x02")?;
    file.write(&SAMPLED.to_le_bytes())?;
    file.write(&(end as u64).to_le_bytes())?;
    for letter in 0..4 {
        let up_to = text.iter().filter(|&&base| base <= letter).count() as u64;
        file.write(&up_to.to_le_bytes())?;
    }
    blocks(&mut file, text, suffixes, end)?;
    let samples = (text.len() >> SAMPLED) as u64 + 1;
    file.write(&samples.to_le_bytes())?;
    // The row of the empty suffix has no place.
    file.write(&u64::MAX.to_le_bytes())?;
    for row in (0..=text.len()).step_by(1 << SAMPLED).skip(1) {
        file.write(&(suffixes.start(row) as u64).to_le_bytes())?;
    }
    Ok(file)
}

/// Writes, for each 128 rows, that of the end left out: how often each base stood before, and how often it does in the
/// first half if there is a second; the bases, 32 in a word, the first in the lowest bits. Behind them, the last counts.
fn blocks(file: &mut Partial, text: &[u8], suffixes: &Suffixes, end: usize) -> Result<()> {
    let mut before = [0u64; 4];
    for first in (0..text.len()).step_by(BLOCK) {
        let (mut words, mut counts, mut half) = ([0u64; BLOCK / 32], before, before);
        for at in first..text.len().min(first + BLOCK) {
            let (row, within) = (at + usize::from(at >= end), at - first);
            if within == HALF {
                for (half, count) in half.iter_mut().zip(counts) {
                    *half |= (count - *half) << HALF_SHIFT;
                }
            }
            let base = text[suffixes.start(row) - 1];
            counts[usize::from(base)] += 1;
            words[within / 32] |= u64::from(base) << (2 * (within % 32));
        }
        for word in half.iter().chain(&words) {
            file.write(&word.to_le_bytes())?;
        }
        before = counts;
    }
    before.iter().try_for_each(|count| file.write(&count.to_le_bytes()))
}
