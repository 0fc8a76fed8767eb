//! The .crai index: gzipped text with a line for each contig of each slice (CRAM specification 3.1,
//! section 12).
//!
//! [`CraiBuilder`] creates it while a file is written, or from the slices of an existing file.
//! [`CraiIndex`] reads it and finds the containers that may hold the reads of a region.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use readmill_format::region::ContigPart;
use readmill_format::text::LineReader;
use readmill_record::{Charge, Error, Ledger, Result, make_room};
use serde::{Deserialize, Serialize};

/// Contig number of reads without a contig. -2 is that of a slice with one line for several
/// contigs.
const UNPLACED: i32 = -1;
const MULTIPLE_CONTIGS: i32 = -2;

const INDEX_LEDGER_NAME: &str = "the index of the input";

/// An index line: the reads of one slice on one contig.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CraiEntry {
    /// Index of the contig (0-based); -1 for reads without one, -2 if the line stands for several
    /// contigs.
    pub contig: i32,
    /// Position of the first base (1-based).
    pub start: i64,
    pub span: i64,
    /// Byte offset of the container in the file; 0 until [`CraiBuilder::add`] sets it.
    pub container: u64,
    /// Offset of the slice after the container header, and size of the slice, both in bytes.
    pub slice: (u64, u64),
}

impl CraiEntry {
    /// Parses a line. Returns `None` unless it has six numbers and its start and span are between
    /// -1 and 2^31 - 1.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(line).ok()?.split('\t').map(str::trim);
        let entry = CraiEntry {
            contig: words.next()?.parse().ok()?,
            start: words.next()?.parse().ok()?,
            span: words.next()?.parse().ok()?,
            container: words.next()?.parse().ok()?,
            slice: (words.next()?.parse().ok()?, words.next()?.parse().ok()?),
        };
        let fits = |number: i64| (-1..=i64::from(i32::MAX)).contains(&number);
        let is_whole = words.next().is_none() && fits(entry.start) && fits(entry.span);
        is_whole.then_some(entry)
    }

    /// Returns a lower bound on the file offset at which the slice ends. The index does not store
    /// the size of the container header, so it counts as zero.
    fn min_end(&self) -> u64 {
        let CraiEntry { container, slice: (at, size), .. } = self;
        container.saturating_add(*at).saturating_add(*size)
    }

    fn write_line(&self, text: &mut Vec<u8>) -> std::io::Result<()> {
        let CraiEntry { contig, start, span, container, slice: (at, size) } = self;
        writeln!(text, "{contig}\t{start}\t{span}\t{container}\t{at}\t{size}")
    }

    /// Returns the reference bases that the slice covers (0-based, half-open). A span of zero
    /// counts as one base.
    fn base_range(&self) -> (i64, i64) {
        let start = self.start.saturating_sub(1);
        (start, start.saturating_add(self.span.max(1)))
    }
}

/// Collects the index lines of containers, which are added in file order.
///
/// ```
/// use readmill_cram::{CraiBuilder, CraiEntry};
///
/// let entry = |start| CraiEntry { contig: 0, start, span: 100, container: 0, slice: (20, 5000) };
/// let mut crai = CraiBuilder::default();
/// crai.add(&[entry(1)], 1000); // a container at byte 1000 of the file
/// crai.add(&[entry(90)], 6050);
/// assert!(crai.is_sorted());
/// assert!(crai.to_bytes().is_ok_and(|gzip| gzip.starts_with(&[0x1f, 0x8b])));
/// ```
#[derive(Default)]
pub struct CraiBuilder {
    entries: Vec<CraiEntry>,
    is_unsorted: bool,
}

impl CraiBuilder {
    pub fn add(&mut self, entries: &[CraiEntry], offset: u64) {
        for &entry in entries {
            if let Some(last) = self.entries.last() {
                let order = |entry: &CraiEntry| (entry.contig as u32, entry.start);
                self.is_unsorted |= order(&entry) < order(last);
            }
            self.entries.push(CraiEntry { container: offset, ..entry });
        }
    }

    pub fn heap_bytes(&self) -> u64 {
        (self.entries.capacity() * size_of::<CraiEntry>()) as u64
    }

