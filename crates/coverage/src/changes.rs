//! Collects depth changes in any order, and returns them sorted.
//!
//! Each depth counter uses it for one batch at a time. The reads of a batch are near each other, so
//! most changes fall into a short array with one element per position. Only the few that are
//! farther away are sorted.

pub use crate::join::merge_changes;
pub use crate::mates::DepthChange;

const MIN_ARRAY_BASES: usize = 4096;

/// The array has at most one element per 2^3 bytes of records (but may always have
/// [`MIN_ARRAY_BASES`] elements), so that its memory is bounded by the batch size.
const ARRAY_SHIFT: u32 = 3;

/// Depth changes on one contig.
///
/// A read adds `(start, 1)` and `(end, -1)` for each of its aligned blocks:
///
/// ```
/// use readmill_coverage::changes::DepthChanges;
///
/// let mut changes = DepthChanges::default();
/// changes.start_batch(100, 1_000, 4096); // the first read starts at 100; the contig has 1,000 bases
/// for event in [(100, 1), (150, -1), (110, 1), (150, -1)] {
///     changes.add(event);
/// }
/// // Each change has its distance from the previous one. The two changes at 150 are merged.
/// assert_eq!(changes.take_sorted(), [(0, 1), (10, 1), (40, -2)]);
/// ```
#[derive(Default)]
pub struct DepthChanges {
    base: u32,
    length: u32,
    near: Vec<i32>,
    /// Maximum length of `near`. Changes farther away are added to `far`.
    max_near: usize,
    far: Vec<DepthChange>,
}

impl DepthChanges {
    /// Starts a new list of changes at `base`, for a batch with `bytes` bytes of records. Changes at
    /// `length` or later are ignored.
    pub fn start_batch(&mut self, base: u32, length: u32, bytes: u64) {
        let max_near = ((bytes >> ARRAY_SHIFT) as usize).max(MIN_ARRAY_BASES);
        (self.base, self.length, self.max_near) = (base, length, max_near);
        self.near.clear();
        self.far.clear();
    }

    /// Adds a change. Its position must not be before the `base` of [`Self::start_batch`].
    #[inline(always)]
    pub fn add(&mut self, (position, more): DepthChange) {
        let at = (position - self.base) as usize;
        match self.near.get_mut(at) {
            Some(sum) => *sum += more,
            None => self.add_distant_change(position, more),
        }
    }

    #[cold]
    fn add_distant_change(&mut self, position: u32, more: i32) {
        let at = (position - self.base) as usize;
        if position >= self.length {
            return;
        }
        if at < self.max_near {
            let all = ((self.length - self.base) as usize).min(self.max_near);
            self.near.resize((at + 1 + at / 2 + 256).min(all), 0);
            self.near[at] += more;
        } else {
            self.far.push((position, more));
        }
    }

    /// Returns the changes in order, each with its distance from the previous change (the first:
    /// from `base`) instead of its position. Changes at the same position are added up, and left
    /// out if the sum is 0.
    pub fn take_sorted(&mut self) -> Vec<DepthChange> {
        let (mut events, mut last) = (Vec::with_capacity(self.near.len() / 8 + self.far.len()), 0);
        let (chunks, rest) = self.near.as_chunks::<8>();
        let mut push = |at: u32, more: i32| {
            if more != 0 {
                events.push((at - last, more));
                last = at;
            }
        };
        for (n, chunk) in chunks.iter().enumerate() {
            if chunk.iter().fold(0, |all, more| all | more) != 0 {
                (0..8).for_each(|i| push((8 * n + i) as u32, chunk[i]));
            }
        }
        let start = 8 * chunks.len();
        rest.iter().enumerate().for_each(|(i, &more)| push((start + i) as u32, more));
        self.far.sort_unstable_by_key(|&(position, _)| position);
        for same in self.far.chunk_by(|a, b| a.0 == b.0) {
            push(same[0].0 - self.base, same.iter().map(|(_, more)| more).sum());
        }
        events
    }
}
