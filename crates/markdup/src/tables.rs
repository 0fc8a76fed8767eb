//! Tables indexed by record ordinal: bits, bits with rank, rows, and sparse values.

use readmill_format::spill::{Extent, Spill};
use readmill_record::Result;

use super::sorter::Sorter;

/// One bit per record.
///
/// Setting an ordinal beyond the end has no effect, and getting it returns `false`.
///
/// ```
/// use readmill_markdup::tables::BitSet;
///
/// let mut duplicates = BitSet::new(100);
/// duplicates.set(7);
/// assert!(duplicates.get(7) && !duplicates.get(8));
/// assert_eq!(BitSet::bytes(100), 16);
/// ```
#[derive(Clone, Debug, Default)]
pub struct BitSet(Vec<u64>);

impl BitSet {
    pub fn new(records: u64) -> Self {
        BitSet(vec![0; records.div_ceil(64) as usize])
    }

    pub fn bytes(records: u64) -> u64 {
        records.div_ceil(64) * 8
    }

    pub(super) fn write(&self, into: &Spill) -> Result<Extent> {
        let mut extent = into.begin_extent(0)?;
        for words in self.0.chunks(PIECE_ROWS) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            into.append_bytes(&mut extent, &bytes)?;
        }
        Ok(extent)
    }

    pub(super) fn read(records: u64, extent: &Extent, spill: &Spill) -> Result<Self> {
        let mut bits = BitSet::new(records);
        let mut bytes = vec![0; PIECE_ROWS * 8];
        let mut at = extent.start;
        for words in bits.0.chunks_mut(PIECE_ROWS) {
            let bytes = &mut bytes[..8 * words.len()];
            spill.read_bytes(extent, at, bytes)?;
            at += bytes.len() as u64;
            for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
        }
        Ok(bits)
    }

    pub fn set(&mut self, ordinal: u64) {
        if let Some(word) = self.0.get_mut((ordinal / 64) as usize) {
            *word |= 1 << (ordinal % 64);
        }
    }

    pub fn clear(&mut self, ordinal: u64) {
        if let Some(word) = self.0.get_mut((ordinal / 64) as usize) {
            *word &= !(1 << (ordinal % 64));
        }
    }

    pub fn get(&self, ordinal: u64) -> bool {
        self.0.get((ordinal / 64) as usize).is_some_and(|word| word >> (ordinal % 64) & 1 == 1)
    }
}

const STRIDE_WORDS: usize = 8;

/// A bit set with rank queries (the number of set bits before a bit). Maps a sparse ordinal to the
/// index of its row.
pub(super) struct Ranks {
    pub(super) bits: BitSet,
    sums: Vec<u64>,
}

impl Ranks {
    pub(super) fn new(bits: BitSet) -> Self {
        let mut sum = 0;
        let strides = bits.0.chunks(STRIDE_WORDS).map(|words| {
            let before = sum;
            sum += words.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
            before
        });
        Ranks { sums: strides.collect(), bits }
    }

    fn rank(&self, ordinal: u64) -> Option<u64> {
        let (word, bit) = ((ordinal / 64) as usize, ordinal % 64);
        if !self.bits.get(ordinal) {
            return None;
        }
        let between: u32 =
            self.bits.0[word / STRIDE_WORDS * STRIDE_WORDS..word].iter().map(|w| w.count_ones()).sum();
        let within = (self.bits.0[word] & ((1 << bit) - 1)).count_ones();
        Some(self.sums[word / STRIDE_WORDS] + u64::from(between + within))
    }
}

const PIECE_ROWS: usize = 1 << 13;

/// Append-only rows of `N` words. Full pieces can be moved to the spill, from which a lookup reads
/// one row.
#[derive(Default)]
pub struct RowStore<const N: usize> {
    spilled: Vec<Extent>,
    memory: Vec<[u64; N]>,
}

impl<const N: usize> RowStore<N> {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn len(&self) -> u64 {
        (self.spilled.len() * PIECE_ROWS + self.memory.len()) as u64
    }

    pub fn bytes(&self) -> u64 {
        (self.memory.capacity() * 8 * N) as u64
    }

    pub fn push(&mut self, row: [u64; N]) {
        self.memory.push(row);
    }

    pub fn spill(&mut self, spill: &Spill) -> Result<()> {
        let whole = self.memory.len() / PIECE_ROWS * PIECE_ROWS;
        for piece in self.memory[..whole].chunks(PIECE_ROWS) {
            let bytes: Vec<u8> = piece.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            let mut extent = spill.begin_extent(0)?;
            spill.append_bytes(&mut extent, &bytes)?;
            self.spilled.push(extent);
        }
        self.memory = self.memory[whole..].to_vec();
        Ok(())
    }

