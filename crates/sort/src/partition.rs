//! Cuts ordered ranges into partitions, the units in which the output is encoded and written.
//!
//! A partition ends with the record at which the total size of all records so far reaches the next
//! multiple of [`PARTITION`]. This rule depends on the records alone, so the blocks of the output
//! are the same for any memory limit and any number of runs and threads. Cutting is serial, but
//! uses only sums of lengths; [`Partition::gather_into`] copies the records later, in parallel.
//!
//! ```text
//! ranges       [      range 0      ][ range 1 ][        range 2        ]
//! multiples           1x          2x          3x          4x
//! partitions   [ part 0 ][  part 1  ][  part 2   ][  part 3  ][ rest ...
//! ```

use std::sync::Arc;

use readmill_format::spill_codec::damaged_spill_error;
use readmill_record::{Batch, Result, Stamp, arena};

use super::entry::Place;
use super::merge::{OrderedRange, PARTITION, SPILLED, Spool};
use super::run::{STAMP_BYTES, read_arena_record};

/// The records of one partition, in order. It refers to parts of one or more ordered ranges and
/// copies nothing until it is gathered.
#[derive(Default)]
pub struct Partition {
    slices: Vec<RangeSlice>,
    start: u64,
}

struct RangeSlice {
    range: Arc<OrderedRange>,
    from: usize,
    to: usize,
}

/// Cuts consecutive ranges into partitions. [`Cutter::default`] cuts at multiples of [`PARTITION`];
/// see [`crate::Merge`] for an example.
pub struct Cutter {
    size: u64,
    bytes: u64,
    open: Partition,
}

impl Default for Cutter {
    fn default() -> Self {
        Cutter::with_size(PARTITION)
    }
}

impl Cutter {
    /// Creates a cutter that ends a partition whenever the total size of all records reaches a
    /// multiple of `size` bytes. CRAM output uses a different size.
    pub fn with_size(size: u64) -> Self {
        Cutter { size, bytes: 0, open: Partition::default() }
    }

    /// Continues as if records of `start` bytes in total had been cut before. From the second
    /// partition on, the result is the same as if one cutter had cut all records. The first
    /// partition may lack its beginning, but the process that writes the previous range has all of
    /// it.
    #[must_use]
    pub fn resume_at(self, start: u64) -> Self {
        Cutter { bytes: start, ..self }
    }

    pub fn cut(&mut self, range: OrderedRange) -> Vec<Partition> {
        let (range, mut done, mut from) = (Arc::new(range), Vec::new(), 0usize);
        let Some(&bytes) = range.ends.last() else { return done };
        loop {
            // The current partition began below this multiple, even if a record that is larger than
            // a partition has passed several multiples.
            let begun = self.bytes + from.checked_sub(1).map_or(0, |last| range.ends[last]);
            if self.open.slices.is_empty() {
                self.open.start = begun;
            }
            let limit = (begun / self.size + 1) * self.size - self.bytes;
            let to = range.ends.partition_point(|&end| end < limit) + 1;
            let whole = to <= range.ends.len();
            let to = to.min(range.ends.len());
            if from < to {
                self.open.slices.push(RangeSlice { range: Arc::clone(&range), from, to });
            }
            if !whole {
                break;
            }
            done.push(std::mem::take(&mut self.open));
            from = to;
        }
        self.bytes += bytes;
        done
    }

    /// Returns the records after the last cut, or `None` if there are none. They are the last
    /// partition unless more records follow: in presorted input, a later merge adds the returned
    /// records again, so their bytes are subtracted from the sum.
    pub fn take_rest(&mut self) -> Option<Partition> {
        let last = std::mem::take(&mut self.open);
        self.bytes -= last.slices.iter().map(RangeSlice::bytes).sum::<u64>();
        (!last.slices.is_empty()).then_some(last)
    }
}