    /// Returns whether all reads so far are in coordinate order. Only then is an index written,
    /// because that of an unsorted file is useless.
    pub fn is_sorted(&self) -> bool {
        !self.is_unsorted
    }

    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        for entry in &self.entries {
            entry.write_line(&mut text).map_err(|e| Error::io("making the index failed", &e))?;
        }
        let mut gzip = libdeflater::Compressor::new(libdeflater::CompressionLvl::default());
        let mut bytes = vec![0; gzip.gzip_compress_bound(text.len())];
        let n = gzip.gzip_compress(&text, &mut bytes);
        bytes.truncate(n.map_err(|_| Error::bug("the index does not fit its bound"))?);
        Ok(bytes)
    }
}

/// The index lines by contig. Reading the reads of a region starts with
/// [`find_containers`](Self::find_containers) and
/// [`find_unlisted_containers`](Self::find_unlisted_containers).
///
/// If the index belonged to a different file or lacked lines, reads would be missed.
/// [`open`](Self::open) therefore checks that the lines cover the whole file.
#[derive(Debug)]
pub struct CraiIndex {
    contigs: BTreeMap<i32, Vec<IndexedSlice>>,
    containers: Vec<IndexedContainer>,
    _charge: Charge,
}

/// A container with the [`file_rank`]s of the first and last contig among its lines.
#[derive(Clone, Copy, Debug)]
struct IndexedContainer {
    offset: u64,
    first: u32,
    last: u32,
    lines: u64,
    min_end: u64,
}

/// Returns the rank of a contig in a sorted file. Reads without a contig (-1) are last, so they
/// have the largest rank.
fn file_rank(contig: i32) -> u32 {
    contig.cast_unsigned()
}

/// Maximum size of a container header in bytes, excluding landmarks. Each slice adds one landmark
/// of up to [`SLICE_PLACE_BYTES`] (CRAM specification 3.1, section 7).
const CONTAINER_HEADER_BYTES: u64 = 56;
const SLICE_PLACE_BYTES: u64 = 5;

const END_BYTES: u64 = 38;

/// An entry, in order of starts, with the largest end of all entries up to and including it. A
/// binary search on `reach` skips all slices that end before a region.
#[derive(Clone, Copy, Debug)]
struct IndexedSlice {
    entry: CraiEntry,
    reach: i64,
}

impl CraiIndex {
    /// Opens the index of a file. `file` is the byte range of its record containers, `contigs` the
    /// number of contigs in the header.
    ///
    /// # Errors
    /// The index is damaged, does not cover the file, or does not fit in memory.
    pub fn open(path: &Path, file: Range<u64>, contigs: usize, ledger: &Ledger) -> Result<Self> {
        let mut lines = LineReader::open(path, ledger)?;
        let mut charge = ledger.empty_charge(INDEX_LEDGER_NAME);
        let mut list: BTreeMap<i32, Vec<IndexedSlice>> = BTreeMap::new();
        while lines.advance_line()? {
            if lines.line().is_empty() {
                continue;
            }
            let wrong = |what: &str| {
                lines
                    .line_error(format!("the index is damaged or belongs to another file: {what}"))
                    .hint("rebuild the index: readmill index FILE")
            };
            let entry = CraiEntry::parse(lines.line());
            let entry = entry.ok_or_else(|| wrong("six numbers of at most 31 bits are expected"))?;
            if !(i64::from(MULTIPLE_CONTIGS)..contigs as i64).contains(&entry.contig.into()) {
                return Err(wrong("the header has no such contig"));
            }
            if !file.contains(&entry.container) {
                return Err(wrong("a container is outside the file"));
            }
            let slices = list.entry(entry.contig).or_default();
            make_room(slices, 1, &mut charge)?;
            slices.push(IndexedSlice { entry, reach: 0 });
        }
        let containers = collect_containers(&list, &mut charge)?;
        if let Some(at) = find_first_gap(&containers, &file) {
            let what = format!(
                "the index is damaged or belongs to another file: no entry for the part of the file from byte {at}"
            );
            return Err(Error::input(what).file(path).hint("rebuild the index: readmill index FILE"));
        }
        for slices in list.values_mut() {
            slices.sort_by_key(|slice| (slice.entry.base_range().0, slice.entry.container));
            let mut reach = i64::MIN;
            for slice in slices {
                reach = reach.max(slice.entry.base_range().1);
                slice.reach = reach;
            }
        }
        Ok(CraiIndex { contigs: list, containers, _charge: charge })
    }

    fn contig_slices(&self, contig: i32) -> &[IndexedSlice] {
        self.contigs.get(&contig).map_or(&[], Vec::as_slice)
    }

