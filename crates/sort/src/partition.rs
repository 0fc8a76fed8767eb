//! Cuts ordered ranges into partitions, the units of the output.
//!
//! A partition ends with the record at which the bytes of all records so far reach the next multiple of
//! [`PARTITION`]: a function of the records alone, so the blocks of the output are the same for any memory
//! limit, runs and threads. Cutting is serial and uses sums only.

use std::sync::Arc;

use readmill_format::spill_codec::damaged;
use readmill_record::{Batch, Result, Stamp, arena};

use super::entry::Place;
use super::merge::{Ordered, PARTITION, SPILLED, Spool};
use super::run::{STAMP_BYTES, arena_record};

/// The records of one partition, in order.
#[derive(Default)]
pub struct Partition {
    slices: Vec<RangeSlice>,
    /// Bytes of all records before it.
    start: u64,
}

/// Some consecutive records of a range.
struct RangeSlice {
    range: Arc<Ordered>,
    from: usize,
    to: usize,
}

/// Cuts partitions from consecutive ranges.
pub struct Cutter {
    /// Bytes of a partition.
    size: u64,
    /// Bytes of all records so far.
    bytes: u64,
    open: Partition,
}

impl Default for Cutter {
    fn default() -> Self {
        Cutter::every(PARTITION)
    }
}

impl Cutter {
    /// Cuts a partition whenever the bytes of all records reach a multiple of `size`.
    pub fn every(size: u64) -> Self {
        Cutter { size, bytes: 0, open: Partition::default() }
    }

    /// Cuts the same partitions as one that was given all records before, of `start` bytes, from the second on: the
    /// first may lack its beginning.
    #[must_use]
    pub fn resume(self, start: u64) -> Self {
        Cutter { bytes: start, ..self }
    }

    /// Takes the next range; returns the partitions that end in it.
    pub fn cut(&mut self, range: Ordered) -> Vec<Partition> {
        let (range, mut done, mut from) = (Arc::new(range), Vec::new(), 0usize);
        let Some(&bytes) = range.ends.last() else { return done };
        loop {
            // The current partition began below this multiple, even if a record larger than a partition has
            // passed several.
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

    /// Returns the records since the last cut: the last partition, unless more records follow. If these
    /// records are added again, they are not counted twice.
    pub fn finish(&mut self) -> Option<Partition> {
        let last = std::mem::take(&mut self.open);
        self.bytes -= last.slices.iter().map(RangeSlice::bytes).sum::<u64>();
        (!last.slices.is_empty()).then_some(last)
    }
}

impl From<Ordered> for Partition {
    /// Makes a partition of all records of a range, where the cut does not matter.
    fn from(range: Ordered) -> Self {
        let to = range.picks.len();
        Partition { slices: vec![RangeSlice { range: Arc::new(range), from: 0, to }], start: 0 }
    }
}

impl Partition {
    /// Bytes of all records that come before it in the order from which it was cut.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Replaces the records of `batch` by its records, in order.
    pub fn gather_into(&self, batch: &mut Batch) -> Result<()> {
        batch.clear();
        self.gather(|stamp, raw| batch.push(raw, stamp))
    }

    /// Calls `each` for each record, in order.
    pub fn gather(&self, mut each: impl FnMut(Stamp, &[u8]) -> Result<()>) -> Result<()> {
        self.slices.iter().try_for_each(|slice| slice.gather(&mut each))
    }
}

/// Distance of the memory prefetch, in picks.
const AHEAD: usize = 8;

/// The read position in a spool.
struct SpoolCursor {
    frame: usize,
    /// The offset in the frame.
    offset: usize,
    /// The number of the input's records from which the stamps of the run count.
    base: u64,
}

impl RangeSlice {
    fn bytes(&self) -> u64 {
        let end = |to: usize| to.checked_sub(1).map_or(0, |last| self.range.ends[last]);
        end(self.to) - end(self.from)
    }

    fn gather(&self, each: &mut impl FnMut(Stamp, &[u8]) -> Result<()>) -> Result<()> {
        let RangeSlice { range, from, to } = self;
        let arena = range.sources.sealed.bytes();
        let cursor = |spool: &Spool| {
            let base = range.sources.runs[spool.run].base();
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
            if let Some(&ahead) = picks.get(i + AHEAD)
                && ahead & SPILLED == 0
            {
                arena::prefetch(arena, Place(ahead).offset());
            }
            if pick & SPILLED == 0 {
                let (stamp, raw) = arena_record(arena, Place(pick));
                each(stamp, raw)?;
            } else {
                let spool = (pick & !SPILLED) as usize;
                let cursor = &mut cursors[spool];
                let records = self.current_frame(spool, cursor)?;
                let (stamp, raw) = arena_record(records, Place::new(cursor.offset, usize::MAX));
                each(stamp.counted_from(cursor.base), raw)?;
                cursor.offset += STAMP_BYTES + raw.len();
            }
        }
        Ok(())
    }

    /// Returns the records of the cursor's frame; a cursor at the end of a frame first moves to the next.
    fn current_frame(&self, spool: usize, cursor: &mut SpoolCursor) -> Result<&[u8]> {
        let (sources, frames) = (&self.range.sources, &self.range.spools[spool].frames);
        loop {
            let records = &frames
                .get(cursor.frame)
                .ok_or_else(|| damaged("data"))?
                .load(&sources.spill, &sources.runs)?
                .records;
            if cursor.offset < records.len() {
                return Ok(records);
            }
            (cursor.frame, cursor.offset) = (cursor.frame + 1, 0);
        }
    }
}
