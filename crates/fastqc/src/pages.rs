//! Base and quality counts by position, allocated page by page as longer reads occur.

use readmill_record::{CountingRoom, Result};

use crate::QUAL_COUNT;
use crate::near::LETTERS;

const PAGE_POSITIONS: usize = 64;

#[derive(Clone)]
pub(crate) struct FastqcPosition {
    pub letters: [u64; LETTERS.len()],
    pub quals: [u64; QUAL_COUNT],
}

const EMPTY: FastqcPosition = FastqcPosition { letters: [0; LETTERS.len()], quals: [0; QUAL_COUNT] };

/// The counts of all positions of a file.
///
/// Pages are never moved, so growing needs no second copy of the counts.
#[derive(Default)]
pub(crate) struct Pages {
    pages: Vec<Box<[FastqcPosition]>>,
    /// Number of positions with bases, and with qualities. They differ if a record lacks either.
    pub lengths: [usize; 2],
}

impl Pages {
    /// Allocates pages for reads with `lengths` bases and qualities.
    ///
    /// # Errors
    /// The memory of the run is too small for reads of this length.
    pub fn grow_to(&mut self, lengths: [usize; 2], room: &CountingRoom) -> Result<()> {
        for (known, length) in self.lengths.iter_mut().zip(lengths) {
            *known = (*known).max(length);
        }
        while self.pages.len() * PAGE_POSITIONS < lengths[0].max(lengths[1]) {
            // The list of pages is charged as well: it may be copied when it grows.
            room.take_bytes(
                (PAGE_POSITIONS * size_of::<FastqcPosition>() + 4 * size_of::<Box<[FastqcPosition]>>())
                    as u64,
            )?;
            self.pages.push(vec![EMPTY; PAGE_POSITIONS].into());
        }
        Ok(())
    }

    /// Returns the counts of a 0-based position, for which [`Pages::grow_to`] must have allocated
    /// memory.
    #[inline]
    pub fn at_mut(&mut self, at: usize) -> &mut FastqcPosition {
        &mut self.pages[at / PAGE_POSITIONS][at % PAGE_POSITIONS]
    }

    pub fn iter(&self) -> impl Iterator<Item = &FastqcPosition> {
        self.pages.iter().flat_map(|page| page.iter())
    }
}