    /// Returns the entries of slices that may hold reads of a region; `None` selects reads without
    /// a contig. Entries for several contigs do not name them, so they are always included.
    fn overlapping_entries(&self, part: Option<&ContigPart>) -> impl Iterator<Item = &CraiEntry> {
        let contig = part.map_or(UNPLACED, |part| part.contig.cast_signed());
        let (start, end) = part.map_or((i64::MIN, i64::MAX), |part| (part.start, part.end));
        let slices = self.contig_slices(contig);
        let from = slices.partition_point(|slice| slice.reach <= start);
        let own = slices[from..].iter().map(|slice| &slice.entry);
        let own = own.take_while(move |entry| entry.base_range().0 < end);
        let own = own.filter(move |entry| entry.base_range().1 > start);
        own.chain(self.contig_slices(MULTIPLE_CONTIGS).iter().map(|slice| &slice.entry))
    }

    /// Returns one entry for each container that may hold reads of a region, in file order; `None`
    /// selects reads without a contig.
    pub fn find_containers(&self, part: Option<&ContigPart>) -> Vec<CraiEntry> {
        let mut entries: Vec<CraiEntry> = self.overlapping_entries(part).copied().collect();
        entries.sort_unstable_by_key(|entry| (entry.container, entry.contig));
        entries.dedup_by_key(|entry| entry.container);
        entries
    }

    /// Returns the offsets of containers that may hold reads of a region although no index line
    /// says so.
    ///
    /// A container of several contigs has a line for each of them. If one line is lost, nothing
    /// else in the index reveals it. Such a container can only be directly before or after the
    /// containers of the region's contig, so neither is needed if the region starts after the first
    /// start of the contig and ends before the last one. If the contig has no line at all, all
    /// containers whose contig range includes it are returned.
    pub fn find_unlisted_containers(&self, part: Option<&ContigPart>) -> Vec<u64> {
        let contig = part.map_or(UNPLACED, |part| part.contig.cast_signed());
        let (start, end) = part.map_or((i64::MIN, i64::MAX), |part| (part.start, part.end));
        let (slices, rank) = (self.contig_slices(contig), file_rank(contig));
        let covered = slices.first().zip(slices.last());
        let covered =
            covered.map(|(first, last)| (first.entry.base_range().0, last.entry.base_range().0));
        // A container with a lost line can start at the same base as the first or last container
        // that has one.
        let is_before = covered.is_none_or(|(first, _)| start <= first);
        let is_behind = covered.is_none_or(|(_, last)| end > last);
        let own = |it: &&IndexedContainer| (it.first..=it.last).contains(&rank);
        let at = self.containers.partition_point(|it| it.last < rank);
        let before = self.containers[..at].last().filter(|_| is_before);
        let behind = self.containers[at..].iter().find(|it| it.first > rank).filter(|_| is_behind);
        let within = self.containers[at..].iter().take_while(own).filter(|_| slices.is_empty());
        before.into_iter().chain(within).chain(behind).map(|it| it.offset).collect()
    }

    /// Returns the total size of all slices that may hold reads of a region, an estimate of the
    /// bytes to read.
    pub fn region_bytes(&self, part: Option<&ContigPart>) -> u64 {
        self.overlapping_entries(part).fold(0, |sum, entry| entry.slice.1.saturating_add(sum))
    }
}

fn collect_containers(
    contigs: &BTreeMap<i32, Vec<IndexedSlice>>,
    charge: &mut Charge,
) -> Result<Vec<IndexedContainer>> {
    let mut list = Vec::new();
    make_room(&mut list, contigs.values().map(Vec::len).sum(), charge)?;
    list.extend(contigs.values().flatten().map(|IndexedSlice { entry, .. }| IndexedContainer {
        offset: entry.container,
        first: file_rank(entry.contig),
        last: file_rank(entry.contig),
        lines: 1,
        min_end: entry.min_end(),
    }));
    list.sort_unstable_by_key(|it| it.offset);
    list.dedup_by(|next, kept| {
        let is_same = next.offset == kept.offset;
        if is_same {
            kept.first = kept.first.min(next.first);
            kept.last = kept.last.max(next.last);
            kept.lines += 1;
            kept.min_end = kept.min_end.max(next.min_end);
        }
        is_same
    });
    Ok(list)
}

