//! The text of one file as blocks with line counts. The threads that need a block fill it.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use readmill_format::bgzf::{BlockReader, Chunk, Inflater, block_reader};
use readmill_format::summed::StreamSum;
use readmill_record::{Error, Result};

use crate::layout::FirstRead;
use crate::restart::{Restart, RestartPoint, TextPlace};
use crate::ring::{Claim, Goal, Reach, Ring, Supply, fill_until};
use crate::source::{
    self, ByteReader, ByteStream, FastqInput, Meter, OpenRules, OpenedInput, TextSource,
};

/// Approximate size of a line in bytes, for FASTQ with reads of 150 bases. Used until a block is
/// counted.
const USUAL_LINE_BYTES: u64 = 92;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextPosition {
    /// The block that contains the position, or ends there (0-based).
    pub block: u64,
    pub offset: usize,
    pub lines: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct TextOptions {
    pub block_bytes: usize,
    /// Expected text of all batches in flight, in bytes; determines the number of slots.
    pub window_bytes: usize,
    pub packing: OpenRules,
    pub patience: u32,
}

/// BGZF blocks that are inflated together, and the error that follows them, if any.
type CompressedBlocks = (Chunk, Option<Error>);

/// A slot for compressed blocks that were read but not yet inflated: the number of the text block,
/// and its data. If its claimer is slow, another thread inflates them as well.
type HandedChunk = Mutex<Option<(u64, Arc<CompressedBlocks>)>>;

enum BlockSource {
    /// Plain text: the file, and the byte range to read. Any thread can read any block.
    Plain(File, Range<u64>),
    Blocks {
        reader: Mutex<BlockReader<ByteReader>>,
        skipped: usize,
        handed: Box<[HandedChunk]>,
        spare: Mutex<Vec<Chunk>>,
    },
    Stream(Mutex<ByteStream>),
}

/// The text of one file: its blocks in memory, and the source from which more are filled.
pub(crate) struct FastqText {
    name: PathBuf,
    first: Vec<FirstRead>,
    kind: BlockSource,
    ring: Ring<Arc<TextBlock>>,
    slots: usize,
    shelf: BufferShelf,
    meter: Meter,
    restart: Restart,
    rules: TextOptions,
    refilled: AtomicU64,
}

impl FastqText {
    /// Opens each input as a [`FastqText`]. All are opened before any is read.
    pub fn open(inputs: Vec<FastqInput>, rules: TextOptions) -> Result<Vec<Self>> {
        let opened = source::open_inputs(inputs, rules.packing)?;
        Ok(opened.into_iter().map(|opened| FastqText::new(opened, rules)).collect())
    }

    fn new(opened: OpenedInput, rules: TextOptions) -> Self {
        let OpenedInput { name, source, meter, first, restart } = opened;
        let block_bytes = match source {
            TextSource::Blocks(..) => block_reader::MAX_CHUNK_BYTES,
            TextSource::Plain(..) | TextSource::Stream(_) => rules.block_bytes.max(1),
        };
        let slots = rules.window_bytes.div_ceil(block_bytes) + 4;
        let mut blocks = None;
        let kind = match source {
            TextSource::Plain(file, bytes) => {
                blocks = Some((bytes.end - bytes.start).div_ceil(block_bytes as u64));
                BlockSource::Plain(file, bytes)
            }
            TextSource::Blocks(reader, skipped) => BlockSource::Blocks {
                reader: Mutex::new(*reader),
                skipped,
                handed: (0..slots).map(|_| Mutex::default()).collect(),
                spare: Mutex::default(),
            },
            TextSource::Stream(stream) => BlockSource::Stream(Mutex::new(stream)),
        };
        let rules = TextOptions { block_bytes, ..rules };
        let (ring, shelf) = (Ring::new(slots, blocks), BufferShelf::default());
        let refilled = AtomicU64::new(0);
        FastqText { name, first, kind, ring, slots, shelf, meter, restart, rules, refilled }
    }

    pub fn name(&self) -> &Path {
        &self.name
    }

    pub fn first_records(&self) -> &[FirstRead] {
        &self.first
    }

    /// Returns the checksum of the file as stored. Plain text, which is not read sequentially, has
    /// the checksum of zero bytes.
    pub fn checksum(&self) -> &StreamSum {
        &self.meter.sum
    }

    /// Returns a flag that is set if BGZF ends without its empty last block and this is not
    /// allowed.
    pub fn lacks_eof(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.meter.lacks_eof)
    }

    /// Returns the number of bytes read so far and the file size, if known, both as stored.
    pub fn progress(&self) -> (u64, Option<u64>) {
        let read = match &self.kind {
            BlockSource::Plain(_, bytes) => {
                (self.ring.claimed() * self.rules.block_bytes as u64).min(bytes.end - bytes.start)
            }
            BlockSource::Blocks { .. } | BlockSource::Stream(_) => self.meter.bytes(),
        };
        (read, self.meter.total)
    }

    pub fn refilled_blocks(&self) -> u64 {
        self.refilled.load(Ordering::Relaxed)
    }

    /// Returns the maximum memory of blocks in bytes: one in each slot, and one per thread.
    pub fn max_bytes(&self, threads: usize) -> usize {
        let compressed = match self.kind {
            BlockSource::Blocks { .. } => 1 << 20,
            BlockSource::Plain(..) | BlockSource::Stream(_) => 0,
        };
        (self.slots + threads) * (self.rules.block_bytes + compressed)
    }

    /// Fills blocks until the first `lines` lines of the text are in memory or have been released,
    /// the text ends, or no slot is free.
    pub fn reach(&self, lines: u64) -> Reach {
        fill_until(self, self.rules.patience, Goal::Lines(lines))
    }

    /// Returns block `number`, filling it first if necessary. `None` after the last block. Only the
    /// thread that releases blocks may call this, for blocks that it has not released.
    pub fn load_block(&self, number: u64) -> Result<Option<Arc<TextBlock>>> {
        match fill_until(self, self.rules.patience, Goal::Blocks(number + 1)) {
            Reach::Enough => {
                let lost = || Error::bug("a block of text was released too early");
                self.ring.get(number).ok_or_else(lost).map(Some)
            }
            Reach::End => Ok(None),
            Reach::Full => Err(Error::bug("the text kept in memory is too long")),
        }
    }

    /// Returns the position after line `number` (1-based). `None` if the line is not in memory: not
    /// filled yet, or released.
    pub fn end_of_line(&self, number: u64) -> Option<TextPosition> {
        let Some(line) = number.checked_sub(1) else { return Some(TextPosition::default()) };
        let (blocks, mut through) = self.ring.summed();
        for block in (0..blocks).rev() {
            let previous =
                block.checked_sub(1).map_or(Some(0), |before| self.ring.lines_through(before));
            let before = match previous {
                Some(lines) => lines,
                None => through - self.ring.get(block)?.lines(),
            };
            if (before..through).contains(&line) {
                let offset = self.ring.get(block)?.end_of_line(number - before)?;
                return Some(TextPosition { block, offset, lines: number });
            }
            through = before;
        }
        None
    }

    /// Appends the text between `from` and `to` to `out`; without `to`, up to the end of the text.
    /// Returns false if the text has been released, cannot be read, or would make `out` longer than
    /// `max_bytes` bytes.
    pub fn copy_text(
        &self,
        from: TextPosition,
        to: Option<TextPosition>,
        out: &mut Vec<u8>,
        max_bytes: usize,
    ) -> bool {
        let last = to.map_or_else(|| self.ring.summed().0, |to| to.block + 1);
        for number in from.block..last {
            let Some(block) = self.ring.get(number) else { return false };
            if to.is_none() && block.fault().is_some() {
                return false;
            }
            let start = if number == from.block { from.offset } else { 0 };
            let end = to.filter(|to| to.block == number).map_or(block.text().len(), |to| to.offset);
            if out.len() + (end - start) > max_bytes {
                return false;
            }
            out.extend_from_slice(&block.text()[start..end]);
        }
        true
    }

    /// Converts a position that is not released to a place in the file; `None` at the end of the
    /// text. Only the thread that releases blocks may call this.
    pub fn find_place(&self, at: TextPosition) -> Result<Option<TextPlace>> {
        let block = match &self.kind {
            BlockSource::Plain(..) | BlockSource::Stream(_) => at.block * self.rules.block_bytes as u64,
            BlockSource::Blocks { .. } => match self.load_block(at.block)? {
                Some(block) => block.stored,
                None => return Ok(None),
            },
        };
        Ok(Some(TextPlace { block, within: at.offset as u64 }))
    }

    /// Returns the point from which the file can be read again, starting at `place`; `None` if this
    /// is not possible.
    pub fn restart_point(&self, place: TextPlace) -> Result<Option<RestartPoint>> {
        self.restart.find_point(place).map_err(|e| Error::io("reading failed", &e).file(&self.name))
    }

    pub fn restart(&self) -> &Restart {
        &self.restart
    }

    /// Releases all blocks before `number`, which must have been filled, and keeps their buffers
    /// for new blocks. Only one thread at a time may do this.
    pub fn release_below(&self, number: u64) {
        self.ring.release_below(number, |block| self.recycle_block(block));
    }

    /// Publishes a filled block. A block that ends with an error is the last one.
    fn publish_block(&self, number: u64, block: TextBlock) {
        if block.fault().is_some() {
            self.ring.end_at(number + 1);
        }
        let lines = block.lines();
        if let Some(unwanted) = self.ring.publish(number, lines, Arc::new(block)) {
            self.refilled.fetch_add(1, Ordering::Relaxed);
            self.recycle_block(unwanted);
        }
    }

    fn read_block(&self, file: &File, all: &Range<u64>, number: u64) -> TextBlock {
        let start = all.start + number * self.rules.block_bytes as u64;
        let n = (all.end - start).min(self.rules.block_bytes as u64) as usize;
        let mut bytes = self.take_buffer();
        match file.read_exact_at(&mut bytes[..n], start) {
            Ok(()) => TextBlock::new(bytes, n, None),
            Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                TextBlock::new(bytes, 0, Some(Error::input("the file became shorter while it was read")))
            }
            Err(e) => TextBlock::new(bytes, 0, Some(Error::io("reading failed", &e))),
        }
    }

    fn fill_block(&self, stream: &mut ByteStream) -> TextBlock {
        let mut bytes = self.take_buffer();
        let (n, fault) = stream.fill(&mut bytes);
        TextBlock::new(bytes, n, fault)
    }

    /// Inflates the chunk that becomes block `number`. In the first block, the first `skipped`
    /// bytes of text are dropped.
    fn inflate_chunk(
        &self,
        (chunk, behind): &CompressedBlocks,
        number: u64,
        skipped: usize,
    ) -> TextBlock {
        let mut bytes = self.shelf.take();
        bytes.clear();
        let Err(error) = Inflater::default().append_chunk(chunk, &mut bytes) else {
            if number == 0 {
                bytes.drain(..skipped.min(bytes.len()));
            }
            let len = bytes.len();
            return TextBlock { stored: chunk.offset, ..TextBlock::new(bytes, len, behind.clone()) };
        };
        // The text of the BGZF blocks before the damaged one is kept.
        let damaged = error.place.offset.unwrap_or_default() - chunk.offset;
        let sound = chunk.blocks.iter().take_while(|block| u64::from(block.start) < damaged);
        let len = sound.map(|block| block.inflated as usize).sum();
        TextBlock::new(bytes, len, Some(error))
    }

    fn take_buffer(&self) -> Vec<u8> {
        let mut bytes = self.shelf.take();
        bytes.resize(self.rules.block_bytes, 0);
        bytes
    }

    fn recycle_block(&self, block: Arc<TextBlock>) {
        if let Some(block) = Arc::into_inner(block) {
            self.shelf.put(block.into_bytes());
        }
    }

    fn retire_chunk(
        &self,
        handed: &[HandedChunk],
        spare: &Mutex<Vec<Chunk>>,
        number: u64,
        chunk: Arc<CompressedBlocks>,
    ) {
        let mut slot = lock_mutex(&handed[number as usize % self.slots]);
        if slot.as_ref().is_some_and(|(of, _)| *of == number) {
            *slot = None;
        }
        drop(slot);
        lock_mutex(spare).extend(Arc::into_inner(chunk).map(|(chunk, _)| chunk));
    }
}

