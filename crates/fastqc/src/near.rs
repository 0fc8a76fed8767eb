//! Base and quality counts of a batch for the first 512 positions, small enough to fit in the
//! caches.

/// Number of positions that are counted per batch. Later positions are added one by one to the
/// totals of the file.
pub(crate) const NEAR_POSITIONS: usize = 512;

pub(crate) const LETTERS: &[u8; 5] = b"ACGTN";

const MAX_BYTE_READS: u8 = u8::MAX;

/// Base and quality counts by position.
///
/// Bases are first counted in bytes, so that the compiler can add 16 or more at once. After 255
/// reads, the bytes are added to 32-bit counters.
pub(crate) struct NearCounts {
    byte_counts: [[u8; NEAR_POSITIONS]; LETTERS.len()],
    unflushed_reads: u8,
    letters: [[u32; NEAR_POSITIONS]; LETTERS.len()],
    length: usize,
    quals: Vec<[u16; 128]>,
    reads: u16,
}

impl NearCounts {
    pub const BYTES: usize = size_of::<NearCounts>() + NEAR_POSITIONS * size_of::<[u16; 128]>();

    pub fn new() -> Box<Self> {
        Box::new(NearCounts {
            byte_counts: [[0; NEAR_POSITIONS]; LETTERS.len()],
            unflushed_reads: 0,
            letters: [[0; NEAR_POSITIONS]; LETTERS.len()],
            length: 0,
            quals: Vec::new(),
            reads: 0,
        })
    }

    #[inline]
    pub fn add_bases(&mut self, bases: &[u8]) {
        let bases = &bases[..bases.len().min(NEAR_POSITIONS)];
        for (counts, &letter) in self.byte_counts.iter_mut().zip(LETTERS) {
            for (count, &base) in counts.iter_mut().zip(bases) {
                *count = count.wrapping_add(u8::from(base == letter)); // at most 255
            }
        }
        self.length = self.length.max(bases.len());
        self.unflushed_reads += 1;
        if self.unflushed_reads == MAX_BYTE_READS {
            self.flush_byte_counts();
        }
    }

    /// Returns whether the 16-bit quality counters may overflow with the next read.
    pub fn is_full(&self) -> bool {
        self.reads == u16::MAX
    }

    #[inline]
    pub fn add_quals(&mut self, quals: &[u8]) {
        let quals = &quals[..quals.len().min(NEAR_POSITIONS)];
        self.reads = self.reads.saturating_add(1);
        if self.quals.len() < quals.len() {
            self.quals.resize(quals.len(), [0; 128]);
        }
        for (counts, &qual) in self.quals.iter_mut().zip(quals) {
            let count = &mut counts[usize::from(qual & 127)];
            *count = count.wrapping_add(1);
        }
    }

    fn flush_byte_counts(&mut self) {
        for (all, few) in self.letters.iter_mut().zip(&mut self.byte_counts) {
            for (all, few) in all.iter_mut().zip(few).take(self.length) {
                *all += u32::from(std::mem::take(few));
            }
        }
        self.unflushed_reads = 0;
    }

    pub fn lengths(&self) -> (usize, usize) {
        (self.length, self.quals.len())
    }

    /// Calls `letters` and `quals` with the counts of each position, and resets them. `letters`
    /// gets the counts of A, C, G, T and N; `quals` gets the counts of the quality characters from
    /// `!` on.
    pub fn drain(
        &mut self,
        mut letters: impl FnMut(usize, [u32; LETTERS.len()]),
        mut quals: impl FnMut(usize, &[u16]),
    ) {
        self.flush_byte_counts();
        for at in 0..self.length {
            letters(at, std::array::from_fn(|letter| std::mem::take(&mut self.letters[letter][at])));
        }
        for (at, counts) in self.quals.iter_mut().enumerate() {
            quals(at, &counts[usize::from(crate::MIN_QUAL_CHAR)..][..crate::QUAL_COUNT]);
            counts.fill(0);
        }
        (self.length, self.reads) = (0, 0);
        self.quals.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_many_reads_are_counted() {
        let mut near = NearCounts::new();
        for n in 0..600 {
            near.add_bases(if n % 3 == 0 { b"ACGTN" } else { b"NR" });
            near.add_quals(b"!~");
        }
        let (mut letters, mut quals) = (Vec::new(), Vec::new());
        near.drain(|_, counts| letters.push(counts), |_, counts| quals.push([counts[0], counts[93]]));
        let of = |at: usize| std::array::from_fn(|letter| if letter == at { 200 } else { 0 });
        assert_eq!(letters[1..], [of(1), of(2), of(3), of(4)]);
        assert_eq!(letters[0], [200, 0, 0, 0, 400]);
        assert_eq!(quals, [[600, 0], [0, 600]]);
        near.drain(|_, _| panic!("counts"), |_, _| panic!("counts"));
    }
}
