//! Reads the parts of a BAI or CSI file that are needed for some regions, to find their records in the
//! indexed file.
//!
//! Contigs that are not needed are skipped, and nothing after the last needed contig is read.
//! Numbers in the file are not trusted: lists grow only as their bytes arrive, and offsets outside
//! the indexed file are errors.

use std::collections::BTreeMap;
use std::path::Path;

use readmill_record::{Charge, Error, Ledger, Result, make_room};

use super::scheme::{BAI_DEPTH, MIN_SHIFT, first_bin};
use crate::region::ContigPart;
use crate::text::{self, TextInput};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRange {
    pub begin: u64,
    pub end: u64,
}

#[derive(Clone, Copy, Debug)]
pub struct IndexedFile {
    pub contigs: usize,
    pub bytes: u64,
}

/// The index entries of some contigs, as read from a BAI or CSI file.
///
/// The file offsets of a region are found in two steps: [`BamIndex::file_ranges`] collects the chunks of
/// all bins that may hold records of the region, and drops those that end before the first record that
/// overlaps the region's first window or a later one ([`BamIndex::first_offset`]).
#[derive(Debug)]
pub struct BamIndex {
    depth: u32,
    min_shift: u32,
    contigs: BTreeMap<u32, ContigIndex>,
    placed_end: u64,
    _charge: Charge,
}

#[derive(Debug, Default)]
struct ContigIndex {
    bins: Vec<Bin>,
    chunks: Vec<FileRange>,
    /// Windows in order, each with the offset of the first record that overlaps it or a later window.
    /// Only windows at which the offset changes are kept. Empty if the offsets in the file are not
    /// ascending, because they are then useless.
    windows: Vec<(u32, u64)>,
}

#[derive(Clone, Copy, Debug)]
struct Bin {
    number: u32,
    first: u32,
    end: u32,
}

/// Maximum depth of an index that is read. The bin numbers of deeper schemes need more than 32 bits.
const MAX_DEPTH_READ: u32 = 9;

const LEDGER_NAME: &str = "the index of the input";

const REBUILD_HINT: &str = "rebuild the index: readmill index FILE";

fn damaged_error(what: &str) -> Error {
    Error::input(format!("the index is damaged or belongs to another file: {what}")).hint(REBUILD_HINT)
}

struct IndexFileBytes {
    input: TextInput,
    buffer: Vec<u8>,
    at: usize,
}

impl IndexFileBytes {
    const SIZE: usize = 1 << 15;

    fn fill_buffer(&mut self) -> Result<bool> {
        self.buffer.resize(Self::SIZE, 0);
        let n = self.input.fill_buffer(&mut self.buffer).map_err(|e| text::unnamed_read_error(&e))?;
        self.buffer.truncate(n);
        self.at = 0;
        Ok(n > 0)
    }

    fn skip_bytes(&mut self, mut n: u64) -> Result<()> {
        loop {
            let here = (self.buffer.len() - self.at) as u64;
            if n <= here {
                self.at += n as usize;
                return Ok(());
            }
            n -= here;
            if !self.fill_buffer()? {
                return Err(damaged_error("the index is truncated"));
            }
        }
    }

    fn try_read_array<const N: usize>(&mut self) -> Result<Option<[u8; N]>> {
        if let Some(bytes) = self.buffer.get(self.at..).and_then(<[u8]>::first_chunk::<N>) {
            self.at += N;
            return Ok(Some(*bytes));
        }
        let mut array = [0; N];
        for byte in &mut array {
            if self.at == self.buffer.len() && !self.fill_buffer()? {
                return Ok(None);
            }
            *byte = self.buffer[self.at];
            self.at += 1;
        }
        Ok(Some(array))
    }

    fn read_array<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.try_read_array()?.ok_or_else(|| damaged_error("the index is truncated"))
    }

    fn read_u32(&mut self) -> Result<u32> {
        self.read_array().map(u32::from_le_bytes)
    }

    fn read_u64(&mut self) -> Result<u64> {
        self.read_array().map(u64::from_le_bytes)
    }

    fn read_count(&mut self) -> Result<u32> {
        let n = self.read_u32()?;
        i32::try_from(n).map(|_| n).map_err(|_| damaged_error("a number is negative"))
    }
}