impl Supply for FastqText {
    type Content = Arc<TextBlock>;

    fn ring(&self) -> &Ring<Arc<TextBlock>> {
        &self.ring
    }

    fn claim(&self, wanted: u64) -> bool {
        match &self.kind {
            BlockSource::Plain(file, bytes) => match self.ring.claim() {
                Claim::Block(number) => self.publish_block(number, self.read_block(file, bytes, number)),
                Claim::Full => return self.ring.claimed() > wanted,
                Claim::End => {}
            },
            BlockSource::Stream(stream) => {
                let mut stream = lock_mutex(stream);
                if self.ring.claimed() <= wanted {
                    let Claim::Block(number) = self.ring.claim() else { return false };
                    let block = self.fill_block(&mut stream);
                    if block.text().is_empty() {
                        self.ring.end_at(number + 1);
                    }
                    self.publish_block(number, block);
                }
            }
            BlockSource::Blocks { reader, skipped, handed, spare } => {
                let mut reader = lock_mutex(reader);
                if self.ring.claimed() > wanted {
                    return true;
                }
                let Claim::Block(number) = self.ring.claim() else { return false };
                let mut chunk = lock_mutex(spare).pop().unwrap_or_default();
                let next = reader.next_chunk(&mut chunk);
                if !matches!(next, Ok(true)) {
                    self.ring.end_at(number + 1);
                }
                let chunk = Arc::new((chunk, next.err()));
                *lock_mutex(&handed[number as usize % self.slots]) = Some((number, chunk.clone()));
                drop(reader);
                self.publish_block(number, self.inflate_chunk(&chunk, number, *skipped));
                self.retire_chunk(handed, spare, number, chunk);
            }
        }
        true
    }

