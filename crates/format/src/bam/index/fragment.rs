//! The index entries of one partition, with offsets relative to its first byte.

use readmill_record::RecordRef;
use serde::{Deserialize, Serialize};

use super::scheme::{
    BinChunk, IndexScheme, MAX_LEVELS, RecordInterval, ReferenceSummary, bin_level, extend_windows,
};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ReferencePart {
    pub(super) ref_id: usize,
    pub(super) summary: ReferenceSummary,
    pub(super) chunks: usize,
    pub(super) windows: usize,
}

/// The index entries of one partition. Virtual offsets are relative to the partition: block offset
/// in the compressed partition << 16 | offset in the inflated block.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Fragment {
    pub(super) parts: Vec<ReferencePart>,
    /// Chunks of all parts, one part after the other. The chunks of a bin are in file order; chunks
    /// of other bins may be between them.
    pub(super) chunks: Vec<BinChunk>,
    pub(super) windows: Vec<(u32, u64)>,
    pub(super) unplaced: u64,
    /// Sort keys of the first and the last record; `None` for an empty partition. The index builder
    /// compares them with those of the adjacent partitions.
    pub(super) range: Option<(u64, u64)>,
    pub(super) unsorted: bool,
}

/// Collects the index entries of one partition after another. It is owned by the thread that
/// encodes the partitions.
#[derive(Debug)]
pub struct FragmentBuilder {
    scheme: IndexScheme,
    fragment: Fragment,
    ref_id: i32,
    open: [BinChunk; MAX_LEVELS],
    /// The window of the last record, if the record lies within a single window. Most records stay
    /// in the window of the previous one.
    window: Option<u32>,
}

impl FragmentBuilder {
    pub fn new(scheme: IndexScheme) -> Self {
        let fragment = Fragment::default();
        FragmentBuilder {
            scheme,
            fragment,
            ref_id: -1,
            open: [BinChunk::NONE; MAX_LEVELS],
            window: None,
        }
    }

    /// Adds the next record in coordinate order. `start` is its virtual offset, and `end` that of
    /// the next record. If the record ends with its block, `end` is the start of the next block; if
    /// it ends the partition, `end` is the length of the partition << 16.
    #[inline]
    pub fn add_record(&mut self, record: RecordRef<'_>, start: u64, end: u64) {
        self.add_interval(RecordInterval::of(record), start, end);
    }

    /// Adds the next record by its position only, as the indexers of text and BCF do, which have no
    /// BAM records.
    pub fn add_interval(&mut self, place: RecordInterval, start: u64, end: u64) {
        self.note_order(place);
        let ref_id = place.ref_id;
        if ref_id != self.ref_id {
            self.close_chunks();
            (self.ref_id, self.window) = (ref_id, None);
            if ref_id >= 0 {
                self.fragment.parts.push(ReferencePart::new(ref_id as usize, start));
            }
        }
        if ref_id < 0 {
            self.fragment.unplaced += 1;
            return;
        }
        let Fragment { parts, chunks, windows, .. } = &mut self.fragment;
        let Some(part) = parts.last_mut() else { return };
        part.summary.end = end;
        match place.is_unmapped {
            true => part.summary.unmapped += 1,
            false => part.summary.mapped += 1,
        }
        let (first, last) = self.scheme.window_range(place);
        let window = Some(first).filter(|_| first == last);
        let is_same = window.is_some() && window == self.window;
        self.window = window;
        if is_same {
            // The record extends the chunk of the previous record.
            self.open[usize::from(self.scheme.depth)].end = end;
            return;
        }
        let bin = self.scheme.smallest_bin(first, last);
        part.windows += usize::from(extend_windows(windows, part.windows, last + 1, start));
        let next = BinChunk { begin: start, end, bin };
        let open = &mut self.open[bin_level(bin)];
        if !open.try_merge(next) {
            let closed = std::mem::replace(open, next);
            part.chunks += usize::from(closed != BinChunk::NONE);
            chunks.extend((closed != BinChunk::NONE).then_some(closed));
        }
    }

    /// Ends the partition: returns its index entries, and starts a new partition.
    pub fn finish_partition(&mut self) -> Fragment {
        self.close_chunks();
        (self.ref_id, self.window) = (-1, None);
        std::mem::take(&mut self.fragment)
    }

    fn close_chunks(&mut self) {
        let open = self.open.iter_mut().map(|chunk| std::mem::replace(chunk, BinChunk::NONE));
        let closed = open.filter(|chunk| *chunk != BinChunk::NONE);
        if let Some(part) = self.fragment.parts.last_mut() {
            let before = self.fragment.chunks.len();
            self.fragment.chunks.extend(closed);
            part.chunks += self.fragment.chunks.len() - before;
        }
    }

    fn note_order(&mut self, place: RecordInterval) {
        let key = place.sort_key();
        match &mut self.fragment.range {
            None => self.fragment.range = Some((key, key)),
            Some((_, last)) => {
                self.fragment.unsorted |= key < *last;
                *last = key;
            }
        }
    }
}

impl ReferencePart {
    fn new(ref_id: usize, begin: u64) -> Self {
        let summary = ReferenceSummary { begin, end: begin, mapped: 0, unmapped: 0 };
        ReferencePart { ref_id, summary, chunks: 0, windows: 0 }
    }
}