impl BamIndex {
    /// Reads the entries of the contigs in `wanted`, which may be in any order. If `all` is set, reads
    /// the other contigs as well, but keeps only the end of their records, for [`BamIndex::placed_end`].
    ///
    /// # Errors
    /// Fails if the index is damaged or does not fit the indexed file, or the memory is not available.
    pub fn open(
        path: &Path,
        file: IndexedFile,
        wanted: impl IntoIterator<Item = u32>,
        all: bool,
        ledger: &Ledger,
    ) -> Result<Self> {
        let input = text::open_inflated(path, ledger)?;
        let bytes = IndexFileBytes { input, buffer: Vec::new(), at: 0 };
        Self::read_index(bytes, file, wanted, all, ledger).map_err(|error| error.file(path))
    }

    fn read_index(
        mut bytes: IndexFileBytes,
        file: IndexedFile,
        wanted: impl IntoIterator<Item = u32>,
        all: bool,
        ledger: &Ledger,
    ) -> Result<Self> {
        let (depth, min_shift, is_csi) = match &bytes.read_array::<4>()? {
            b"BAI\x01" => (u32::from(BAI_DEPTH), u32::from(MIN_SHIFT), false),
            b"CSI\x01" => {
                let (min_shift, depth, auxiliary) =
                    (bytes.read_u32()?, bytes.read_u32()?, bytes.read_count()?);
                if !(1..=31).contains(&min_shift) || depth > MAX_DEPTH_READ {
                    return Err(damaged_error("the sizes of the bins are invalid"));
                }
                bytes.skip_bytes(auxiliary.into())?;
                (depth, min_shift, true)
            }
            _ => return Err(Error::input("this is neither a BAI nor a CSI index").hint(REBUILD_HINT)),
        };
        let contigs = bytes.read_count()? as usize;
        if contigs != file.contigs {
            let what = format!(
                "the index has {contigs} contigs, but the header of the file has {}",
                file.contigs
            );
            return Err(damaged_error(&what));
        }
        let mut charge = ledger.empty_charge(LEDGER_NAME);
        let mut list: BTreeMap<u32, ContigIndex> =
            wanted.into_iter().map(|contig| (contig, ContigIndex::default())).collect();
        charge.grow((list.len() * 2 * size_of::<(u32, ContigIndex)>()) as u64)?;
        let last = list.last_key_value().map(|(&last, _)| last);
        let mut placed_end = 0;
        for contig in 0..contigs as u32 {
            if !all && last.is_none_or(|last| last < contig) {
                break;
            }
            let mut reader =
                ContigReader { bytes: &mut bytes, depth, is_csi, file, placed_end: &mut placed_end };
            match list.get_mut(&contig) {
                Some(into) => reader.read_contig(into, &mut charge)?,
                None if all => {
                    // Only the end of its records is kept.
                    let mut passing = ledger.empty_charge(LEDGER_NAME);
                    let mut passed = ContigIndex::default();
                    reader.read_contig(&mut passed, &mut passing)?;
                }
                None => reader.skip_contig()?,
            }
        }
        Ok(BamIndex { depth, min_shift, contigs: list, placed_end, _charge: charge })
    }

    /// Returns the virtual offset at which the records without a contig start, if all contigs were read;
    /// 0 if no record has a contig.
    pub fn placed_end(&self) -> u64 {
        self.placed_end
    }

    /// Returns a virtual offset from which a reader finds all records that overlap the window of `base`
    /// or a later window. It is at most the offset of the first such record, and all records before it
    /// start before the window.
    pub fn first_offset(&self, contig: u32, base: i64) -> u64 {
        let window = u32::try_from(base.max(0) >> self.min_shift).unwrap_or(u32::MAX);
        self.contigs.get(&contig).map_or(0, |contig| contig.first_offset_in_window(window))
    }

    /// Returns the ranges of the file that contain all records of a region, in order and without the
    /// parts before offset `min_offset`. Ranges that share a block are merged.
    pub fn file_ranges(&self, part: &ContigPart, min_offset: u64) -> Vec<FileRange> {
        let Some(contig) = self.contigs.get(&part.contig) else { return Vec::new() };
        let min_offset = min_offset.max(self.first_offset(part.contig, part.start));
        let span = 1i64 << (self.min_shift + 3 * self.depth).min(62);
        // Positions beyond the last window count as if they were in it.
        let (first, last) = (part.start.clamp(0, span - 1), (part.end - 1).clamp(0, span - 1));
        let mut ranges = Vec::new();
        for level in 0..=self.depth {
            let shift = self.min_shift + 3 * (self.depth - level);
            let number = |base: i64| first_bin(level) + (base >> shift) as u32;
            let from = contig.bins.partition_point(|bin| bin.number < number(first));
            let bins = contig.bins[from..].iter().take_while(|bin| bin.number <= number(last));
            for bin in bins {
                let chunks = &contig.chunks[bin.first as usize..bin.end as usize];
                let chunks = chunks.iter().filter(|chunk| chunk.end > min_offset);
                ranges.extend(
                    chunks.map(|chunk| FileRange { begin: chunk.begin.max(min_offset), ..*chunk }),
                );
            }
        }
        ranges.sort_unstable_by_key(|range| range.begin);
        ranges.dedup_by(|next, range| {
            let joins = next.begin <= range.end || next.begin >> 16 == range.end >> 16;
            if joins {
                range.end = range.end.max(next.end);
            }
            joins
        });
        ranges
    }
}