    fn estimate_lines(&self) -> u64 {
        self.rules.block_bytes as u64 / USUAL_LINE_BYTES
    }

    fn fill_or_wait(&self, number: u64) {
        match &self.kind {
            BlockSource::Plain(file, bytes) => {
                self.publish_block(number, self.read_block(file, bytes, number))
            }
            BlockSource::Stream(stream) => drop(lock_mutex(stream)), // its claimer publishes it before it leaves the lock
            BlockSource::Blocks { reader, skipped, handed, .. } => {
                let handed = lock_mutex(&handed[number as usize % self.slots]).clone();
                match handed.filter(|(of, _)| *of == number) {
                    Some((_, chunk)) => {
                        self.publish_block(number, self.inflate_chunk(&chunk, number, *skipped))
                    }
                    None => drop(lock_mutex(reader)), // its claimer hands it over before it leaves the lock
                }
            }
        }
    }
}

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Text bytes between two stored line counts. Finding a line scans at most this many bytes.
const STRIDE_BYTES: usize = 16 << 10;

pub(crate) struct TextBlock {
    bytes: Vec<u8>,
    len: usize,
    /// For each stride of [`STRIDE_BYTES`] bytes, the number of lines in the block that end before
    /// the stride does.
    marks: Vec<u32>,
    fault: Option<Error>,
    stored: u64,
}

