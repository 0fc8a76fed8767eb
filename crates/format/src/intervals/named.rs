//! Named intervals, merged like `IntervalList.uniqued` of htsjdk: the targets and baits of Picard's
//! programs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use readmill_record::{Charge, Error, Header, Ledger, Result, make_room};

use super::ContigNames;
use crate::features::FeatureReader;

const NO_NAME: &[u8] = b".";

/// Disjoint intervals in order, each with the names of the intervals that were merged into it.
/// Clones share the data.
///
/// The bases of all intervals are also numbered consecutively, so that a coverage table needs only one
/// entry per base. [`Self::base_offset`], [`Self::base_number`] and [`Self::interval_at_offset`]
/// translate between numbers and positions.
#[derive(Clone, Debug)]
pub struct NamedIntervals(Arc<NamedData>);

#[derive(Debug)]
struct NamedData {
    intervals: Vec<(u32, u32, u32)>,
    /// The number of the first base of each interval among the bases of all intervals, followed by the
    /// total number of bases.
    offsets: Vec<u32>,
    ends: Vec<usize>,
    names: Vec<u8>,
    name_ends: Vec<usize>,
    given: u64,
    _charge: Charge,
}

struct GivenInterval {
    contig: u32,
    start: u32,
    end: u32,
    is_reverse: bool,
    name: (usize, usize),
}

impl NamedIntervals {
    /// Reads Picard interval lists or BED files, and merges all of their intervals.
    ///
    /// # Errors
    /// Fails if a file is not valid or names a contig that `header` lacks, if there are no intervals, or
    /// if the memory is not available.
    pub fn read_files(paths: &[PathBuf], header: &Header, ledger: &Ledger) -> Result<Self> {
        let contigs = ContigNames { header, ledger };
        let mut charge = ledger.empty_charge("regions");
        let (mut given, mut texts) = (Vec::new(), Vec::new());
        for path in paths {
            let mut features = FeatureReader::open(path, ledger)?;
            features.dictionary().check_header(header, path)?;
            while let Some(place) = features.next_place()? {
                let (start, end) = (place.start, place.end);
                let Some(contig) = contigs.contig_number(place.contig) else {
                    let name = String::from_utf8_lossy(place.contig).into_owned();
                    return Err(features
                        .feature_error(format!("contig {name} is not in the header of the reads")));
                };
                if start == end {
                    return Err(features.feature_error("an interval is empty"));
                }
                contigs.check_end(contig, end).map_err(|what| features.feature_error(what))?;
                let (name, is_reverse) = features.name_and_strand();
                let name = name.unwrap_or(NO_NAME);
                make_room(&mut texts, name.len(), &mut charge)?;
                let from = texts.len();
                texts.extend_from_slice(name);
                make_room(&mut given, 1, &mut charge)?;
                given.push(GivenInterval { contig, start, end, is_reverse, name: (from, texts.len()) });
            }
        }
        if given.is_empty() {
            let path = paths.first().cloned().unwrap_or_default();
            return Err(Error::input("contains no intervals").file(&path));
        }
        let name = |it: &GivenInterval| &texts[it.name.0..it.name.1];
        given.sort_by(|a, b| {
            let key = |it: &GivenInterval| (it.contig, it.start, it.end, it.is_reverse);
            key(a).cmp(&key(b)).then_with(|| name(a).cmp(name(b)))
        });
        Self::merge_sorted(&given, &texts, header.references().len(), ledger)
    }

    /// Merges unnamed intervals, given in any order as contig, first base, and the base after the last.
    ///
    /// # Errors
    /// Fails if the memory is not available.
    pub fn from_unnamed(intervals: &[(u32, u32, u32)], contigs: usize, ledger: &Ledger) -> Result<Self> {
        let mut charge = ledger.empty_charge("regions");
        let mut given: Vec<GivenInterval> = Vec::new();
        make_room(&mut given, intervals.len(), &mut charge)?;
        given.extend(intervals.iter().map(|&(contig, start, end)| GivenInterval {
            contig,
            start,
            end,
            is_reverse: false,
            name: (0, 0),
        }));
        given.sort_unstable_by_key(|it| (it.contig, it.start, it.end));
        Self::merge_sorted(&given, &[], contigs, ledger)
    }