impl ContigIndex {
    fn first_offset_in_window(&self, window: u32) -> u64 {
        let behind = self.windows.partition_point(|&(first, _)| first <= window);
        behind.checked_sub(1).map_or(0, |at| self.windows[at].1)
    }

    fn add_window(
        &mut self,
        window: u32,
        offset: u64,
        charge: &mut Charge,
        in_order: &mut bool,
    ) -> Result<()> {
        let last = self.windows.last().map_or(0, |&(_, last)| last);
        *in_order &= offset == 0 || offset >= last;
        if offset > last && *in_order {
            make_room(&mut self.windows, 1, charge)?;
            self.windows.push((window, offset));
        }
        Ok(())
    }
}

struct ContigReader<'a> {
    bytes: &'a mut IndexFileBytes,
    depth: u32,
    is_csi: bool,
    file: IndexedFile,
    placed_end: &'a mut u64,
}

impl ContigReader<'_> {
    fn skip_contig(&mut self) -> Result<()> {
        for _ in 0..self.bytes.read_count()? {
            self.bytes.skip_bytes(if self.is_csi { 12 } else { 4 })?;
            let chunks = self.bytes.read_count()?;
            self.bytes.skip_bytes(16 * u64::from(chunks))?;
        }
        if !self.is_csi {
            let windows = self.bytes.read_count()?;
            self.bytes.skip_bytes(8 * u64::from(windows))?;
        }
        Ok(())
    }

    fn read_contig(&mut self, into: &mut ContigIndex, charge: &mut Charge) -> Result<()> {
        let pseudo = first_bin(self.depth + 1) + 1;
        // The first window of each bin of a CSI, and its offset.
        let mut offsets: Vec<(u32, u64)> = Vec::new();
        let mut offsets_charge = charge.ledger().empty_charge(LEDGER_NAME);
        for _ in 0..self.bytes.read_count()? {
            let number = self.bytes.read_u32()?;
            let offset = if self.is_csi { self.bytes.read_u64()? } else { 0 };
            let chunks = self.bytes.read_count()?;
            if number == pseudo {
                self.bytes.skip_bytes(16 * u64::from(chunks))?; // only counts of records
                continue;
            }
            if number >= first_bin(self.depth + 1) {
                return Err(damaged_error("a bin has an invalid number"));
            }
            let first = into.chunks.len() as u32;
            for _ in 0..chunks {
                let chunk = self.read_chunk()?;
                make_room(&mut into.chunks, 1, charge)?;
                into.chunks.push(chunk);
            }
            make_room(&mut into.bins, 1, charge)?;
            into.bins.push(Bin { number, first, end: into.chunks.len() as u32 });
            if self.is_csi {
                make_room(&mut offsets, 1, &mut offsets_charge)?;
                offsets.push((self.first_window(number), offset));
            }
        }
        into.bins.sort_unstable_by_key(|bin| bin.number);
        let mut in_order = true;
        if self.is_csi {
            offsets.sort_unstable();
            // Bins that start in the same window have the same first record.
            in_order &= offsets.windows(2).all(|pair| pair[0].0 < pair[1].0 || pair[0].1 == pair[1].1);
            for &(window, offset) in &offsets {
                into.add_window(window, offset, charge, &mut in_order)?;
            }
        } else {
            for window in 0..self.bytes.read_count()? {
                let offset = self.bytes.read_u64()?;
                into.add_window(window, offset, charge, &mut in_order)?;
            }
        }
        if !in_order {
            into.windows.clear();
        }
        Ok(())
    }

    fn read_chunk(&mut self) -> Result<FileRange> {
        let chunk = FileRange { begin: self.bytes.read_u64()?, end: self.bytes.read_u64()? };
        if chunk.begin > chunk.end || chunk.end >> 16 > self.file.bytes {
            return Err(damaged_error("a chunk is outside the file"));
        }
        *self.placed_end = (*self.placed_end).max(chunk.end);
        Ok(chunk)
    }

    fn first_window(&self, bin: u32) -> u32 {
        let level = super::scheme::bin_level(bin) as u32;
        (bin - first_bin(level)) << (3 * (self.depth - level))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: IndexedFile = IndexedFile { contigs: 2, bytes: 1 << 20 };

    fn numbers(list: &[u64], bytes: &mut Vec<u8>) {
        list.iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
    }

    fn small(list: &[u32], bytes: &mut Vec<u8>) {
        list.iter().for_each(|n| bytes.extend_from_slice(&n.to_le_bytes()));
    }

    /// A BAI of two contigs. The first has a bin of the first window, the root bin and the pseudo-bin;
    /// the second is empty.
    fn bai(windows: &[u64]) -> Vec<u8> {
        let mut bytes = b"BAI\x01".to_vec();
        small(&[2, 3, 4681, 2], &mut bytes);
        numbers(&[10 << 16, 11 << 16, 900 << 16, 901 << 16], &mut bytes);
        small(&[0, 1], &mut bytes);
        numbers(&[11 << 16 | 5, 12 << 16], &mut bytes);
        small(&[37450, 2], &mut bytes);
        numbers(&[10 << 16, 901 << 16, 7, 0], &mut bytes);
        small(&[windows.len() as u32], &mut bytes);
        numbers(windows, &mut bytes);
        small(&[0, 0], &mut bytes);
        numbers(&[3], &mut bytes);
        bytes
    }

    fn open(bytes: &[u8], wanted: &[u32], all: bool, ledger: &Ledger) -> Result<BamIndex> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        BamIndex::open(file.path(), FILE, wanted.iter().copied(), all, ledger)
    }

    fn ranges(index: &BamIndex, start: i64, end: i64, min_offset: u64) -> Vec<(u64, u64)> {
        let ranges = index.file_ranges(&ContigPart { contig: 0, start, end }, min_offset);
        ranges.iter().map(|range| (range.begin, range.end)).collect()
    }

    #[test]
    fn ranges_are_chunks_of_the_bins_cut_by_the_linear_index() {
        let ledger = Ledger::unlimited();
        let index = open(&bai(&[10 << 16, 0, 900 << 16]), &[0, 1], true, &ledger).unwrap();
        // The first two share a block.
        assert_eq!(ranges(&index, 0, 5, 0), [(10 << 16, 12 << 16), (900 << 16, 901 << 16)]);
        assert_eq!(
            ranges(&index, 0, 5, 11 << 16 | 7),
            [(11 << 16 | 7, 12 << 16), (900 << 16, 901 << 16)]
        );
        assert_eq!(ranges(&index, 1 << 14, 1 << 15, 0), [(11 << 16 | 5, 12 << 16)]);
        assert_eq!(ranges(&index, 1 << 15, i64::from(i32::MAX), 0), []);
        assert_eq!(index.first_offset(0, 1 << 14), 10 << 16);
        assert_eq!(index.first_offset(0, 1 << 28), 900 << 16);
        assert_eq!(index.first_offset(1, 1 << 28), 0);
        assert_eq!(index.placed_end(), 901 << 16);
        // A linear index that is not in order is not used.
        let index = open(&bai(&[900 << 16, 10 << 16]), &[0], false, &ledger).unwrap();
        assert_eq!(ranges(&index, 1 << 14, 1 << 15, 0), [(11 << 16 | 5, 12 << 16)]);
        assert_eq!(index.first_offset(0, 1 << 28), 0);
    }

    #[test]
    fn damage_is_an_error_and_takes_no_memory() {
        let ledger = Ledger::with_capacity(1 << 20);
        let whole = bai(&[10 << 16]);
        for cut in 0..whole.len() - 8 {
            assert!(open(&whole[..cut], &[0, 1], true, &ledger).is_err(), "{cut}");
        }
        for (at, value) in [(0, 0u32), (4, 3), (4, u32::MAX), (8, 1 << 30), (12, 40_000), (16, 1 << 30)]
        {
            let mut bytes = whole.clone();
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
            assert!(open(&bytes, &[0, 1], true, &ledger).is_err(), "{at}");
        }
        let mut outside = whole.clone();
        outside[20..28].copy_from_slice(&(u64::MAX).to_le_bytes());
        let error = open(&outside, &[0], false, &ledger).unwrap_err().to_string();
        assert!(error.contains("outside the file") && error.contains("readmill index"), "{error}");
        assert!(open(&outside, &[1], false, &ledger).is_ok(), "the first contig is passed over");
    }
}
