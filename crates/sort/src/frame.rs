//! Sorted records on disk.
//!
//! A spilled run is a sequence of frames, and an index of them in memory. A frame is a key column (for each
//! record its key, as differences to the one before, and the length of its arena record, all LEB128) and the
//! arena records, compressed. The merge reads a frame once, checks its checksum, and shares it between
//! neighbouring ranges.

use std::sync::OnceLock;

use readmill_format::spill::{Extent, Spill};
use readmill_format::spill_codec::{FrameCompressor, SpillCodec, damaged};
use readmill_record::{Charge, Result, Stamp};
use serde::{Deserialize, Serialize};

use super::key::Key;
use super::run::STAMP_BYTES;

/// The format of frames. The output does not depend on it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Framing {
    /// Approximate bytes of arena records in a frame.
    pub size: usize,
    /// The codec.
    pub codec: SpillCodec,
}

impl Framing {
    /// Bytes of memory for merging a run of such frames, without its index: the current frame, the one that
    /// the previous range still uses, and keys.
    pub fn merging_bytes(self) -> u64 {
        merging_bytes(self.size as u64)
    }
}

fn merging_bytes(frame: u64) -> u64 {
    5 * frame / 2
}

/// Overhead of an allocation in bytes.
const BESIDE: u64 = 16;

/// Between frames, a writer keeps a buffer of the size of so many frames at most.
const KEPT_FRAMES: usize = 4;

/// The most bytes of frames whose buffer is reused, about twice what the frames of a range take.
const KEPT_BYTES: usize = 2 << 20;

/// The index entry of a frame.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FrameEntry {
    /// Key of its first record.
    pub key: Key,
    /// The tail of that key.
    pub tail: Box<[u8]>,
    /// Bytes of its arena records.
    pub raw: u32,
    /// Number of its records.
    records: u32,
    /// Where it lies: its offset in the extent of the run.
    at: u64,
    /// Bytes of its column of keys, packed bytes of all of it, and their CRC-32C.
    column: u32,
    packed: u32,
    crc: u32,
}

/// The index of a sorted run on disk, which can be stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredRun {
    extent: Extent,
    framing: Framing,
    frames: Vec<FrameEntry>,
    /// Bytes of the tails of their keys.
    tails: u64,
    /// Bytes of the arena records of the largest frame: a record larger than a frame has a frame of its own.
    largest: u32,
    record_bytes: u64,
}

/// A sorted run on disk.
#[derive(Debug)]
pub struct SpilledRun {
    index: StoredRun,
    /// Number of the input's records before those that its stamps count from.
    base: u64,
    /// The memory of the index.
    charge: Charge,
}

impl StoredRun {
    /// Its extent, to be found in a spill.
    pub fn extent_mut(&mut self) -> &mut Extent {
        &mut self.extent
    }

    /// Whether it has no records.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Bytes of its records, without their stamps.
    pub fn record_bytes(&self) -> u64 {
        self.record_bytes
    }

    /// Bytes of memory that it takes.
    pub fn heap_bytes(&self) -> u64 {
        (self.frames.capacity() * size_of::<FrameEntry>()) as u64 + self.tails
    }

    /// Returns the run. The stamps of its records count from record `base` of the input; its index is charged to
    /// `charge`.
    pub fn open(self, base: u64, mut charge: Charge) -> SpilledRun {
        charge.resize(self.heap_bytes());
        SpilledRun { index: self, base, charge }
    }
}

impl SpilledRun {
    /// Returns the index, to be stored.
    pub fn store(self) -> StoredRun {
        self.index
    }

    /// Number of the input's records before those that its stamps count from.
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Returns the bytes of the records of a frame, without their stamps.
    pub fn frame_record_bytes(&self, number: usize) -> u64 {
        let frame = &self.index.frames[number];
        u64::from(frame.raw) - STAMP_BYTES as u64 * u64::from(frame.records)
    }

    /// Creates a run whose frames, in the format `framing`, go to `extent`. Its index is charged to `charge`.
    pub fn new(extent: Extent, framing: Framing, charge: Charge) -> Self {
        let (frames, tails, largest, record_bytes, base) = Default::default();
        let index = StoredRun { extent, framing, frames, tails, largest, record_bytes };
        SpilledRun { index, base, charge }
    }

    /// Appends frames and empties `frames`.
    pub fn append(&mut self, spill: &Spill, frames: &mut Frames) -> Result<()> {
        let index = &mut self.index;
        let base = index.extent.end - index.extent.start;
        spill.append(&mut index.extent, &frames.bytes)?;
        frames.bytes.clear();
        frames.bytes.shrink_to(KEPT_BYTES);
        index.record_bytes += std::mem::take(&mut frames.record_bytes);
        index.frames.extend(frames.index.drain(..).map(|mut frame| {
            frame.at += base;
            index.tails += if frame.tail.is_empty() { 0 } else { frame.tail.len() as u64 + BESIDE };
            index.largest = index.largest.max(frame.raw);
            frame
        }));
        self.charge.resize(index.heap_bytes());
        Ok(())
    }

    /// The index.
    pub fn frames(&self) -> &[FrameEntry] {
        &self.index.frames
    }

    /// Bytes of its records, without their stamps.
    pub fn record_bytes(&self) -> u64 {
        self.index.record_bytes
    }

