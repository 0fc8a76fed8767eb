//! The hits of reads, in memory that minibwa's C code has allocated and that is freed here.
#![allow(unsafe_code, reason = "reads what C allocated")]

use std::ffi::{CStr, c_char, c_void};

use minibwa_sys as sys;
use readmill_record::Read;

use crate::IndexContig;

/// The hits of all reads of a batch, in read order. It owns them and frees them with their CIGARs.
pub(super) struct Hits {
    counts: Vec<i32>,
    hits: Vec<*mut sys::mb_hit_t>,
}

// SAFETY: the value owns all its memory, which belongs to no thread.
unsafe impl Send for Hits {}
// SAFETY: functions that take `&Hits` only read it.
unsafe impl Sync for Hits {}

impl Hits {
    /// Takes ownership of hits from the C code.
    ///
    /// # Safety
    ///
    /// For each read: `hits` is null, and its count 0, or points at that number of hits
    /// from `malloc`. The field `p` of each hit is null, or points at an alignment from `malloc`
    /// with `n_cigar` operators, which are followed by a C string if `cs` is set.
    pub(super) unsafe fn new(counts: Vec<i32>, hits: Vec<*mut sys::mb_hit_t>) -> Self {
        Hits { counts, hits }
    }

    pub(super) fn raw(&self) -> (&[i32], &[*mut sys::mb_hit_t]) {
        (&self.counts, &self.hits)
    }

    /// Returns the counts and pointers of reads `first` and `first + 1`. A caller that changes them
    /// must uphold the guarantees of [`Hits::new`].
    pub(super) fn pair_mut(&mut self, first: usize) -> (&mut [i32], &mut [*mut sys::mb_hit_t]) {
        (&mut self.counts[first..first + 2], &mut self.hits[first..first + 2])
    }

    pub(super) fn hits_of_read(&self, read: usize) -> &[MinibwaHit] {
        let count = usize::try_from(self.counts[read]).unwrap_or(0);
        if count == 0 || self.hits[read].is_null() {
            return &[];
        }
        // SAFETY: `new` requires `count` hits here, `MinibwaHit` has their layout, and they live as
        // long as `self`.
        unsafe { std::slice::from_raw_parts(self.hits[read].cast::<MinibwaHit>(), count) }
    }

    /// Returns its heap memory in bytes, including 16 bytes of allocator overhead per allocation.
    pub(super) fn bytes(&self) -> u64 {
        let lists = self.counts.len() * (size_of::<i32>() + size_of::<*mut sys::mb_hit_t>() + 16);
        let hits = (0..self.counts.len()).flat_map(|read| self.hits_of_read(read));
        hits.fold(lists as u64, |sum, hit| sum + size_of::<MinibwaHit>() as u64 + hit.alignment_bytes())
    }
}

impl Drop for Hits {
    fn drop(&mut self) {
        for read in 0..self.counts.len() {
            for hit in self.hits_of_read(read) {
                // SAFETY: the pointer is null or from `malloc`, and nothing else points there.
                unsafe { libc::free(hit.0.p.cast::<c_void>()) };
            }
            // SAFETY: as above; the hits are not used again.
            unsafe { libc::free(self.hits[read].cast::<c_void>()) };
        }
    }
}

/// A candidate position of a read. Positions are 0-based and half-open.
#[repr(transparent)]
pub(super) struct MinibwaHit(sys::mb_hit_t);

impl MinibwaHit {
    pub(super) fn sequence(&self) -> i32 {
        self.0.tid as i32
    }

    pub(super) fn start(&self) -> i32 {
        self.0.ts as i32
    }

    pub(super) fn end(&self) -> i32 {
        self.0.te as i32
    }

    /// Returns the aligned range of the read, in the orientation of the input read.
    pub(super) fn read_range(&self) -> (usize, usize) {
        (self.0.qs.max(0) as usize, self.0.qe.max(0) as usize)
    }

    pub(super) fn is_reverse(&self) -> bool {
        self.0.rev() != 0
    }

    pub(super) fn is_primary(&self) -> bool {
        self.0.parent == self.0.id
    }

    /// Returns whether this hit becomes the primary SAM line of its read. minibwa's other primary
    /// hits become supplementary lines.
    pub(super) fn is_representative(&self) -> bool {
        self.0.sam_pri() != 0
    }

