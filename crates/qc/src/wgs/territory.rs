//! The positions that count: those of the reference, or of intervals, that are not N.

use readmill_format::intervals::Intervals;
use readmill_format::reference::Window;
use readmill_record::Result;

use crate::counts::count_bytes;
use crate::read::N;
use crate::reference::ReferenceContigs;

/// Positions of a piece.
const PIECE: u32 = 1 << 22;

/// Positions that are counted at once.
const AT_ONCE: u32 = 1 << 14;

/// A scan of the reference, piece by piece, on any number of threads.
pub struct TerritoryScan {
    reference: ReferenceContigs,
    intervals: Option<Intervals>,
    contigs: u32,
}

/// Positions of a contig: the first one, and the one after the last.
pub struct TerritoryPiece {
    contig: u32,
    from: u32,
    to: u32,
}

impl TerritoryScan {
    /// A scan of so many contigs.
    pub(super) fn new(reference: ReferenceContigs, intervals: Option<Intervals>, contigs: u32) -> Self {
        TerritoryScan { reference, intervals, contigs }
    }

    /// The pieces.
    ///
    /// # Errors
    /// The reference lacks a contig of the reads.
    pub fn pieces(&self) -> impl Iterator<Item = Result<TerritoryPiece>> + Send {
        (0..self.contigs).flat_map(|contig| {
            let (length, error) = match self.reference.place(contig.cast_signed()) {
                Ok(place) => (place.map_or(0, |(_, length)| length), None),
                Err(error) => (0, Some(Err(error))),
            };
            let starts = (0..length).step_by(PIECE as usize);
            let pieces = starts.map(move |from| {
                Ok(TerritoryPiece { contig, from, to: length.min(from.saturating_add(PIECE)) })
            });
            error.into_iter().chain(pieces)
        })
    }

    /// A reader of one thread.
    pub fn worker(&self) -> Window {
        self.reference.file().codes()
    }

    /// Returns how many positions of a piece count.
    pub fn count(&self, bases: &mut Window, piece: &TerritoryPiece) -> Result<u64> {
        let &TerritoryPiece { contig, from, to } = piece;
        let Some((number, _)) = self.reference.place(contig.cast_signed())? else { return Ok(0) };
        let (mut at, mut count) = (from, 0);
        while at < to {
            let (first, end) = match &self.intervals {
                None => (at, to),
                Some(intervals) => match intervals.next_on(contig, at) {
                    Some((first, end)) => (first.max(at), end.min(to)),
                    None => break,
                },
            };
            for first in (first..end).step_by(AT_ONCE as usize) {
                let codes = bases.codes(number, first, end.min(first + AT_ONCE))?;
                count += count_bytes(codes, |code| code != N);
            }
            at = end.max(at + 1);
            if first >= to {
                break;
            }
        }
        Ok(count)
    }
}
