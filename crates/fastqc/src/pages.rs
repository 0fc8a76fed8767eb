//! Letters and qualities of a file by position.

use readmill_record::{Result, Room};

use crate::QUALS;
use crate::near::LETTERS;

/// Positions whose memory is taken together.
const PAGE: usize = 64;

/// The counts of a position.
#[derive(Clone)]
pub(crate) struct Position {
    /// A, C, G, T and N.
    pub letters: [u64; LETTERS.len()],
    /// Qualities, the lowest first.
    pub quals: [u64; QUALS],
}

const EMPTY: Position = Position { letters: [0; LETTERS.len()], quals: [0; QUALS] };

/// The counts of all positions.
#[derive(Default)]
pub(crate) struct Pages {
    pages: Vec<Box<[Position]>>,
    /// Positions with letters, and with qualities.
    pub lengths: [usize; 2],
}

impl Pages {
    /// Makes room for reads with so many letters and qualities.
    ///
    /// # Errors
    /// There is no memory for such long reads.
    pub fn lengthen(&mut self, lengths: [usize; 2], room: &Room) -> Result<()> {
        for (known, length) in self.lengths.iter_mut().zip(lengths) {
            *known = (*known).max(length);
        }
        while self.pages.len() * PAGE < lengths[0].max(lengths[1]) {
            // And the list of pages, which may be copied as it grows.
            room.take((PAGE * size_of::<Position>() + 4 * size_of::<Box<[Position]>>()) as u64)?;
            self.pages.push(vec![EMPTY; PAGE].into());
        }
        Ok(())
    }

    /// The counts of a position, which must be within the lengths.
    #[inline]
    pub fn at_mut(&mut self, at: usize) -> &mut Position {
        &mut self.pages[at / PAGE][at % PAGE]
    }

    /// The counts of all positions, of letters or of qualities; there may be some without.
    pub fn iter(&self) -> impl Iterator<Item = &Position> {
        self.pages.iter().flat_map(|page| page.iter())
    }
}
