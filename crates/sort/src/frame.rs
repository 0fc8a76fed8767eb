//! Sorted runs on disk.
//!
//! A run is a sequence of compressed frames in the spill, with an index of the frames in memory.
//! The merge reads a frame once, verifies its checksum, and shares it between the two ranges that
//! may overlap it.
//!
//! A frame is an uncompressed key column followed by the compressed arena records. With the column,
//! the merge can order records without decoding them. For each record, it stores these LEB128
//! numbers:
//!
//! 1. the first eight bytes of the key, as the difference from the previous record,
//! 2. the other eight bytes of the key,
//! 3. the length of the arena record in bytes,
//! 4. only if the key is not [decided](Key::is_decided): the length of the key's tail, followed by
//!    the tail.

use std::sync::OnceLock;

use readmill_format::spill::{Extent, Spill};
use readmill_format::spill_codec::{FrameCompressor, SpillCodec, damaged_spill_error};
use readmill_record::{Charge, Result, Stamp};
use serde::{Deserialize, Serialize};

use super::key::Key;
use super::run::STAMP_BYTES;

/// Size and codec of the frames of a run. They affect speed, memory and disk space, but never the
/// output.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Framing {
    /// A frame is closed as soon as its arena records reach this many bytes before compression.
    pub size: usize,
    pub codec: SpillCodec,
}

impl Framing {
    /// Returns the memory in bytes that merging one run with these frames needs in addition to its
    /// index: the current frame, the frame that the previous range still uses, and keys.
    pub fn merging_bytes(self) -> u64 {
        frame_merging_bytes(self.size as u64)
    }
}

fn frame_merging_bytes(frame: u64) -> u64 {
    5 * frame / 2
}

/// Allocator overhead in bytes for a stored key tail.
const ALLOCATION_OVERHEAD: u64 = 16;

/// Maximum capacity, in frames, that a writer's record buffer keeps after a long read.
const MAX_KEPT_FRAMES: usize = 4;

/// Maximum capacity in bytes that an output buffer keeps between frames: about twice the size of
/// the frames of one range.
const MAX_KEPT_BYTES: usize = 2 << 20;

/// An entry of a run's index, one for each frame. The merge divides its order into ranges by these
/// entries alone; frames are read when a range is put in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrameEntry {
    pub key: Key,
    pub tail: Box<[u8]>,
    /// Size of the frame's arena records before compression, stamps included, in bytes.
    pub raw: u32,
    records: u32,
    at: u64,
    /// Size of the key column in bytes. `packed` is the size of the compressed records after it,
    /// and `crc` the CRC-32C of both.
    column: u32,
    packed: u32,
    crc: u32,
}

/// The index of a sorted run in serializable form. One stage of a job writes it to a file; the next
/// process opens the run with [`StoredRun::open`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRun {
    extent: Extent,
    framing: Framing,
    frames: Vec<FrameEntry>,
    tails: u64,
    /// Size of the largest frame before compression, in bytes. Its last record can make a frame
    /// larger than [`Framing::size`].
    largest: u32,
    record_bytes: u64,
}

/// A sorted run on disk: the records of one full arena, as a source of the merge.
///
/// ```
/// use readmill_format::{spill::Spill, spill_codec::SpillCodec};
/// use readmill_record::{Ledger, Stamp};
/// use readmill_sort::{FrameWriter, Frames, Framing, Key, SpilledRun};
///
/// let spill = Spill::new(&[std::env::temp_dir()]);
/// let framing = Framing { size: 64 << 10, codec: SpillCodec::Lz4 };
/// let mut run = SpilledRun::new(spill.begin_extent(0)?, framing, Ledger::unlimited().empty_charge("index"));
///
/// let (mut writer, mut frames) = (FrameWriter::new(framing), Frames::default());
/// for (number, key) in [b"a", b"b", b"c"].into_iter().enumerate() {
///     writer.push(Key::of(key), &[], Stamp::new(number as u64, 0), &[0; 40], &mut frames);
/// }
/// writer.close_frame(&mut frames);
/// run.append_frames(&spill, &mut frames)?;
/// assert_eq!((run.frames().len(), run.record_bytes()), (1, 120));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Debug)]
pub struct SpilledRun {
    index: StoredRun,
    /// Number of input records before this run's slice of the input. Ordinals in its stamps are
    /// relative to this number, which is 0 unless separate processes sort slices of the input.
    base: u64,
    charge: Charge,
}

impl StoredRun {
    pub fn extent_mut(&mut self) -> &mut Extent {
        &mut self.extent
    }

    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    pub fn heap_bytes(&self) -> u64 {
        (self.frames.capacity() * size_of::<FrameEntry>()) as u64 + self.tails
    }

