//! Stores the details of each duplicate in addition to its mark: the name of the read that is kept,
//! and the number of reads that the kept read represents.

use readmill_format::spill::{Extent, Spill};
use readmill_record::Result;

use super::detail::DuplicateDetails;
use crate::tables::OrdinalTable;

/// The details of duplicates and of kept reads, looked up by ordinal. Part of the
/// [`Verdict`](crate::Verdict).
pub struct Findings {
    pub(super) originals: OrdinalTable,
    /// The same as `originals`, for secondary, supplementary and unmapped records.
    pub(super) others: OrdinalTable,
    pub(super) counts: OrdinalTable,
    pub(super) names: NameStore,
}

impl Findings {
    /// Returns the number of ordinal tables that these details need. Used to compute memory before
    /// the scan.
    pub fn table_count(details: &DuplicateDetails) -> u64 {
        if details.is_wanted() { 5 } else { 0 }
    }

    pub fn bytes(&self) -> u64 {
        let tables = [&self.originals, &self.others, &self.counts];
        tables.iter().map(|table| table.bytes_of_rows()).sum::<u64>() + self.names.bytes()
    }

    pub fn original_name(&self, ordinal: u64, spill: &Spill) -> Result<Option<Vec<u8>>> {
        let name = match self.originals.get(ordinal, spill)? {
            None => self.others.get(ordinal, spill)?,
            name => name,
        };
        name.map(|name| self.names.read_name(name, spill)).transpose()
    }

    pub fn represented_reads(&self, ordinal: u64, spill: &Spill) -> Result<u64> {
        Ok(self.counts.get(ordinal, spill)?.unwrap_or(1))
    }
}

/// Number of low bits in a name number that are the name's offset in its piece. The higher bits are
/// the index of the piece.
const OFFSET_BITS: u32 = 20;

const PIECE_BYTES: usize = 1 << 18;

/// Names in the spill; only the last piece is in memory. Each name is preceded by its length in one
/// byte.
#[derive(Default)]
pub(super) struct NameStore {
    pieces: Vec<Extent>,
    last: Vec<u8>,
}

impl NameStore {
    fn bytes(&self) -> u64 {
        (self.last.capacity() + self.pieces.capacity() * size_of::<Extent>()) as u64
    }

    /// Adds a name and returns its number. If the last piece is full, it is first written to the
    /// spill.
    pub(super) fn push_name(&mut self, name: &[u8], spill: &Spill) -> Result<u64> {
        if self.last.len() + 1 + name.len() > PIECE_BYTES {
            let mut piece = spill.begin_extent(0)?;
            spill.append_bytes(&mut piece, &self.last)?;
            self.pieces.push(piece);
            self.last.clear();
        }
        let number = (self.pieces.len() as u64) << OFFSET_BITS | self.last.len() as u64;
        self.last.push(name.len() as u8); // a name has at most 254 bytes
        self.last.extend_from_slice(name);
        Ok(number)
    }

    fn read_name(&self, number: u64, spill: &Spill) -> Result<Vec<u8>> {
        let (piece, at) = ((number >> OFFSET_BITS) as usize, number & ((1 << OFFSET_BITS) - 1));
        let (mut bytes, read);
        let found = match self.pieces.get(piece) {
            None => self.last.get(at as usize..).unwrap_or_default(),
            Some(piece) => {
                let start = piece.start + at;
                bytes = [0; 256];
                read = (piece.end - start).min(256) as usize;
                spill.read_bytes(piece, start, &mut bytes[..read])?;
                &bytes[..read]
            }
        };
        let Some((&length, name)) = found.split_first() else { return Ok(Vec::new()) };
        Ok(name.get(..length.into()).unwrap_or_default().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_memory_and_from_the_spill() {
        let dir = tempfile::tempdir().unwrap();
        let spill = Spill::new(&[dir.path().to_path_buf()]);
        let mut store = NameStore::default();
        let name = |n: usize| format!("{}{n}", "x".repeat(n % 249)).into_bytes();
        let numbers: Vec<u64> = (0..9_999).map(|n| store.push_name(&name(n), &spill).unwrap()).collect();
        assert!(store.pieces.len() > 3);
        for (n, &number) in numbers.iter().enumerate() {
            assert_eq!(store.read_name(number, &spill).unwrap(), name(n));
        }
    }
}
