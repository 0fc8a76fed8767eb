//! Builds the index of a whole file, partition by partition.

use readmill_record::Header;

use super::chunk::Chunk;
use super::fragment::Fragment;
use super::reference_index::{self, ReferenceIndex};
use super::scheme::{MIN_SHIFT, Scheme};

/// The index of a file under construction. For the current reference sequence it holds 24 bytes for each chunk and
/// 16 for each window of 2^14 bases; for those before it, the bytes of the index file.
#[derive(Debug)]
pub struct IndexBuilder {
    pub(super) scheme: Scheme,
    pub(super) n_ref: usize,
    /// The current reference sequence.
    open: Option<ReferenceIndex>,
    /// The bytes of the index file for the reference sequences before it.
    pub(super) done: Vec<u8>,
    /// Number of reference sequences in `done`.
    n_done: usize,
    pub(super) unplaced: u64,
    last: u64,
    pub(super) unsorted: bool,
}

impl IndexBuilder {
    /// An index without records.
    pub fn new(scheme: Scheme, header: &Header) -> Self {
        let n_ref = header.references().len();
        let (open, done, n_done, unplaced, last, unsorted) = Default::default();
        IndexBuilder { scheme, n_ref, open, done, n_done, unplaced, last, unsorted }
    }

    /// Adds the next partition, whose first byte is at `base` in the file.
    pub fn absorb(&mut self, fragment: Fragment, base: u64) {
        self.unplaced += fragment.unplaced;
        if let Some((first, last)) = fragment.range {
            self.unsorted |= fragment.unsorted || first < self.last;
            self.last = last;
        }
        if self.unsorted {
            return; // there will be no index
        }
        let (mut chunks, mut windows) = (&fragment.chunks[..], &fragment.windows[..]);
        for part in &fragment.parts {
            let own = (chunks.split_off(..part.chunks), windows.split_off(..part.windows));
            let own = (own.0.unwrap_or_default(), own.1.unwrap_or_default());
            let n_levels = usize::from(self.scheme.depth) + 1;
            match &mut self.open {
                Some(reference) if reference.ref_id == part.ref_id => reference.absorb(part, own, base),
                _ => {
                    self.close(part.ref_id);
                    let mut reference = ReferenceIndex::new(part, base, n_levels);
                    reference.absorb(part, own, base);
                    self.open = Some(reference);
                }
            }
        }
    }

    /// Writes the bytes of the index file for all reference sequences before `next`.
    pub(super) fn close(&mut self, next: usize) {
        if let Some(open) = self.open.take() {
            self.skip_to(open.ref_id);
            reference_index::append(self.scheme, Some(open), &mut self.done);
            self.n_done += 1;
        }
        self.skip_to(next);
    }

    fn skip_to(&mut self, next: usize) {
        for _ in self.n_done..next {
            self.make_room();
            reference_index::append(self.scheme, None, &mut self.done);
        }
        self.n_done = self.n_done.max(next);
        self.make_room();
    }

    /// Grows `done` by a quarter when the usual entry would not fit.
    fn make_room(&mut self) {
        if self.done.capacity() - self.done.len() < 256 {
            self.done.reserve_exact(4096 + self.done.len() / 4);
        }
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> u64 {
        let open = self.open.as_ref().map_or(0, |reference| {
            let chunks: usize = reference.levels.iter().map(Vec::capacity).sum();
            chunks * size_of::<Chunk>() + reference.windows.capacity() * size_of::<(u32, u64)>()
        });
        (self.done.capacity() + open) as u64
    }

    /// Bytes of memory that the index of a file with this header usually needs: each window has reads.
    pub fn usual_bytes(header: &Header) -> u64 {
        let windows = header.references().iter().map(|contig| u64::from(contig.length >> MIN_SHIFT) + 1);
        windows.map(|windows| 64 + 40 * windows).sum()
    }

    /// Whether all records so far are in coordinate order, so that they can be indexed.
    pub fn is_sorted(&self) -> bool {
        !self.unsorted
    }
}