    /// Returns the index, among the hits of the read, of the primary hit that covers the same
    /// bases.
    pub(super) fn parent(&self) -> usize {
        usize::try_from(self.0.parent).unwrap_or(usize::MAX)
    }

    pub(super) fn is_properly_paired(&self) -> bool {
        self.0.proper_pair() != 0
    }

    pub(super) fn mapq(&self) -> u8 {
        self.0.mapq.clamp(0, 255) as u8
    }

    pub(super) fn chain_score(&self) -> i32 {
        self.0.score
    }

    fn alignment(&self) -> Option<&sys::mb_extra_t> {
        // SAFETY: the pointer is null, or points at an alignment that lives as long as the hit.
        unsafe { self.0.p.as_ref() }
    }

    fn alignment_bytes(&self) -> u64 {
        self.alignment().map_or(0, |it| 16 + 4 * u64::from(it.cap))
    }

    /// Returns NM: the number of bases that are mismatched, inserted, deleted or ambiguous.
    pub(super) fn edit_distance(&self) -> i32 {
        let ambiguous = self.alignment().map_or(0, |it| it.n_ambi() as i32);
        self.0.blen - self.0.mlen + ambiguous
    }

    /// Returns four scores: the alignment score (AS), the score of its best segment (ms), the score
    /// for comparing hits, and the same score of the next best hit. `None` if the hit was not
    /// aligned.
    pub(super) fn scores(&self) -> Option<[i32; 4]> {
        self.alignment().map(|it| [it.dp_score, it.dp_max0, it.dp_max, it.dp_max2])
    }

    /// Returns a pointer to the CIGAR operators, and their number. The pointer is valid for the
    /// whole allocation, because a string can follow the operators ([`Self::difference_text`]).
    fn operators(&self) -> Option<(*const u32, usize)> {
        let count = usize::try_from(self.alignment()?.n_cigar).ok()?;
        // SAFETY: the alignment is live. The pointer is made without a reference to the field, so it
        // is valid for the whole allocation.
        Some((unsafe { &raw const (*self.0.p).cigar }.cast::<u32>(), count))
    }

    /// Returns the CIGAR operators as BAM stores them, without clips.
    pub(super) fn cigar(&self) -> &[u32] {
        let Some((first, count)) = self.operators() else { return &[] };
        // SAFETY: the alignment is followed by `count` operators, in the same allocation.
        unsafe { std::slice::from_raw_parts(first, count) }
    }

    /// Returns `MD:Z:...`, `cs:Z:...` or `ds:Z:...`, if one of them was requested.
    pub(super) fn difference_text(&self) -> Option<&[u8]> {
        self.alignment().filter(|it| it.cs() != 0)?;
        let (first, count) = self.operators()?;
        // SAFETY: if `cs` is set, the operators are followed by a C string, in the same allocation.
        Some(unsafe { CStr::from_ptr(first.add(count).cast::<c_char>()) }.to_bytes())
    }
}

/// A read with its hits, and everything else that its records need.
pub(super) struct Segment<'a> {
    pub(super) contigs: &'a [IndexContig],
    pub(super) settings: &'a sys::mb_opt_t,
    pub(super) group: Option<&'a [u8]>,
    pub(super) name: &'a [u8],
    pub(super) read: Read<'a>,
    pub(super) is_last: bool,
    pub(super) hits: &'a [MinibwaHit],
    /// For a pair: the hits and the length of the other read.
    pub(super) mate: Option<(&'a [MinibwaHit], usize)>,
}

impl Segment<'_> {
    /// Returns the hit that determines the mate's position: that of its primary SAM line.
    pub(super) fn mate_hit(&self) -> Option<&MinibwaHit> {
        self.mate.and_then(|(hits, _)| hits.iter().find(|hit| hit.is_representative()))
    }
}

/// Returns the number of clipped bases before and after a hit, in record order. `length` is the
/// length of the read.
pub(super) fn clip_lengths(hit: &MinibwaHit, length: usize) -> [u32; 2] {
    let (start, end) = hit.read_range();
    let (before, behind) = (start as u32, length.saturating_sub(end) as u32);
    if hit.is_reverse() { [behind, before] } else { [before, behind] }
}