impl From<OrderedRange> for Partition {
    fn from(range: OrderedRange) -> Self {
        let to = range.picks.len();
        Partition { slices: vec![RangeSlice { range: Arc::new(range), from: 0, to }], start: 0 }
    }
}

impl Partition {
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Replaces the records of `batch` with the records of the partition, in order. Late steps of
    /// the pipeline work on this copy.
    pub fn gather_into(&self, batch: &mut Batch) -> Result<()> {
        batch.clear();
        self.gather(|stamp, raw| batch.push(raw, stamp))
    }

    /// Calls `each` with the stamp and the BAM bytes of each record, in order. Ordinals in the
    /// stamps count from the start of the whole input, even in runs of other processes.
    ///
    /// # Errors
    ///
    /// `each` fails, or the frames on disk do not match their key columns.
    pub fn gather(&self, mut each: impl FnMut(Stamp, &[u8]) -> Result<()>) -> Result<()> {
        self.slices.iter().try_for_each(|slice| slice.gather_records(&mut each))
    }
}

/// Number of picks between the prefetch of a record in the arena and its use. The arena is in input
/// order, so consecutive picks are in different parts of memory.
const PREFETCH_DISTANCE: usize = 8;

struct SpoolCursor {
    frame: usize,
    offset: usize,
    base: u64,
}

impl RangeSlice {
    fn bytes(&self) -> u64 {
        let end = |to: usize| to.checked_sub(1).map_or(0, |last| self.range.ends[last]);
        end(self.to) - end(self.from)
    }

    fn gather_records(&self, each: &mut impl FnMut(Stamp, &[u8]) -> Result<()>) -> Result<()> {
        let RangeSlice { range, from, to } = self;
        let arena = range.sources.sealed.bytes();
        let cursor = |spool: &Spool| {
            let base = range.sources.runs[spool.run].first_ordinal();
            SpoolCursor { frame: 0, offset: spool.offset, base }
        };
        let mut cursors: Vec<SpoolCursor> = range.spools.iter().map(cursor).collect();
        for (i, &pick) in range.picks[..*from].iter().enumerate() {
            if pick & SPILLED != 0 {
                let start = i.checked_sub(1).map_or(0, |before| range.ends[before]);
                let spool = (pick & !SPILLED) as usize;
                self.current_frame(spool, &mut cursors[spool])?;
                cursors[spool].offset += (range.ends[i] - start) as usize + STAMP_BYTES;
            }
        }
        let picks = &range.picks[*from..*to];
        for (i, &pick) in picks.iter().enumerate() {
            if let Some(&ahead) = picks.get(i + PREFETCH_DISTANCE)
                && ahead & SPILLED == 0
            {
                arena::prefetch_record(arena, Place(ahead).offset());
            }
            if pick & SPILLED == 0 {
                let (stamp, raw) = read_arena_record(arena, Place(pick));
                each(stamp, raw)?;
            } else {
                let spool = (pick & !SPILLED) as usize;
                let cursor = &mut cursors[spool];
                let records = self.current_frame(spool, cursor)?;
                let (stamp, raw) = read_arena_record(records, Place::new(cursor.offset, usize::MAX));
                each(stamp.with_base(cursor.base), raw)?;
                cursor.offset += STAMP_BYTES + raw.len();
            }
        }
        Ok(())
    }

    /// Returns the arena records of the frame at the cursor. Moves the cursor to the next frame if
    /// it is at the end of its frame.
    fn current_frame(&self, spool: usize, cursor: &mut SpoolCursor) -> Result<&[u8]> {
        let (sources, frames) = (&self.range.sources, &self.range.spools[spool].frames);
        loop {
            let records = &frames
                .get(cursor.frame)
                .ok_or_else(|| damaged_spill_error("data"))?
                .load_content(&sources.spill, &sources.runs)?
                .records;
            if cursor.offset < records.len() {
                return Ok(records);
            }
            (cursor.frame, cursor.offset) = (cursor.frame + 1, 0);
        }
    }
}
