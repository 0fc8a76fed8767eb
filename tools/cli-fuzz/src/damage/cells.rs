//! Damages binary files of numbers: indexes of BAM and text files, BCF, aligner index files, and
//! stage files.

use readmill_fuzz::changes;
use readmill_simulate::Rng;

use super::numbers::{MAX_BYTES, draw_number};

/// Replaces, removes or repeats one to three numbers of one to eight bytes, mostly at multiples of
/// four bytes. Some changes affect random bytes.
pub fn damage_cells(content: &[u8], other: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut damaged = content.to_vec();
    for _ in 0..=rng.index(3) {
        if damaged.len() < 8 || rng.is_once_in(5) {
            changes::change_bytes(&mut damaged, other, MAX_BYTES, rng);
            continue;
        }
        // The first numbers are usually counts of the data that follows.
        let end = if rng.is_once_in(3) { damaged.len().min(64) } else { damaged.len() };
        let at = rng.index(end / 4 + 1) * 4;
        let at = if rng.is_once_in(4) { at + rng.index(4) } else { at };
        let width = rng.pick(&[1, 2, 4, 4, 4, 8]).min(damaged.len().saturating_sub(at));
        if width == 0 {
            continue;
        }
        match rng.index(6) {
            0 => drop(damaged.drain(at..at + width)),
            1 => {
                let part = damaged[at..at + width].to_vec();
                damaged.splice(at..at, part);
            }
            _ => {
                let mut cell = [0; 8];
                cell[..width].copy_from_slice(&damaged[at..at + width]);
                let number = draw_number(i64::from_le_bytes(cell), rng);
                damaged[at..at + width].copy_from_slice(&number.to_le_bytes()[..width]);
            }
        }
    }
    damaged
}
