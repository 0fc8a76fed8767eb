//! The .crai index: a line for each contig of each slice, compressed by gzip (CRAM specification 3.1, section 12). It is
//! written with a file, and says which containers hold the reads of a region.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use readmill_format::region::Part;
use readmill_format::text::LineReader;
use readmill_record::{Charge, Error, Ledger, Result, make_room};
use serde::{Deserialize, Serialize};

/// The contig of reads that have none, and of slices whose line does not say their contigs.
const UNPLACED: i32 = -1;
const SEVERAL: i32 = -2;

/// Ledger name of indexes.
const INDEX: &str = "the index of the input";

/// A line of the index: the reads of a contig in a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CraiEntry {
    /// The contig; -1 for reads without one, -2 where the slice has several.
    pub contig: i32,
    /// First base (1-based).
    pub start: i64,
    /// Bases of the reference.
    pub span: i64,
    /// Where its container starts in the file; 0 until [`CraiBuilder::add`] sets it.
    pub container: u64,
    /// Where the slice starts behind the container's header, and its bytes.
    pub slice: (u64, u64),
}

impl CraiEntry {
    /// Parses a line; `None` unless it is six numbers in their ranges.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(line).ok()?.split('\t').map(str::trim);
        let entry = CraiEntry {
            contig: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
            span: words.next()?.parse().ok()?,
            container: words.next()?.parse().ok()?,
            slice: (words.next()?.parse().ok()?, words.next()?.parse().ok()?),
        };
        words.next().is_none().then_some(entry)
    }

    /// Appends the line.
    fn write(&self, text: &mut Vec<u8>) -> std::io::Result<()> {
        let CraiEntry { contig, start, span, container, slice: (at, size) } = self;
        writeln!(text, "{contig}\t{start}\t{span}\t{container}\t{at}\t{size}")
    }

    /// The base before the first one (that is, the first one 0-based), and the last one.
    fn bounds(&self) -> (i64, i64) {
        let start = self.start.saturating_sub(1);
        (start, start.saturating_add(self.span.max(1)))
    }
}

/// Makes the index of a file while it is written.
#[derive(Default)]
pub struct CraiBuilder {
    entries: Vec<CraiEntry>,
    is_unsorted: bool,
}

impl CraiBuilder {
    /// Adds the entries of a container that starts at `offset`.
    pub fn add(&mut self, entries: &[CraiEntry], offset: u64) {
        for &entry in entries {
            if let Some(last) = self.entries.last() {
                let order = |entry: &CraiEntry| (entry.contig as u32, entry.start);
                self.is_unsorted |= order(&entry) < order(last);
            }
            self.entries.push(CraiEntry { container: offset, ..entry });
        }
    }

    /// Bytes of memory in use.
    pub fn heap_bytes(&self) -> u64 {
        (self.entries.capacity() * size_of::<CraiEntry>()) as u64
    }

    /// Whether the reads are in order.
    pub fn is_sorted(&self) -> bool {
        !self.is_unsorted
    }

    /// Returns the bytes of the index file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for entry in &self.entries {
            entry.write(&mut text).map_err(|e| Error::io("making the index failed", &e))?;
        }
        let mut gzip = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
        let mut bytes = vec![0; gzip.gzip_compress_bound(text.len())];
        let n = gzip.gzip_compress(&text, &mut bytes);
        bytes.truncate(n.map_err(|_| Error::bug("the index does not fit its bound"))?);
        Ok(bytes)
    }
}

/// The slices of a file by contig.
#[derive(Debug)]
pub struct CraiIndex {
    contigs: BTreeMap<i32, Vec<IndexedSlice>>,
    _charge: Charge,
}

/// An entry, and the largest end of the entries up to it, in the order of their starts.
#[derive(Clone, Copy, Debug)]
struct IndexedSlice {
    entry: CraiEntry,
    reach: i64,
}