impl TextBlock {
    /// Creates a block from the first `len` bytes of `bytes`, and counts their lines. `fault` is
    /// the error that follows them, if any.
    pub fn new(bytes: Vec<u8>, len: usize, fault: Option<Error>) -> Self {
        let mut lines = 0;
        let count = |stride: &[u8]| {
            lines += memchr::memchr_iter(b'\n', stride).count() as u32;
            lines
        };
        let marks = bytes[..len].chunks(STRIDE_BYTES).map(count).collect();
        TextBlock { bytes, len, marks, fault, stored: 0 }
    }

    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Returns the error that follows the text; `None` if the text continues or ends here.
    pub fn fault(&self) -> Option<&Error> {
        self.fault.as_ref()
    }

    pub fn lines(&self) -> u64 {
        self.marks.last().map_or(0, |&lines| lines.into())
    }

    /// Returns the offset after the newline of line `number` (1-based within this block); `None` if
    /// the line ends elsewhere.
    pub fn end_of_line(&self, number: u64) -> Option<usize> {
        let stride = self.marks.partition_point(|&lines| u64::from(lines) < number);
        let before = stride.checked_sub(1).map_or(0, |previous| self.marks[previous]);
        let text = self.text().chunks(STRIDE_BYTES).nth(stride)?;
        let rank = (number - u64::from(before)).checked_sub(1)? as usize;
        memchr::memchr_iter(b'\n', text).nth(rank).map(|at| stride * STRIDE_BYTES + at + 1)
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[derive(Default)]
pub(crate) struct BufferShelf(Mutex<Vec<Vec<u8>>>);

impl BufferShelf {
    pub fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    pub fn put(&self, buffer: Vec<u8>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_by_their_number() {
        let text: Vec<u8> =
            (0..100_000u64).map(|i| if i * i % 101 == 4 { b'\n' } else { b'A' }).collect();
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &text).map(|at| at + 1).collect();
        let block = TextBlock::new(text.clone(), text.len() - 3000, None);
        let inside = ends.iter().filter(|&&end| end <= text.len() - 3000);
        assert_eq!(block.lines(), inside.clone().count() as u64);
        for (number, &end) in inside.enumerate() {
            assert_eq!(block.end_of_line(number as u64 + 1), Some(end));
        }
        assert_eq!(block.end_of_line(block.lines() + 1), None);
        assert_eq!(TextBlock::new(Vec::new(), 0, None).lines(), 0);
    }
}