/// Returns the first byte of the file that no slice covers, if the gap is larger than a container
/// header (or, at the end of the file, than that plus the end-of-file container). The index then
/// belongs to a different file or lacks lines.
fn find_first_gap(containers: &[IndexedContainer], file: &Range<u64>) -> Option<u64> {
    let first = containers.first()?;
    if first.offset != file.start {
        return Some(file.start);
    }
    let nexts = containers[1..].iter().map(|next| (next.offset, 0));
    let nexts = nexts.chain([(file.end, END_BYTES)]);
    let mut gaps = containers.iter().zip(nexts).filter(|(it, (next, end))| {
        let header = CONTAINER_HEADER_BYTES.saturating_add(it.lines * SLICE_PLACE_BYTES);
        *next < it.min_end || next - it.min_end > header + end
    });
    gaps.next().map(|(it, _)| it.min_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens an index of a 1,000-byte file whose header takes 30 bytes.
    fn open(text: &str) -> Result<CraiIndex> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        CraiIndex::open(file.path(), 30..1000, 2, &Ledger::with_capacity(1 << 20))
    }

    #[test]
    fn containers_are_those_whose_slices_overlap() {
        let text = "0\t1\t100\t30\t5\t7\n0\t50\t10\t90\t5\t77\n0\t90\t1000\t200\t5\t67\n0\t120\t5\t300\t5\t7\n\
                    1\t1\t9\t300\t60\t7\n-1\t0\t0\t400\t5\t530\n";
        let index = open(text).unwrap();
        let of = |contig, start, end| {
            let entries = index.find_containers(Some(&ContigPart { contig, start, end }));
            entries.iter().map(|entry| entry.container).collect::<Vec<_>>()
        };
        assert_eq!(of(0, 0, 10), [30]);
        assert_eq!(of(0, 55, 60), [30, 90]);
        assert_eq!(of(0, 110, 130), [200, 300]);
        assert!(of(0, 2000, 3000).is_empty());
        assert_eq!(of(1, 0, 1), [300]);
        let unplaced = CraiEntry { contig: -1, start: 0, span: 0, container: 400, slice: (5, 530) };
        assert_eq!(index.find_containers(None), [unplaced]);
        assert_eq!(index.region_bytes(Some(&ContigPart { contig: 0, start: 0, end: 100 })), 151);
    }

    #[test]
    fn damage_is_an_error() {
        for text in [
            "0\t1\t2\n",
            "x\t1\t1\t1\t1\t1\n",
            "2\t1\t1\t30\t1\t1\n",
            "0\t1\t1\t1000\t1\t1\n",
            "0\t1\t1\t29\t1\t1\n",
            "0\t4294967296\t1\t30\t1\t900\n",
            "0\t1\t2147483648\t30\t1\t900\n",
            "0\t-2\t1\t30\t1\t900\n",
        ] {
            let error = open(text).unwrap_err().to_string();
            assert!(error.contains("line 1") && error.contains("readmill index"), "{error}");
        }
        assert!(open("").is_ok());
    }

    #[test]
    fn a_line_that_is_lost_is_noticed_or_does_not_matter() {
        let lines = [
            "0\t1\t100\t30\t50\t300\n",
            "0\t90\t50\t400\t50\t150\n",
            "1\t1\t9\t400\t50\t150\n",
            "-1\t0\t0\t620\t50\t270\n",
        ];
        let offsets = |index: &CraiIndex, contig| {
            let part = ContigPart { contig, start: 0, end: i64::MAX };
            let own = index.find_containers(Some(&part)).into_iter().map(|entry| entry.container);
            let mut all: Vec<u64> = own.chain(index.find_unlisted_containers(Some(&part))).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let whole = open(&lines.concat()).unwrap();
        assert_eq!((offsets(&whole, 0), offsets(&whole, 1)), (vec![30, 400, 620], vec![30, 400, 620]));
        let inside = ContigPart { contig: 0, start: 20, end: 30 };
        assert!(whole.find_unlisted_containers(Some(&inside)).is_empty());
        for lost in 0..lines.len() {
            let mut left = lines.to_vec();
            left.remove(lost);
            match open(&left.concat()) {
                Ok(index) => {
                    assert!(lost == 1 || lost == 2, "{lost}");
                    assert!([0, 1].iter().all(|contig| offsets(&index, *contig).contains(&400)));
                }
                Err(error) => assert!(error.to_string().contains("from byte"), "{error}"),
            }
        }
    }
}
