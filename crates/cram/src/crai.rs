//! Reads a .crai index: which containers hold the reads of a region (CRAM specification 3.1, section 12).

use std::collections::BTreeMap;
use std::path::Path;

use readmill_format::region::Part;
use readmill_format::text::LineReader;
use readmill_record::{Charge, Ledger, Result, make_room};

/// The contig of reads that have none, and of slices whose line does not say their contigs.
const UNPLACED: i64 = -1;
const SEVERAL: i64 = -2;

/// Ledger name of indexes.
const INDEX: &str = "the index of the input";

/// A container that a region needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Where it starts in the file.
    pub offset: u64,
    /// Its contig as the index has it.
    pub contig: i32,
}

/// The slices of a file by contig.
#[derive(Debug)]
pub struct CraiIndex {
    contigs: BTreeMap<i64, Vec<Slice>>,
    _charge: Charge,
}

/// The reads of a contig in a slice.
#[derive(Clone, Copy, Debug)]
struct Slice {
    /// First base (0-based), and the base after the last one.
    start: i64,
    end: i64,
    /// The largest end of the slices up to this one, in the order of their starts.
    reach: i64,
    /// Where its container starts.
    offset: u64,
    /// Bytes of the slice.
    bytes: u64,
}

impl CraiIndex {
    /// Reads the index of a file of `file_bytes` bytes, whose header has `contigs` contigs.
    ///
    /// # Errors
    /// It is damaged, does not fit the file, or its memory is not free.
    pub fn open(path: &Path, file_bytes: u64, contigs: usize, ledger: &Ledger) -> Result<Self> {
        let mut lines = LineReader::open(path, ledger)?;
        let mut charge = ledger.empty(INDEX);
        let mut list: BTreeMap<i64, Vec<Slice>> = BTreeMap::new();
        while lines.advance()? {
            if lines.line().is_empty() {
                continue;
            }
            let wrong = |what: &str| {
                lines
                    .wrong(format!("the index is damaged, or is that of another file: {what}"))
                    .hint("make the index anew: readmill index FILE")
            };
            let Some([contig, start, span, offset, _, bytes]) = numbers(lines.line()) else {
                return Err(wrong("six numbers are expected"));
            };
            if !(SEVERAL..contigs as i64).contains(&contig) {
                return Err(wrong("the header has no such contig"));
            }
            let place = u64::try_from(offset).ok().filter(|&offset| offset < file_bytes);
            let offset = place.ok_or_else(|| wrong("a container lies outside of the file"))?;
            let start = start.saturating_sub(1);
            let end = start.saturating_add(span.max(1));
            let bytes = u64::try_from(bytes).unwrap_or(0);
            let slices = list.entry(contig).or_default();
            make_room(slices, 1, &mut charge)?;
            slices.push(Slice { start, end, reach: 0, offset, bytes });
        }
        for slices in list.values_mut() {
            slices.sort_by_key(|slice| (slice.start, slice.offset));
            let mut reach = i64::MIN;
            for slice in slices {
                reach = reach.max(slice.end);
                slice.reach = reach;
            }
        }
        Ok(CraiIndex { contigs: list, _charge: charge })
    }

    fn slices(&self, contig: i64) -> &[Slice] {
        self.contigs.get(&contig).map_or(&[], Vec::as_slice)
    }

    /// The slices that may hold reads of a region; of reads without a contig, if it is `None`.
    fn of(&self, part: Option<&Part>) -> impl Iterator<Item = (&Slice, i64)> {
        let contig = part.map_or(UNPLACED, |part| part.contig.into());
        let (start, end) = part.map_or((i64::MIN, i64::MAX), |part| (part.start, part.end));
        let slices = self.slices(contig);
        let from = slices.partition_point(|slice| slice.reach <= start);
        let own = slices[from..].iter().take_while(move |slice| slice.start < end);
        let own = own.filter(move |slice| slice.end > start);
        own.map(move |slice| (slice, contig)).chain(self.slices(SEVERAL).iter().map(|it| (it, SEVERAL)))
    }

    /// The containers that may hold reads of a region, in the order of the file; of reads without a contig, if it is
    /// `None`.
    pub fn containers(&self, part: Option<&Part>) -> Vec<Place> {
        let place =
            |(slice, contig): (&Slice, i64)| Place { offset: slice.offset, contig: contig as i32 };
        let mut places: Vec<Place> = self.of(part).map(place).collect();
        places.sort_unstable();
        places.dedup_by_key(|place| place.offset);
        places
    }

    /// The bytes of the slices that may hold reads of a region.
    pub fn bytes(&self, part: Option<&Part>) -> u64 {
        self.of(part).fold(0, |sum, (slice, _)| slice.bytes.saturating_add(sum))
    }
}

/// The numbers of a line, if there are six.
fn numbers(line: &[u8]) -> Option<[i64; 6]> {
    let mut words = std::str::from_utf8(line).ok()?.split('\t');
    let mut list = [0; 6];
    for number in &mut list {
        *number = words.next()?.trim().parse().ok()?;
    }
    words.next().is_none().then_some(list)
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
            let places = index.containers(Some(&Part { contig, start, end }));
            places.iter().map(|place| place.offset).collect::<Vec<_>>()
        };
        assert_eq!(of(0, 0, 10), [30]);
        assert_eq!(of(0, 55, 60), [30, 90]);
        assert_eq!(of(0, 110, 130), [200, 300]);
        assert_eq!(of(0, 2000, 3000), []);
        assert_eq!(of(1, 0, 1), [300]);
        assert_eq!(index.containers(None), [Place { offset: 400, contig: -1 }]);
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