    /// Merges sorted intervals that overlap or touch. Each distinct name is kept once, in the order of
    /// the intervals.
    fn merge_sorted(
        given: &[GivenInterval],
        texts: &[u8],
        contigs: usize,
        ledger: &Ledger,
    ) -> Result<Self> {
        let mut charge = ledger.empty_charge("regions");
        let (mut intervals, mut offsets, mut ends) = (Vec::new(), Vec::new(), Vec::new());
        let (mut names, mut name_ends) = (Vec::new(), Vec::new());
        let (mut at, mut bases) = (0, 0_u64);
        while let Some(first) = given.get(at) {
            let (mut end, mut behind) = (first.end, at + 1);
            while let Some(next) =
                given.get(behind).filter(|next| next.contig == first.contig && next.start <= end)
            {
                end = end.max(next.end);
                behind += 1;
            }
            let begin = names.len();
            let united = &given[at..behind];
            make_room(&mut names, united.iter().map(|it| it.name.1 - it.name.0 + 1).sum(), &mut charge)?;
            let mut seen = HashSet::new();
            for name in united.iter().map(|it| &texts[it.name.0..it.name.1]) {
                if seen.insert(name) {
                    if names.len() > begin {
                        names.push(b'|');
                    }
                    names.extend_from_slice(name);
                }
            }
            make_room(&mut intervals, 1, &mut charge)?;
            make_room(&mut offsets, 2, &mut charge)?;
            make_room(&mut name_ends, 1, &mut charge)?;
            intervals.push((first.contig, first.start, end));
            offsets.push(to_base_offset(bases)?);
            name_ends.push(names.len());
            bases += u64::from(end - first.start);
            at = behind;
        }
        offsets.push(to_base_offset(bases)?);
        make_room(&mut ends, contigs, &mut charge)?;
        let mut end = 0;
        for contig in 0..contigs as u32 {
            end += intervals[end..].partition_point(|interval: &(u32, u32, u32)| interval.0 <= contig);
            ends.push(end);
        }
        let given = given.len() as u64;
        Ok(NamedIntervals(Arc::new(NamedData {
            intervals,
            offsets,
            ends,
            names,
            name_ends,
            given,
            _charge: charge,
        })))
    }

    /// Returns the intervals as contig, first base, and the base after the last (0-based).
    pub fn intervals(&self) -> &[(u32, u32, u32)] {
        &self.0.intervals
    }

    /// Returns the name of interval `number`: the distinct names of the merged intervals, separated by
    /// `|`.
    pub fn name(&self, number: usize) -> &[u8] {
        let begin = number.checked_sub(1).map_or(0, |before| self.0.name_ends[before]);
        &self.0.names[begin..self.0.name_ends[number]]
    }

    /// Returns the number of the first base of interval `number` among the bases of all intervals. For
    /// the number after the last interval, returns the total number of bases.
    #[inline]
    pub fn base_offset(&self, number: usize) -> u32 {
        self.0.offsets[number]
    }

    pub fn base_count(&self) -> u32 {
        self.0.offsets.last().copied().unwrap_or_default()
    }

    /// Returns the number of intervals before merging, which Picard reports.
    pub fn given_count(&self) -> u64 {
        self.0.given
    }

    /// Returns the index of the first interval that ends after base `start` of a contig, or that is on a
    /// later contig.
    #[inline]
    pub fn first_ending_after(&self, contig: u32, start: u32) -> usize {
        let Some(&end) = self.0.ends.get(contig as usize) else { return self.0.intervals.len() };
        let begin = contig.checked_sub(1).map_or(0, |before| self.0.ends[before as usize]);
        begin + self.0.intervals[begin..end].partition_point(|interval| interval.2 <= start)
    }

