//! The totals of a file. Pieces are added in file order.

use readmill_record::{CountingRoom, Result};

use crate::adapters::{self, ADAPTERS};
use crate::distinct::{self, DistinctSequences};
use crate::gc::{self, GcCounts};
use crate::near::{LETTERS, NEAR_POSITIONS};
use crate::pages::Pages;
use crate::piece::{FastqcPiece, PieceSequences};
use crate::tiles::Tiles;
use crate::{MIN_QUAL_CHAR, QUAL_COUNT};

pub(crate) struct Totals {
    pub reads: u64,
    pub lowest: u8,
    pub lengths: Vec<u64>,
    pub positions: Pages,
    pub mean_quals: [u64; QUAL_COUNT],
    pub gc: GcCounts,
    pub adapters: AdapterStarts,
    pub seen: Vec<u64>,
    /// Number of reads counted while new sequences were still being tracked. The duplication module
    /// extrapolates from it.
    pub reads_at_limit: u64,
    pub tiles: Tiles,
}

#[derive(Default)]
pub(crate) struct AdapterStarts {
    pub starts: [Vec<u64>; ADAPTERS.len()],
    /// Length of the longest read longer than an adapter's 12 bases; 0 if there is none.
    pub longest: u32,
}

impl Totals {
    pub const BYTES: u64 = GcCounts::BYTES + Tiles::BYTES + DistinctSequences::BYTES + (64 << 10);

    pub fn new() -> Self {
        Totals {
            reads: 0,
            lowest: u8::MAX,
            lengths: Vec::new(),
            positions: Pages::default(),
            mean_quals: [0; QUAL_COUNT],
            gc: GcCounts::default(),
            adapters: AdapterStarts::default(),
            seen: Vec::new(),
            reads_at_limit: 0,
            tiles: Tiles::default(),
        }
    }

    /// Adds the next piece in file order, and clears it.
    ///
    /// Sequences are looked up in `known` if it is given. Otherwise new ones are added to `growing`
    /// until it has the maximum number of tracked sequences.
    ///
    /// # Errors
    /// The memory of the run is too small for the length of the reads or the number of tiles.
    pub fn add_piece(
        &mut self,
        piece: &mut FastqcPiece,
        growing: &mut DistinctSequences,
        known: Option<&DistinctSequences>,
        room: &CountingRoom,
    ) -> Result<()> {
        self.add_shapes(piece, room)?;
        self.add_positions(piece, room)?;
        self.lowest = self.lowest.min(piece.lowest);
        for (all, &more) in self.mean_quals.iter_mut().zip(&piece.mean_quals) {
            *all += u64::from(more);
        }
        self.add_sequences(&piece.sequences, growing, known);
        let mut quals = &piece.tile_quals[..];
        for sample in &piece.tiles {
            let (own, rest) = quals.split_at(sample.quals as usize);
            self.tiles.add_sample(sample, own, room)?;
            quals = rest;
        }
        self.reads += piece.length_and_gc.len() as u64;
        Ok(())
    }

    /// Adds read lengths, GC counts and adapters. They are added together because FastQC counts an
    /// adapter in a read of exactly 12 bases only after a longer read.
    fn add_shapes(&mut self, piece: &FastqcPiece, room: &CountingRoom) -> Result<()> {
        let mut adapters = piece.adapters.iter().peekable();
        for (number, &(length, gc)) in (0..).zip(&piece.length_and_gc) {
            if self.lengths.len() <= length as usize {
                room.lengthen_list(&mut self.lengths, length as usize + 1, usize::MAX)?;
            }
            self.lengths[length as usize] += 1;
            let looked_at = gc::used_bases(length as usize) as u32;
            if looked_at > 0 {
                self.gc.add_read(looked_at, gc);
            }
            if length as usize > adapters::ADAPTER_BASES {
                self.adapters.longest = self.adapters.longest.max(length);
            }
            while let Some(&(_, which, at)) = adapters.next_if(|it| it.0 == number) {
                self.adapters.add_start(which, at, room)?;
            }
        }
        Ok(())
    }

    fn add_positions(&mut self, piece: &mut FastqcPiece, room: &CountingRoom) -> Result<()> {
        let FastqcPiece { near_counts: near, far_bytes: far, far_lengths, .. } = piece;
        let mut lengths = [0; 2];
        let (letters, quals) = near.lengths();
        lengths[0] = letters;
        lengths[1] = quals;
        for rest in &*far_lengths {
            for (length, &rest) in lengths.iter_mut().zip(rest) {
                *length = (*length).max(if rest > 0 { NEAR_POSITIONS + rest as usize } else { 0 });
            }
        }
        self.positions.grow_to(lengths, room)?;
        let positions = std::cell::RefCell::new(&mut self.positions);
        near.drain(
            |at, counts| {
                let mut positions = positions.borrow_mut();
                for (all, more) in positions.at_mut(at).letters.iter_mut().zip(counts) {
                    *all += u64::from(more);
                }
            },
            |at, counts| {
                let mut positions = positions.borrow_mut();
                for (all, &more) in positions.at_mut(at).quals.iter_mut().zip(counts) {
                    *all += u64::from(more);
                }
            },
        );
        let mut text = &far[..];
        for &[letters, quals] in &*far_lengths {
            let (bases, rest) = text.split_at(letters as usize);
            let (quals, rest) = rest.split_at(quals as usize);
            text = rest;
            for (at, &base) in (NEAR_POSITIONS..).zip(bases) {
                if let Some(letter) = LETTERS.iter().position(|&letter| letter == base) {
                    self.positions.at_mut(at).letters[letter] += 1;
                }
            }
            for (at, &qual) in (NEAR_POSITIONS..).zip(quals) {
                self.positions.at_mut(at).quals[usize::from(qual - MIN_QUAL_CHAR)] += 1;
            }
        }
        room.return_bytes(far.capacity() as u64);
        *far = Vec::new();
        Ok(())
    }

    fn add_sequences(
        &mut self,
        more: &PieceSequences,
        growing: &mut DistinctSequences,
        known: Option<&DistinctSequences>,
    ) {
        let PieceSequences { keys, lengths, known: numbers } = more;
        numbers.iter().for_each(|&number| self.seen[number as usize] += 1);
        let mut keys = &keys[..];
        for (reads, &length) in (self.reads + 1..).zip(lengths) {
            let (key, rest) = keys.split_at(length.into());
            keys = rest;
            let number = match known {
                Some(known) => known.find(key),
                None if growing.len() == distinct::MAX_SEQUENCES => growing.find(key),
                None => {
                    self.reads_at_limit = reads;
                    Some(growing.find_or_insert(key))
                }
            };
            let Some(number) = number else { continue };
            if self.seen.len() == number as usize {
                self.seen.push(0);
            }
            self.seen[number as usize] += 1;
        }
    }
}

impl AdapterStarts {
    /// Counts an adapter that starts at position `at` (0-based). FastQC ignores adapters until it
    /// has seen a read of more than 12 bases.
    fn add_start(&mut self, which: u8, at: u32, room: &CountingRoom) -> Result<()> {
        if self.longest == 0 {
            return Ok(());
        }
        let starts = &mut self.starts[usize::from(which)];
        room.lengthen_list(starts, at as usize + 1, usize::MAX)?;
        starts[at as usize] += 1;
        Ok(())
    }
}