    /// Returns its extent in the spill.
    pub fn extent(&self) -> Extent {
        self.index.extent
    }

    /// Frees the memory that only more frames would need.
    pub fn complete(mut self) -> Self {
        self.index.frames.shrink_to_fit();
        self.charge.resize(self.index.heap_bytes());
        self
    }

    /// Returns the bytes of memory for merging the run, without its index.
    pub fn merging_bytes(&self) -> u64 {
        merging_bytes(u64::from(self.index.largest).max(self.index.framing.size as u64))
    }

    /// Returns the format of its frames.
    pub fn framing(&self) -> Framing {
        self.index.framing
    }

    /// Bytes of memory the index takes.
    pub fn index_bytes(&self) -> u64 {
        self.index.heap_bytes()
    }

    fn read(&self, spill: &Spill, number: usize) -> Result<LoadedFrame> {
        let frame = &self.index.frames[number];
        let mut bytes = vec![0; (frame.column + frame.packed) as usize];
        spill.read(&self.index.extent, self.index.extent.start + frame.at, &mut bytes)?;
        if crc32fast::hash(&bytes) != frame.crc {
            return Err(spill.damaged(&self.index.extent));
        }
        let mut records = vec![0; frame.raw as usize];
        self.index.framing.codec.decompress(&bytes[frame.column as usize..], &mut records)?;
        bytes.truncate(frame.column as usize);
        bytes.shrink_to_fit();
        Ok(LoadedFrame { column: bytes, records })
    }
}

/// Encoded frames that are not written yet.
#[derive(Default)]
pub struct Frames {
    bytes: Vec<u8>,
    index: Vec<FrameEntry>,
    /// Bytes of their records, without stamps.
    record_bytes: u64,
}

impl Frames {
    /// Bytes they take on disk.
    pub fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}

/// Collects sorted records into frames.
pub struct FrameWriter {
    column: Vec<u8>,
    records: Vec<u8>,
    /// How many records there are.
    count: u32,
    first: Option<(Key, Box<[u8]>)>,
    previous: Key,
    size: usize,
    compressor: FrameCompressor,
}

impl FrameWriter {
    /// Creates a writer of frames in the format `framing`.
    pub fn new(framing: Framing) -> Self {
        let (column, records, count, first, previous) = Default::default();
        let (size, compressor) = (framing.size, FrameCompressor::new(framing.codec));
        FrameWriter { column, records, count, first, previous, size, compressor }
    }

    /// Adds the next record in order; a full frame goes to `out`.
    pub fn push(&mut self, key: Key, tail: &[u8], stamp: Stamp, raw: &[u8], out: &mut Frames) {
        if self.first.is_none() {
            self.first = Some((key, tail.into()));
            self.previous = Key::default();
        }
        leb128(key.0[0] - self.previous.0[0], &mut self.column);
        leb128(key.0[1], &mut self.column);
        leb128((STAMP_BYTES + raw.len()) as u64, &mut self.column);
        if !key.is_decided() {
            leb128(tail.len() as u64, &mut self.column);
            self.column.extend_from_slice(tail);
        }
        self.previous = key;
        out.record_bytes += raw.len() as u64;
        self.records.extend_from_slice(&stamp.0.to_le_bytes());
        self.records.extend_from_slice(raw);
        self.count += 1;
        if self.records.len() >= self.size {
            self.close(out);
        }
    }

    /// Ends the open frame, if there is one.
    pub fn close(&mut self, out: &mut Frames) {
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
        self.records.shrink_to(KEPT_FRAMES * self.size); // a read can be much longer than a frame
        self.count = 0;
    }
}

fn leb128(mut n: u64, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

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

/// A frame, which is read at its first use and kept as long as it is in use.
pub struct Frame {
    /// Number of its run.
    pub run: usize,
    /// Its number in the run.
    pub number: usize,
    loaded: OnceLock<Result<LoadedFrame>>,
}

/// The content of a frame.
pub struct LoadedFrame {
    column: Vec<u8>,
    /// The arena records.
    pub records: Vec<u8>,
}

impl Frame {
    /// Creates frame `number` of run `run`, not read yet.
    pub fn new(run: usize, number: usize) -> Self {
        Frame { run, number, loaded: OnceLock::new() }
    }

    /// Returns its content, which the first call reads.
    pub fn load(&self, spill: &Spill, runs: &[SpilledRun]) -> Result<&LoadedFrame> {
        self.loaded
            .get_or_init(|| runs[self.run].read(spill, self.number))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// A cursor over a frame's keys.
pub struct KeyColumn<'a> {
    rest: &'a [u8],
    key: Key,
}

/// A record's row in a column: its key, the key's tail, and the bytes of its arena record.
pub type KeyRow<'a> = (Key, &'a [u8], usize);

impl<'a> KeyColumn<'a> {
    /// Starts before the frame's first record.
    pub fn new(loaded: &'a LoadedFrame) -> Self {
        KeyColumn { rest: &loaded.column, key: Key::default() }
    }

    /// Returns the next record; `None` at the end.
    pub fn next_row(&mut self) -> Result<Option<KeyRow<'a>>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        self.row().map(Some).ok_or_else(|| damaged("data"))
    }

    fn row(&mut self) -> Option<KeyRow<'a>> {
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