    /// Translates a position on a contig to the number of the base among the bases of all intervals. A
    /// position between intervals maps to the first base of the next one.
    pub fn base_number(&self, contig: u32, at: u32) -> u32 {
        let number = self.first_ending_after(contig, at);
        let into = match self.0.intervals.get(number) {
            Some(&(on, start, _)) if on == contig => at.saturating_sub(start),
            _ => 0,
        };
        self.base_offset(number) + into
    }

    /// Returns the index of the interval that contains base number `offset` of all intervals.
    pub fn interval_at_offset(&self, offset: u32) -> usize {
        self.0.offsets.partition_point(|&first| first <= offset).saturating_sub(1)
    }
}

fn to_base_offset(bases: u64) -> Result<u32> {
    u32::try_from(bases).map_err(|_| Error::input("the intervals contain more than 4294967295 bases"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::parse(b"@SQ\tSN:c1\tLN:1000\n@SQ\tSN:c2\tLN:500\n@SQ\tSN:c3\tLN:9\n").unwrap()
    }

    fn read(files: &[(&str, &str)]) -> Result<NamedIntervals> {
        let dir = tempfile::tempdir().unwrap();
        let paths: Vec<PathBuf> = files.iter().map(|(name, _)| dir.path().join(name)).collect();
        for (path, (_, text)) in paths.iter().zip(files) {
            std::fs::write(path, text).unwrap();
        }
        NamedIntervals::read_files(&paths, &header(), &Ledger::unlimited())
    }

    #[test]
    fn a_list_of_another_build_is_refused() {
        let list = "@SQ\tSN:c1\tLN:999\nc1\t21\t30\t+\tb\n";
        let error = read(&[("a.interval_list", list)]).unwrap_err().to_string();
        assert!(error.contains("contig c1 has 999 bases here, but 1000"), "{error}");
        assert!(error.contains("another build"), "{error}");
    }

    #[test]
    fn intervals_that_touch_are_one_with_all_their_names() {
        let list = "@SQ\tSN:c1\tLN:1000\nc1\t21\t30\t+\tb c\nc2\t5\t9\t-\tz\nc1\t11\t20\t+\ta\n\
                    c1\t15\t25\t+\ta\nc1\t40\t40\t-\tl\n";
        let bed = "c2\t4\t9\tq\t0\t+\nc1\t38\t39\n";
        let all = read(&[("a.interval_list", list), ("b.bed", bed)]).unwrap();
        assert_eq!(all.intervals(), [(0, 10, 30), (0, 38, 40), (1, 4, 9)]);
        let names: Vec<_> = (0..3).map(|number| String::from_utf8_lossy(all.name(number))).collect();
        assert_eq!(names, ["a|b c", ".|l", "q|z"], "of equal places, the forward strand is first");
        assert_eq!((all.base_count(), all.given_count()), (27, 7));
        assert_eq!([0, 1, 2, 3].map(|number| all.base_offset(number)), [0, 20, 22, 27]);
        let found = [(0, 0), (0, 29), (0, 30), (0, 40), (1, 8), (1, 9), (2, 0), (7, 0)];
        assert_eq!(
            found.map(|(contig, at)| all.first_ending_after(contig, at)),
            [0, 0, 1, 2, 2, 3, 3, 3]
        );
        assert_eq!([0, 19, 20, 21, 26].map(|offset| all.interval_at_offset(offset)), [0, 0, 1, 1, 2]);
    }

    #[test]
    fn wrong_files_are_refused() {
        for (text, why) in [
            ("c9\t1\t5\n", "line 1: contig c9 is not in the header of the reads"),
            ("c1\t5\t5\n", "line 1: an interval is empty"),
            ("c1\t5\t1001\n", "beyond the end"),
            ("", "contains no intervals"),
        ] {
            let error = read(&[("a.bed", text)]).unwrap_err().to_string();
            assert!(error.contains(why), "{error:?} does not say {why:?}");
        }
    }
}
