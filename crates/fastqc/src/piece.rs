//! The counts of one batch of reads, made on any thread.

use readmill_record::{CountingRoom, Error, Result};

use crate::adapters::AdapterFinder;
use crate::distinct::{self, DistinctSequences};
use crate::near::{NEAR_POSITIONS, NearCounts};
use crate::tiles::TileSample;
use crate::{MIN_QUAL_CHAR, QUAL_COUNT, gc, tiles};

#[derive(Clone, Copy, Debug)]
pub struct SequencedRead<'a> {
    /// The number of the read in the file (0-based). Tiles are counted for every tenth read.
    pub number: u64,
    /// The name line including the comment, with or without `@`. A field of the name is the tile.
    pub name: &'a [u8],
    pub bases: &'a [u8],
    /// Quality characters. Their number may differ from the number of bases: a record without
    /// qualities has a single `*`.
    pub quals: &'a [u8],
}

/// The counts of consecutive reads of one file.
///
/// Its memory for reads of up to 512 bases is part of
/// [`FastqcRun::memory_bytes`](crate::FastqcRun::memory_bytes). The additional memory for longer
/// reads is taken from that of the run, and returned when the piece is added.
pub struct FastqcPiece {
    pub(crate) first: u64,
    /// The length of each read, and the number of G and C among the bases that the GC module uses
    /// (`gc::used_bases`).
    pub(crate) length_and_gc: Vec<(u32, u32)>,
    pub(crate) near_counts: Box<NearCounts>,
    /// Bases and qualities after the first 512 positions, read by read; `far_lengths` has their
    /// numbers. They are counted one by one when the piece is added.
    pub(crate) far_bytes: Vec<u8>,
    pub(crate) far_lengths: Vec<[u32; 2]>,
    pub(crate) lowest: u8,
    pub(crate) mean_quals: [u32; QUAL_COUNT],
    /// Found adapters: index of the read in the piece, index of the adapter, and start in the read
    /// (0-based).
    pub(crate) adapters: Vec<(u32, u8, u32)>,
    pub(crate) sequences: PieceSequences,
    pub(crate) tiles: Vec<TileSample>,
    pub(crate) tile_quals: Vec<u8>,
    finder: AdapterFinder,
    upper: Vec<u8>,
}

#[derive(Default)]
pub(crate) struct PieceSequences {
    pub keys: Vec<u8>,
    pub lengths: Vec<u8>,
    /// Numbers of the tracked sequences found. Filled instead of the keys once all tracked
    /// sequences are known.
    pub known: Vec<u32>,
}

impl PieceSequences {
    /// Replaces the keys with the numbers of tracked sequences. All keys of a piece are looked up
    /// in one loop, so that the cache misses of successive lookups overlap.
    fn look_up(&mut self, known: &DistinctSequences) {
        let mut keys = &self.keys[..];
        for &length in &self.lengths {
            let (key, rest) = keys.split_at(length.into());
            keys = rest;
            self.known.extend(known.find(key));
        }
        self.lengths.clear();
    }
}

impl FastqcPiece {
    pub(crate) const BYTES: u64 = NearCounts::BYTES as u64 + (5 << 18);