    pub(super) fn write(&self, spill: &Spill, into: &Spill) -> Result<Extent> {
        let mut extent = into.begin_extent(0)?;
        let mut bytes = vec![0; PIECE_ROWS * 8 * N];
        for piece in &self.spilled {
            spill.read_bytes(piece, piece.start, &mut bytes)?;
            into.append_bytes(&mut extent, &bytes)?;
        }
        for rows in self.memory.chunks(PIECE_ROWS) {
            let bytes: Vec<u8> = rows.iter().flatten().flat_map(|word| word.to_le_bytes()).collect();
            into.append_bytes(&mut extent, &bytes)?;
        }
        Ok(extent)
    }

    /// Opens rows that were written in order. Only the last, incomplete piece is read into memory.
    pub(super) fn open_rows(rows: Extent, spill: &Spill) -> Result<Self> {
        let (mut spilled, mut rest) = (Vec::new(), rows);
        let size = (PIECE_ROWS * 8 * N) as u64;
        while rest.end - rest.start >= size {
            let mut piece = rest;
            piece.end = rest.start + size;
            spilled.push(piece);
            rest.start = piece.end;
        }
        let mut bytes = vec![0; (rest.end - rest.start) as usize];
        spill.read_bytes(&rest, rest.start, &mut bytes)?;
        let words = bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let words: Vec<u64> = words.collect();
        let memory = words.chunks_exact(N).filter_map(|row| row.try_into().ok()).collect();
        Ok(RowStore { spilled, memory })
    }

    pub fn get(&self, n: u64, spill: &Spill) -> Result<Option<[u64; N]>> {
        let (piece, at) = ((n / PIECE_ROWS as u64) as usize, n % PIECE_ROWS as u64);
        let Some(extent) = self.spilled.get(piece) else {
            let n = n - (self.spilled.len() * PIECE_ROWS) as u64;
            return Ok(self.memory.get(n as usize).copied());
        };
        let mut row = [0; N];
        let mut bytes = [[0u8; 8]; N];
        spill.read_bytes(extent, extent.start + at * 8 * N as u64, bytes.as_flattened_mut())?;
        row.iter_mut().zip(bytes).for_each(|(word, bytes)| *word = u64::from_le_bytes(bytes));
        Ok(Some(row))
    }
}

/// A sparse table from ordinals to values: one bit per record, and one row per value.
pub struct OrdinalTable {
    pub(super) has: Ranks,
    pub(super) rows: RowStore<1>,
}

impl OrdinalTable {
    /// Builds the table from (ordinal, value) pairs, whose chunks must be sorted. Only the first
    /// value of a record is used. Rows are spilled when they exceed `room` bytes of memory.
    pub fn new(values: &Sorter<[u64; 2]>, records: u64, spill: &Spill, room: u64) -> Result<Self> {
        let (mut bits, mut rows) = (BitSet::new(records), RowStore::default());
        let mut values = values.merge(spill)?;
        while let Some([ordinal, value]) = values.next_item()? {
            if !bits.get(ordinal) {
                bits.set(ordinal);
                rows.push([value]);
            }
            if rows.len().is_multiple_of(PIECE_ROWS as u64) && rows.bytes() > room {
                rows.spill(spill)?;
            }
        }
        Ok(OrdinalTable { has: Ranks::new(bits), rows })
    }

    pub fn bytes_of_bits(records: u64) -> u64 {
        BitSet::bytes(records) / STRIDE_WORDS as u64 * (STRIDE_WORDS as u64 + 1) + 64
    }

    /// Returns the memory of the rows in bytes, without spilled rows.
    pub fn bytes_of_rows(&self) -> u64 {
        self.rows.bytes()
    }

    pub fn get(&self, ordinal: u64, spill: &Spill) -> Result<Option<u64>> {
        let Some(rank) = self.has.rank(ordinal) else { return Ok(None) };
        Ok(self.rows.get(rank, spill)?.map(|[value]| value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_from_memory_and_from_the_spill() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(&[dir.path().to_path_buf()]);
        let mut values = Sorter::default();
        let records = 300_000u64;
        let has = |ordinal: u64| ordinal % 3 == 1 || ordinal % 64 == 63;
        (0..records).filter(|&n| has(n)).for_each(|n| values.push([n, n * 7]));
        values.chunks_mut().iter_mut().for_each(|chunk| chunk.sort_unstable());
        for room in [0, u64::MAX] {
            let table = OrdinalTable::new(&values, records, &spill, room).unwrap();
            assert_eq!(table.rows.spilled.is_empty(), room > 0);
            for ordinal in 0..records + 100 {
                let expected = (ordinal < records && has(ordinal)).then_some(ordinal * 7);
                assert_eq!(table.get(ordinal, &spill).unwrap(), expected, "{ordinal}");
            }
        }
    }
}