impl CraiIndex {
    /// Reads the index of a file of `file_bytes` bytes, whose header has `contigs` contigs.
    ///
    /// # Errors
    /// It is damaged, does not fit the file, or its memory is not free.
    pub fn open(path: &Path, file_bytes: u64, contigs: usize, ledger: &Ledger) -> Result<Self> {
        let mut lines = LineReader::open(path, ledger)?;
        let mut charge = ledger.empty(INDEX);
        let mut list: BTreeMap<i32, Vec<IndexedSlice>> = BTreeMap::new();
        while lines.advance()? {
            if lines.line().is_empty() {
                continue;
            }
            let wrong = |what: &str| {
                lines
                    .wrong(format!("the index is damaged, or is that of another file: {what}"))
                    .hint("make the index anew: readmill index FILE")
            };
            let entry = CraiEntry::parse(lines.line());
            let entry = entry.ok_or_else(|| wrong("six numbers are expected"))?;
            if !(i64::from(SEVERAL)..contigs as i64).contains(&entry.contig.into()) {
                return Err(wrong("the header has no such contig"));
            }
            if entry.container >= file_bytes {
                return Err(wrong("a container lies outside of the file"));
            }
            let slices = list.entry(entry.contig).or_default();
            make_room(slices, 1, &mut charge)?;
            slices.push(IndexedSlice { entry, reach: 0 });
        }
        for slices in list.values_mut() {
            slices.sort_by_key(|slice| (slice.entry.bounds().0, slice.entry.container));
            let mut reach = i64::MIN;
            for slice in slices {
                reach = reach.max(slice.entry.bounds().1);
                slice.reach = reach;
            }
        }
        Ok(CraiIndex { contigs: list, _charge: charge })
    }

    fn slices(&self, contig: i32) -> &[IndexedSlice] {
        self.contigs.get(&contig).map_or(&[], Vec::as_slice)
    }

    /// Returns the entries of slices that may hold reads of a region; of reads without a contig, if it is `None`.
    fn of(&self, part: Option<&Part>) -> impl Iterator<Item = &CraiEntry> {
        let contig = part.map_or(UNPLACED, |part| part.contig.cast_signed());
        let (start, end) = part.map_or((i64::MIN, i64::MAX), |part| (part.start, part.end));
        let slices = self.slices(contig);
        let from = slices.partition_point(|slice| slice.reach <= start);
        let own = slices[from..].iter().map(|slice| &slice.entry);
        let own = own.take_while(move |entry| entry.bounds().0 < end);
        let own = own.filter(move |entry| entry.bounds().1 > start);
        own.chain(self.slices(SEVERAL).iter().map(|slice| &slice.entry))
    }

    /// Returns an entry of each container that may hold reads of a region, in the order of the file; of reads without a
    /// contig, if it is `None`.
    pub fn containers(&self, part: Option<&Part>) -> Vec<CraiEntry> {
        let mut entries: Vec<CraiEntry> = self.of(part).copied().collect();
        entries.sort_unstable_by_key(|entry| (entry.container, entry.contig));
        entries.dedup_by_key(|entry| entry.container);
        entries
    }

    /// The bytes of the slices that may hold reads of a region.
    pub fn bytes(&self, part: Option<&Part>) -> u64 {
        self.of(part).fold(0, |sum, entry| entry.slice.1.saturating_add(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> Result<CraiIndex> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        CraiIndex::open(file.path(), 1000, 2, &Ledger::of(1 << 20))
    }

    #[test]
    fn containers_are_those_whose_slices_overlap() {
        let text = "0\t1\t100\t30\t5\t7\n0\t50\t10\t90\t5\t7\n0\t90\t1000\t200\t5\t7\n0\t120\t5\t300\t5\t7\n\
                    1\t1\t9\t300\t60\t7\n-1\t0\t0\t400\t5\t7\n";
        let index = open(text).unwrap();
        let of = |contig, start, end| {
            let entries = index.containers(Some(&Part { contig, start, end }));
            entries.iter().map(|entry| entry.container).collect::<Vec<_>>()
        };
        assert_eq!(of(0, 0, 10), [30]);
        assert_eq!(of(0, 55, 60), [30, 90]);
        assert_eq!(of(0, 110, 130), [200, 300]);
        assert_eq!(of(0, 2000, 3000), []);
        assert_eq!(of(1, 0, 1), [300]);
        let unplaced = CraiEntry { contig: -1, start: 0, span: 0, container: 400, slice: (5, 7) };
        assert_eq!(index.containers(None), [unplaced]);
        assert_eq!(index.bytes(Some(&Part { contig: 0, start: 0, end: 100 })), 21);
    }

    #[test]
    fn damage_is_an_error() {
        for text in ["0\t1\t2\n", "x\t1\t1\t1\t1\t1\n", "2\t1\t1\t1\t1\t1\n", "0\t1\t1\t1000\t1\t1\n"] {
            let error = open(text).unwrap_err().to_string();
            assert!(error.contains("line 1") && error.contains("readmill index"), "{error}");
        }
        assert!(open("").is_ok());
    }
}