    /// Opens the run of a stored index. `base` is the number of input records before the run's
    /// slice; the ordinals in its stamps are relative to it. `charge` is resized to the memory of
    /// the index.
    pub fn open(self, base: u64, mut charge: Charge) -> SpilledRun {
        charge.resize(self.heap_bytes());
        SpilledRun { index: self, base, charge }
    }
}

impl SpilledRun {
    /// Returns the index for storage, and releases the charge for its memory.
    pub fn into_stored(self) -> StoredRun {
        self.index
    }

    pub fn first_ordinal(&self) -> u64 {
        self.base
    }

    pub fn frame_record_bytes(&self, number: usize) -> u64 {
        let frame = &self.index.frames[number];
        u64::from(frame.raw) - STAMP_BYTES as u64 * u64::from(frame.records)
    }

    pub fn new(extent: Extent, framing: Framing, charge: Charge) -> Self {
        let (frames, tails, largest, record_bytes, base) = Default::default();
        let index = StoredRun { extent, framing, frames, tails, largest, record_bytes };
        SpilledRun { index, base, charge }
    }

    /// Appends `frames` to the run and its index, and empties `frames` for reuse. The first key of
    /// `frames` must not sort before the last key of the run.
    pub fn append_frames(&mut self, spill: &Spill, frames: &mut Frames) -> Result<()> {
        let index = &mut self.index;
        let base = index.extent.end - index.extent.start;
        spill.append_bytes(&mut index.extent, &frames.bytes)?;
        frames.bytes.clear();
        frames.bytes.shrink_to(MAX_KEPT_BYTES);
        index.record_bytes += std::mem::take(&mut frames.record_bytes);
        index.frames.extend(frames.index.drain(..).map(|mut frame| {
            frame.at += base;
            index.tails +=
                if frame.tail.is_empty() { 0 } else { frame.tail.len() as u64 + ALLOCATION_OVERHEAD };
            index.largest = index.largest.max(frame.raw);
            frame
        }));
        self.charge.resize(index.heap_bytes());
        Ok(())
    }

    pub fn frames(&self) -> &[FrameEntry] {
        &self.index.frames
    }

    pub fn record_bytes(&self) -> u64 {
        self.index.record_bytes
    }

    pub fn extent(&self) -> Extent {
        self.index.extent
    }

    /// Releases the unused capacity of the index. Callers use it after the last frame was appended.
    pub fn shrink_index(mut self) -> Self {
        self.index.frames.shrink_to_fit();
        self.charge.resize(self.index.heap_bytes());
        self
    }

    /// Returns the memory in bytes that merging this run needs in addition to its index. It depends
    /// on the largest frame, which long reads can make larger than [`Framing::size`].
    pub fn merging_bytes(&self) -> u64 {
        frame_merging_bytes(u64::from(self.index.largest).max(self.index.framing.size as u64))
    }

    pub fn framing(&self) -> Framing {
        self.index.framing
    }

    pub fn index_bytes(&self) -> u64 {
        self.index.heap_bytes()
    }

    fn read_frame(&self, spill: &Spill, number: usize) -> Result<LoadedFrame> {
        let frame = &self.index.frames[number];
        let mut bytes = vec![0; (frame.column + frame.packed) as usize];
        spill.read_bytes(&self.index.extent, self.index.extent.start + frame.at, &mut bytes)?;
        if crc32fast::hash(&bytes) != frame.crc {
            return Err(spill.damaged_error(&self.index.extent));
        }
        let mut records = vec![0; frame.raw as usize];
        self.index.framing.codec.decompress(&bytes[frame.column as usize..], &mut records)?;
        bytes.truncate(frame.column as usize);
        bytes.shrink_to_fit();
        Ok(LoadedFrame { column: bytes, records })
    }
}

/// Encoded frames that are not on disk yet. Any thread can encode frames;
/// [`SpilledRun::append_frames`] writes them in order.
#[derive(Default)]
pub struct Frames {
    bytes: Vec<u8>,
    index: Vec<FrameEntry>,
    record_bytes: u64,
}

impl Frames {
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Encodes sorted records as frames. Each thread that writes a part of a run has its own writer.
pub struct FrameWriter {
    column: Vec<u8>,
    records: Vec<u8>,
    count: u32,
    first: Option<(Key, Box<[u8]>)>,
    previous: Key,
    size: usize,
    compressor: FrameCompressor,
}

impl FrameWriter {
    pub fn new(framing: Framing) -> Self {
        let (column, records, count, first, previous) = Default::default();
        let (size, compressor) = (framing.size, FrameCompressor::new(framing.codec));
        FrameWriter { column, records, count, first, previous, size, compressor }
    }

