//! Counts of a batch of reads, which any thread makes.

use readmill_record::{Error, Result, Room};

use crate::adapters::AdapterFinder;
use crate::distinct::{self, Distinct};
use crate::near::{NEAR, Near};
use crate::tiles::TileSample;
use crate::{LOWEST, QUALS, gc, tiles};

/// A read as it was sequenced.
#[derive(Clone, Copy, Debug)]
pub struct SequencedRead<'a> {
    /// Its number in the file, 0-based.
    pub number: u64,
    /// The line of its name, with or without the first character.
    pub name: &'a [u8],
    /// Letters.
    pub bases: &'a [u8],
    /// Qualities as characters; there may be other many than letters.
    pub quals: &'a [u8],
}

/// The counts of consecutive reads of a file.
pub struct Piece {
    /// The number of the first read.
    pub(crate) first: u64,
    /// The length of each read, and how many of the bases that are looked at are G or C.
    pub(crate) shapes: Vec<(u32, u32)>,
    pub(crate) near: Box<Near>,
    /// The letters and qualities of reads behind those positions, and how many there are of both.
    pub(crate) far: Vec<u8>,
    pub(crate) far_lengths: Vec<[u32; 2]>,
    /// The lowest character of a quality.
    pub(crate) lowest: u8,
    /// Reads by their mean quality, rounded down.
    pub(crate) mean_quals: [u32; QUALS],
    /// Adapters: in which read of the piece, which, and where it starts.
    pub(crate) adapters: Vec<(u32, u8, u32)>,
    pub(crate) sequences: Sequences,
    pub(crate) tiles: Vec<TileSample>,
    pub(crate) tile_quals: Vec<u8>,
    finder: AdapterFinder,
    upper: Vec<u8>,
}

/// The sequences of the reads.
#[derive(Default)]
pub(crate) struct Sequences {
    /// The part by which each is told apart, one behind the other, and its length.
    pub keys: Vec<u8>,
    pub lengths: Vec<u8>,
    /// In place of these: the numbers of those that are followed, once no others will be.
    pub known: Vec<u32>,
}

impl Sequences {
    /// Looks all up together, so that one waits for memory while others do.
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
    /// Bytes of memory of a batch of usual reads.
    pub(crate) const BYTES: u64 = Near::BYTES as u64 + (5 << 18);

    /// A piece without reads.
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

    /// Whether no more reads can be counted in it.
    pub(crate) fn is_full(&self) -> bool {
        self.near.is_full()
    }

    /// Ends the piece. `known` are the sequences that are followed, once they are known.
    pub(crate) fn close(&mut self, known: Option<&Distinct>) {
        known.into_iter().for_each(|known| self.sequences.look_up(known));
    }

    /// Begins with the read of this number; counts before were added.
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

    /// Counts a read.
    ///
    /// # Errors
    /// Its qualities are no qualities, or it is too long for the memory.
    pub(crate) fn add(&mut self, read: &SequencedRead<'_>, room: &Room) -> Result<()> {
        // Letters of the alphabet differ in this bit from small ones.
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

    /// Counts the lowest and the mean quality of a read.
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
            // While the list is copied, there are two.
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