    pub(crate) fn new() -> Self {
        FastqcPiece {
            first: 0,
            length_and_gc: Vec::new(),
            near_counts: NearCounts::new(),
            far_bytes: Vec::new(),
            far_lengths: Vec::new(),
            lowest: u8::MAX,
            mean_quals: [0; QUAL_COUNT],
            adapters: Vec::new(),
            sequences: PieceSequences::default(),
            tiles: Vec::new(),
            tile_quals: Vec::new(),
            finder: AdapterFinder::default(),
            upper: Vec::new(),
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.near_counts.is_full()
    }

    pub(crate) fn look_up_sequences(&mut self, known: Option<&DistinctSequences>) {
        known.into_iter().for_each(|known| self.sequences.look_up(known));
    }

    /// Clears the piece for a batch that starts with read `first` (0-based). The previous counts
    /// have been added to the totals.
    pub(crate) fn restart_at(&mut self, first: u64) {
        self.first = first;
        self.length_and_gc.clear();
        self.far_lengths.clear();
        self.far_bytes = Vec::new();
        self.lowest = u8::MAX;
        self.mean_quals.fill(0);
        self.adapters.clear();
        self.tiles.clear();
        self.tile_quals.clear();
        self.upper.shrink_to(NEAR_POSITIONS);
        let PieceSequences { keys, lengths, known } = &mut self.sequences;
        keys.clear();
        lengths.clear();
        known.clear();
    }

    /// Counts a read. Lower-case bases count as upper case.
    ///
    /// # Errors
    /// A quality is not a printable character from `!` to `~`, or the read is too long for the
    /// memory of the run.
    pub(crate) fn add_read(&mut self, read: &SequencedRead<'_>, room: &CountingRoom) -> Result<()> {
        // Lower-case letters have bit 0x20 set; upper-case letters do not.
        if read.bases.iter().fold(0, |all, base| all | base) & 0x20 != 0 {
            let mut upper = std::mem::take(&mut self.upper);
            upper.clear();
            upper.extend(read.bases.iter().map(u8::to_ascii_uppercase));
            let added = self.add_uppercase_read(&SequencedRead { bases: &upper, ..*read }, room);
            self.upper = upper;
            return added;
        }
        self.add_uppercase_read(read, room)
    }

    fn add_uppercase_read(&mut self, read: &SequencedRead<'_>, room: &CountingRoom) -> Result<()> {
        let &SequencedRead { number, name, bases, quals } = read;
        self.add_quals(quals)?;
        self.near_counts.add_bases(bases);
        self.near_counts.add_quals(quals);
        if bases.len().max(quals.len()) > NEAR_POSITIONS {
            self.add_distant_bases([bases, quals], room)?;
        }
        let in_piece = self.length_and_gc.len() as u32;
        let adapters = &mut self.adapters;
        self.finder.find_adapters(bases, |which, at| adapters.push((in_piece, which as u8, at as u32)));
        self.length_and_gc
            .push((bases.len() as u32, gc::count_gc(&bases[..gc::used_bases(bases.len())])));
        let key = distinct::sequence_key(bases);
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
        if low < MIN_QUAL_CHAR || usize::from(high - MIN_QUAL_CHAR) >= QUAL_COUNT {
            let highest = MIN_QUAL_CHAR + (QUAL_COUNT as u8 - 1);
            let wrong = if low < MIN_QUAL_CHAR { low } else { high };
            let what = format!(
                "a quality has the character code {wrong}, but codes must be from {MIN_QUAL_CHAR} to {highest}"
            );
            return Err(Error::input(what).hint("omit --fastqc, which needs valid qualities"));
        }
        self.lowest = self.lowest.min(low);
        let add = |sum: u32, &qual: &u8| sum.wrapping_add(qual.into());
        let sum: u64 = quals.chunks(1 << 16).map(|quals| u64::from(quals.iter().fold(0, add))).sum();
        let mean = sum / quals.len() as u64 - u64::from(MIN_QUAL_CHAR);
        self.mean_quals[(mean as usize).min(QUAL_COUNT - 1)] += 1;
        Ok(())
    }

    #[cold]
    fn add_distant_bases(&mut self, texts: [&[u8]; 2], room: &CountingRoom) -> Result<()> {
        let rest = texts.map(|text| text.get(NEAR_POSITIONS..).unwrap_or_default());
        let bytes = rest[0].len() + rest[1].len();
        let (needed, old) = (self.far_bytes.len() + bytes, self.far_bytes.capacity());
        if needed > old {
            // Both the old and the new buffer exist while the bytes are copied.
            let capacity = needed.max(2 * old);
            room.take_bytes(capacity as u64)?;
            self.far_bytes.reserve_exact(capacity - self.far_bytes.len());
            room.return_bytes(old as u64);
        }
        rest.iter().for_each(|rest| self.far_bytes.extend_from_slice(rest));
        self.far_lengths.push(rest.map(|rest| rest.len() as u32));
        Ok(())
    }
}
