//! The counts of one batch of reads. Any thread can make them.

use readmill_record::{Error, Result, Room};

use crate::adapters::AdapterFinder;
use crate::distinct::{self, Distinct};
use crate::near::{NEAR, Near};
use crate::tiles::TileSample;
use crate::{LOWEST, QUALS, gc, tiles};

#[derive(Clone, Copy, Debug)]
pub struct SequencedRead<'a> {
    /// The read's number in the file, 0-based. Tiles are counted for every tenth read.
    pub number: u64,
    /// The name line, with the comment, with or without `@`. Fields of the name give the tile.
    pub name: &'a [u8],
    pub bases: &'a [u8],
    /// Quality characters. Their number may differ from the number of bases: a record without qualities
    /// has one, `*`.
    pub quals: &'a [u8],
}

/// The counts of consecutive reads of one file.
///
/// Its memory for reads of up to 512 bases is part of [`FastqcRun::bytes`](crate::FastqcRun::bytes).
/// What longer reads need in addition is taken from the memory of the run, and returned when the piece
/// is added.
pub struct Piece {
    pub(crate) first: u64,
    /// The length of each read, and the number of G and C among the bases that the GC module uses
    /// ([`gc::looked_at`]).
    pub(crate) shapes: Vec<(u32, u32)>,
    pub(crate) near: Box<Near>,
    /// Bases and qualities after the first 512 positions, read by read, and how many there are of both.
    /// They are counted one by one when the piece is added.
    pub(crate) far: Vec<u8>,
    pub(crate) far_lengths: Vec<[u32; 2]>,
    pub(crate) lowest: u8,
    pub(crate) mean_quals: [u32; QUALS],
    /// Adapters that were found: index of the read in the piece, index of the adapter, and 0-based start
    /// in the read.
    pub(crate) adapters: Vec<(u32, u8, u32)>,
    pub(crate) sequences: Sequences,
    pub(crate) tiles: Vec<TileSample>,
    pub(crate) tile_quals: Vec<u8>,
    finder: AdapterFinder,
    upper: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct Sequences {
    pub keys: Vec<u8>,
    pub lengths: Vec<u8>,
    /// Numbers of the tracked sequences that were found. Filled instead of the keys once all tracked
    /// sequences are known.
    pub known: Vec<u32>,
}

impl Sequences {
    /// Replaces the keys by the numbers of tracked sequences. All keys of a piece are looked up in one
    /// loop, so that the cache misses of successive lookups overlap.
    fn look_up(&mut self, known: &Distinct) {
        let mut keys = &self.keys[..];
        for &length in &self.lengths {
            let (key, rest) = keys.split_at(length.into());
            keys = rest;
            self.known.extend(known.find(key));
        }
        self.lengths.clear();
    }
}

impl Piece {
    pub(crate) const BYTES: u64 = Near::BYTES as u64 + (5 << 18);