    /// Adds the next record in sort order. `tail` is empty if `key` is decided. Closes the frame
    /// and appends it to `out` if the frame has reached its size.
    pub fn push(&mut self, key: Key, tail: &[u8], stamp: Stamp, raw: &[u8], out: &mut Frames) {
        if self.first.is_none() {
            self.first = Some((key, tail.into()));
            self.previous = Key::default();
        }
        write_leb128(key.0[0] - self.previous.0[0], &mut self.column);
        write_leb128(key.0[1], &mut self.column);
        write_leb128((STAMP_BYTES + raw.len()) as u64, &mut self.column);
        if !key.is_decided() {
            write_leb128(tail.len() as u64, &mut self.column);
            self.column.extend_from_slice(tail);
        }
        self.previous = key;
        out.record_bytes += raw.len() as u64;
        self.records.extend_from_slice(&stamp.0.to_le_bytes());
        self.records.extend_from_slice(raw);
        self.count += 1;
        if self.records.len() >= self.size {
            self.close_frame(out);
        }
    }

    /// Closes the current frame and appends it to `out`, unless it has no records. Must be called
    /// after the last record.
    pub fn close_frame(&mut self, out: &mut Frames) {
        let Some((key, tail)) = self.first.take() else { return };
        let start = out.bytes.len();
        out.bytes.extend_from_slice(&self.column);
        let body = out.bytes.len();
        self.compressor.compress(&self.records, &mut out.bytes);
        out.index.push(FrameEntry {
            key,
            tail,
            raw: self.records.len() as u32,
            records: self.count,
            at: start as u64,
            column: self.column.len() as u32,
            packed: (out.bytes.len() - body) as u32,
            crc: crc32fast::hash(&out.bytes[start..]),
        });
        self.column.clear();
        self.records.clear();
        self.records.shrink_to(MAX_KEPT_FRAMES * self.size); // a read can be much longer than a frame
        self.count = 0;
    }
}

fn write_leb128(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Reads a LEB128 number and advances `bytes` past it. Returns `None` if the bytes end within the
/// number or the number has more than ten bytes.
fn read_leb128(bytes: &mut &[u8]) -> Option<u64> {
    let (mut n, mut shift) = (0u64, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        n |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(n);
        }
        shift += 7;
    }
}

/// A frame of a run, read from disk on first use. Ranges that overlap it share it by `Arc`, and the
/// last of them frees its memory.
pub struct Frame {
    pub run: usize,
    pub number: usize,
    loaded: OnceLock<Result<LoadedFrame>>,
}

pub struct LoadedFrame {
    column: Vec<u8>,
    pub records: Vec<u8>,
}

impl Frame {
    pub fn new(run: usize, number: usize) -> Self {
        Frame { run, number, loaded: OnceLock::new() }
    }

    /// Returns the content of the frame. The first call reads it from `spill` while other threads
    /// wait. An error is kept and returned by every later call.
    pub fn load_content(&self, spill: &Spill, runs: &[SpilledRun]) -> Result<&LoadedFrame> {
        self.loaded
            .get_or_init(|| runs[self.run].read_frame(spill, self.number))
            .as_ref()
            .map_err(Clone::clone)
    }
}

pub struct KeyColumn<'a> {
    rest: &'a [u8],
    key: Key,
}

/// A row of the key column: the record's key, the tail of the key (empty if the key holds the full
/// key), and the length of the arena record in bytes.
pub type KeyRow<'a> = (Key, &'a [u8], usize);

impl<'a> KeyColumn<'a> {
    pub fn new(loaded: &'a LoadedFrame) -> Self {
        KeyColumn { rest: &loaded.column, key: Key::default() }
    }

    /// Returns the row of the next record, or `None` after the last one.
    ///
    /// # Errors
    ///
    /// The column ends within a row or has a number that is out of range.
    pub fn next_row(&mut self) -> Result<Option<KeyRow<'a>>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.parse_row().map(Some).ok_or_else(|| damaged_spill_error("data"))
    }

    fn parse_row(&mut self) -> Option<KeyRow<'a>> {
        let high = self.key.0[0].checked_add(read_leb128(&mut self.rest)?)?;
        self.key = Key([high, read_leb128(&mut self.rest)?]);
        let len = read_leb128(&mut self.rest)? as usize;
        let mut tail = &[][..];
        if !self.key.is_decided() {
            let n = read_leb128(&mut self.rest)? as usize;
            (tail, self.rest) = self.rest.split_at_checked(n)?;
        }
        Some((self.key, tail, len))
    }
}
