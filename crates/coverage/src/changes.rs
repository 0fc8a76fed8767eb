//! Changes of the depth, which come in no order and leave in order.

pub use crate::join::merge;
pub use crate::mates::Event;

/// The least bases whose depths are counted in an array; the rest is sorted.
const LEAST_WINDOW: usize = 4096;

/// The most bases of the array for a byte of reads, as a shift.
const WINDOW_SHIFT: u32 = 3;

/// Changes of the depth of a contig, in no order.
#[derive(Default)]
pub struct Changes {
    /// The position of the first of `near`.
    base: u32,
    /// The end of the contig, behind which nothing counts.
    length: u32,
    /// The change of depth at each position.
    near: Vec<i32>,
    /// The most positions of `near`.
    most: usize,
    /// Changes behind those.
    far: Vec<Event>,
}

impl Changes {
    /// Forgets all changes. The next ones are those of so many bytes of reads, from `base` on; what lies behind `length` does
    /// not count.
    pub fn begin(&mut self, base: u32, length: u32, bytes: u64) {
        let most = ((bytes >> WINDOW_SHIFT) as usize).max(LEAST_WINDOW);
        (self.base, self.length, self.most) = (base, length, most);
        self.near.clear();
        self.far.clear();
    }

    /// Adds a change, which lies at `base` or behind it.
    #[inline(always)]
    pub fn add(&mut self, (position, more): Event) {
        // No read begins before the first one.
        let at = (position - self.base) as usize;
        match self.near.get_mut(at) {
            Some(sum) => *sum += more,
            None => self.add_behind(position, more),
        }
    }

    #[cold]
    fn add_behind(&mut self, position: u32, more: i32) {
        let at = (position - self.base) as usize;
        if position >= self.length {
            return;
        }
        if at < self.most {
            let all = ((self.length - self.base) as usize).min(self.most);
            self.near.resize((at + 1 + at / 2 + 256).min(all), 0);
            self.near[at] += more;
        } else {
            self.far.push((position, more));
        }
    }

    /// Returns the changes in order, each by its distance from the one before.
    pub fn take(&mut self) -> Vec<Event> {
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