    pub(crate) fn new() -> Self {
        Piece {
            first: 0,
            shapes: Vec::new(),
            near: Near::new(),
            far: Vec::new(),
            far_lengths: Vec::new(),
            lowest: u8::MAX,
            mean_quals: [0; QUALS],
            adapters: Vec::new(),
            sequences: Sequences::default(),
            tiles: Vec::new(),
            tile_quals: Vec::new(),
            finder: AdapterFinder::default(),
            upper: Vec::new(),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.near.is_full()
    }

    pub(crate) fn close(&mut self, known: Option<&Distinct>) {
        known.into_iter().for_each(|known| self.sequences.look_up(known));
    }

    /// Empties the piece for a batch that begins with read `first`, 0-based. The earlier counts have
    /// been added to the totals.
    pub(crate) fn restart(&mut self, first: u64) {
        self.first = first;
        self.shapes.clear();
        self.far_lengths.clear();
        self.far = Vec::new();
        self.lowest = u8::MAX;
        self.mean_quals.fill(0);
        self.adapters.clear();
        self.tiles.clear();
        self.tile_quals.clear();
        self.upper.shrink_to(NEAR);
        let Sequences { keys, lengths, known } = &mut self.sequences;
        keys.clear();
        lengths.clear();
        known.clear();
    }

    /// Counts a read. Lower-case bases count as upper case.
    ///
    /// # Errors
    /// A quality is not a printable character from `!` to `~`, or the read is too long for the memory of
    /// the run.
    pub(crate) fn add(&mut self, read: &SequencedRead<'_>, room: &Room) -> Result<()> {
        // Lower-case letters have bit 0x20 set, upper-case letters do not.
        if read.bases.iter().fold(0, |all, base| all | base) & 0x20 != 0 {
            let mut upper = std::mem::take(&mut self.upper);
            upper.clear();
            upper.extend(read.bases.iter().map(u8::to_ascii_uppercase));
            let added = self.add_upper(&SequencedRead { bases: &upper, ..*read }, room);
            self.upper = upper;
            return added;
        }
        self.add_upper(read, room)
    }

    fn add_upper(&mut self, read: &SequencedRead<'_>, room: &Room) -> Result<()> {
        let &SequencedRead { number, name, bases, quals } = read;
        self.add_quals(quals)?;
        self.near.add_bases(bases);
        self.near.add_quals(quals);
        if bases.len().max(quals.len()) > NEAR {
            self.add_far([bases, quals], room)?;
        }
        let in_piece = self.shapes.len() as u32;
        let adapters = &mut self.adapters;
        self.finder.find(bases, |which, at| adapters.push((in_piece, which as u8, at as u32)));
        self.shapes.push((bases.len() as u32, gc::count(&bases[..gc::looked_at(bases.len())])));
        let key = distinct::key(bases);
        self.sequences.keys.extend_from_slice(key);
        self.sequences.lengths.push(key.len() as u8);
        if tiles::is_sampled(number) {
            self.tiles.push(TileSample::new(name, quals.len() as u32));
            self.tile_quals.extend_from_slice(quals);
        }
        Ok(())
    }

    #[inline]
    fn add_quals(&mut self, quals: &[u8]) -> Result<()> {
        let (low, high) =
            quals.iter().fold((u8::MAX, 0), |(low, high), &qual| (low.min(qual), high.max(qual)));
        if quals.is_empty() {
            return Ok(());
        }
        if low < LOWEST || usize::from(high - LOWEST) >= QUALS {
            let highest = LOWEST + (QUALS as u8 - 1);
            let wrong = if low < LOWEST { low } else { high };
            let what = format!(
                "a quality is {wrong} as a character; those of reads are from {LOWEST} to {highest}"
            );
            return Err(Error::input(what).hint("without --fastqc, qualities are not looked at"));
        }
        self.lowest = self.lowest.min(low);
        let add = |sum: u32, &qual: &u8| sum.wrapping_add(qual.into());
        let sum: u64 = quals.chunks(1 << 16).map(|quals| u64::from(quals.iter().fold(0, add))).sum();
        let mean = sum / quals.len() as u64 - u64::from(LOWEST);
        self.mean_quals[(mean as usize).min(QUALS - 1)] += 1;
        Ok(())
    }

    #[cold]
    fn add_far(&mut self, texts: [&[u8]; 2], room: &Room) -> Result<()> {
        let rest = texts.map(|text| text.get(NEAR..).unwrap_or_default());
        let bytes = rest[0].len() + rest[1].len();
        let (needed, old) = (self.far.len() + bytes, self.far.capacity());
        if needed > old {
            // Both the old and the new buffer exist while the bytes are copied.
            let capacity = needed.max(2 * old);
            room.take(capacity as u64)?;
            self.far.reserve_exact(capacity - self.far.len());
            room.give_back(old as u64);
        }
        rest.iter().for_each(|rest| self.far.extend_from_slice(rest));
        self.far_lengths.push(rest.map(|rest| rest.len() as u32));
        Ok(())
    }
}
