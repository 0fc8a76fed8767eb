//! Sorted records on disk.
//!
//! A spilled run is a sequence of frames, each of about [`FRAME`] bytes of arena records. A frame is
//! its header (four little-endian `u32`: records, bytes of the key column, compressed bytes, raw
//! bytes), the key column (for each record the difference of its key to the one before, then the
//! length of its arena record, both LEB128), and the arena records in LZ4. The merge walks key columns
//! serially and cheaply; only who gathers records decompresses them.

use std::sync::{Arc, OnceLock};

use readmill_format::spill::{Extent, Spill};
use readmill_record::{Error, Result, Stamp};

use super::run::{STAMP_BYTES, record_length};

/// Bytes of arena records after which a frame is closed. Small enough that one frame for each of a
/// hundred runs is a few MiB, large enough for LZ4.
pub const FRAME: usize = 64 << 10;

const HEADER: usize = 16;

/// Collects sorted records into frames.
#[derive(Default)]
pub struct FrameWriter {
    keys: Vec<u8>,
    records: Vec<u8>,
    count: u32,
    previous: u64,
}

impl FrameWriter {
    /// Adds the next record in order; a frame that is full is appended to `out`.
    pub fn push(&mut self, key: u64, stamp: Stamp, raw: &[u8], out: &mut Vec<u8>) {
        leb128(key - self.previous, &mut self.keys);
        leb128((STAMP_BYTES + raw.len()) as u64, &mut self.keys);
        self.previous = key;
        self.records.extend_from_slice(&stamp.0.to_le_bytes());
        self.records.extend_from_slice(raw);
        self.count += 1;
        if self.records.len() >= FRAME {
            self.close(out);
        }
    }

    /// Appends what is left as a last, smaller frame.
    pub fn close(&mut self, out: &mut Vec<u8>) {
        if self.count == 0 {
            return;
        }
        let start = out.len();
        let body = start + HEADER + self.keys.len();
        out.resize(body + lz4_flex::block::get_maximum_output_size(self.records.len()), 0);
        // Compression fails only for lack of room, and there is room for the worst case.
        let n = lz4_flex::block::compress_into(&self.records, &mut out[body..]).unwrap_or_default();
        out.truncate(body + n);
        let header = [self.count, self.keys.len() as u32, n as u32, self.records.len() as u32];
        for (i, number) in header.iter().enumerate() {
            out[start + 4 * i..][..4].copy_from_slice(&number.to_le_bytes());
        }
        out[start + HEADER..body].copy_from_slice(&self.keys);
        self.keys.clear();
        self.records.clear();
        (self.count, self.previous) = (0, 0);
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

/// A sorted run on disk.
#[derive(Clone, Copy, Debug)]
pub struct SpilledRun {
    /// Its frames, back to back.
    pub extent: Extent,
}

/// One frame's records, decompressed by the first who needs them and kept while anyone does.
pub struct Frame {
    extent: Extent,
    at: u64,
    compressed: usize,
    raw: usize,
    bytes: OnceLock<Result<Vec<u8>>>,
}

impl Frame {
    /// The arena records.
    pub fn records(&self, spill: &Spill) -> Result<&[u8]> {
        let loaded = self.bytes.get_or_init(|| {
            let mut compressed = vec![0; self.compressed];
            spill.read(&self.extent, self.at, &mut compressed)?;
            let mut raw = vec![0; self.raw];
            match lz4_flex::block::decompress_into(&compressed, &mut raw) {
                Ok(n) if n == self.raw => Ok(raw),
                _ => Err(damaged()),
            }
        });
        loaded.as_ref().map(Vec::as_slice).map_err(Clone::clone)
    }
}

fn damaged() -> Error {
    let error = std::io::Error::other("the spilled data came back changed");
    Error::io("reading back what was spilled failed", &error)
        .hint("check the temporary directory's disk")
}

/// Walks the keys of a spilled run.
pub struct RunReader<'a> {
    spill: &'a Spill,
    extent: Extent,
    /// Where the next frame starts.
    next: u64,
    /// The key column of the current frame, and how much of it is used.
    column: Vec<u8>,
    used: usize,
    left: u32,
    key: u64,
    frame: Option<Arc<Frame>>,
}

impl<'a> RunReader<'a> {
    /// Starts at the run's first record.
    pub fn new(spill: &'a Spill, run: SpilledRun) -> Self {
        let extent = run.extent;
        let (column, used, left, key, frame) = Default::default();
        RunReader { spill, extent, next: extent.start, column, used, left, key, frame }
    }

    /// Key and arena length of the next record, and whether it opens a new frame.
    pub fn next_record(&mut self) -> Result<Option<(u64, usize, bool)>> {
        let opens = self.left == 0;
        if opens && !self.next_frame()? {
            return Ok(None);
        }
        let mut rest = &self.column[self.used..];
        let (delta, len) = read_leb128(&mut rest).zip(read_leb128(&mut rest)).ok_or_else(damaged)?;
        self.used = self.column.len() - rest.len();
        self.left -= 1;
        self.key = self.key.checked_add(delta).ok_or_else(damaged)?;
        Ok(Some((self.key, len as usize, opens)))
    }

    /// The frame the last record is in.
    pub fn frame(&self) -> Option<&Arc<Frame>> {
        self.frame.as_ref()
    }

    fn next_frame(&mut self) -> Result<bool> {
        if self.next >= self.extent.end {
            self.frame = None;
            return Ok(false);
        }
        let mut header = [0; HEADER];
        self.spill.read(&self.extent, self.next, &mut header)?;
        let number = |i: usize| {
            u32::from_le_bytes([header[4 * i], header[4 * i + 1], header[4 * i + 2], header[4 * i + 3]])
        };
        let (count, keys, compressed, raw) = (number(0), number(1), number(2), number(3));
        let body = self.next + (HEADER as u64) + u64::from(keys);
        if count == 0 || body + u64::from(compressed) > self.extent.end {
            return Err(damaged());
        }
        self.column.resize(keys as usize, 0);
        self.spill.read(&self.extent, self.next + HEADER as u64, &mut self.column)?;
        self.frame = Some(Arc::new(Frame {
            extent: self.extent,
            at: body,
            compressed: compressed as usize,
            raw: raw as usize,
            bytes: OnceLock::new(),
        }));
        (self.used, self.left, self.key) = (0, count, 0);
        self.next = body + u64::from(compressed);
        Ok(true)
    }
}

/// Bytes of the arena record that starts `bytes`.
pub fn arena_length(bytes: &[u8]) -> usize {
    STAMP_BYTES + bytes.get(STAMP_BYTES..).map_or(0, record_length)
}
