//! Genomic intervals given by the user with -L and -XL, interpreted as by GATK 4.6.2 (`IntervalUtils`,
//! `GenomeLocParser`).
//!
//! [`Intervals`] are unnamed and only state which bases are selected. [`NamedIntervals`] keep the names
//! of baits and targets for Picard's metrics.

mod named;
mod set;

use std::path::Path;

use readmill_record::header::ReferenceSequence as Contig;
use readmill_record::{Error, Header, Ledger, Result};

use crate::features::{FeatureReader, parse_java_int};
use crate::text::LineReader;
pub use named::NamedIntervals;
pub use set::{IntervalCollector, IntervalSet};

/// The arguments that select intervals.
///
/// An argument is a region or a file. Regions are 1-based and closed: `chr1`, `chr1:100`,
/// `chr1:100-200`, `chr1:100+`. Commas in numbers are ignored, and contig names may contain colons. A
/// file holds features (BED, VCF, BCF, a Picard interval list), or, if its name ends in `.list` or
/// `.intervals`, one region per line. `unmapped` stands for reads without a position, and adds no
/// interval.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntervalArguments<'a> {
    /// Intervals to use (-L). Their union is used, or the whole genome if there are none.
    pub include: &'a [String],
    /// Intervals to exclude (-XL).
    pub exclude: &'a [String],
    /// Bases to add to each side of the included intervals (--interval-padding).
    pub padding: u32,
    /// Bases to add to each side of the excluded intervals (--interval-exclusion-padding).
    pub exclusion_padding: u32,
}

/// A set of intervals on the contigs of the reads: sorted, and merged if they overlap or touch.
/// Clones share the data.
///
/// ```
/// use readmill_format::intervals::{IntervalArguments, Intervals};
/// use readmill_record::{Header, Ledger};
///
/// let header = Header::parse(b"@SQ\tSN:chr1\tLN:1000\n")?;
/// let (include, exclude) = (["chr1:101-200".to_string()], ["chr1:151-300".to_string()]);
/// let arguments = IntervalArguments { include: &include, exclude: &exclude, ..Default::default() };
/// let intervals = Intervals::from_arguments(&arguments, &header, &Ledger::unlimited())?;
/// assert_eq!(intervals.base_count(), 50);
/// assert_eq!(intervals.next_interval(0, 0), Some((100, 150)), "0-based, half-open");
/// assert!(!intervals.overlaps(0, 150, 160));
/// # Ok::<(), readmill_record::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Intervals(IntervalSet);

impl Intervals {
    /// Returns the union of the arguments in `include`, without padding or exclusions.
    pub fn parse_union(include: &[String], header: &Header, ledger: &Ledger) -> Result<Self> {
        Self::from_arguments(
            &IntervalArguments { include, ..IntervalArguments::default() },
            header,
            ledger,
        )
    }

    /// Resolves the arguments to intervals.
    ///
    /// # Errors
    /// Fails if an argument is not valid, the result is empty, or the memory for it is not available.
    pub fn from_arguments(
        chosen: &IntervalArguments<'_>,
        header: &Header,
        ledger: &Ledger,
    ) -> Result<Self> {
        let (dictionary, contigs) = (ContigNames { header, ledger }, header.references());
        let mut included = IntervalCollector::new(ledger);
        if chosen.include.is_empty() {
            let whole = (0..).zip(contigs);
            whole.for_each(|(number, contig)| included.push_interval(number, 0, contig.length));
        }
        for argument in chosen.include {
            dictionary.read_argument(argument, chosen.padding, &mut included)?;
        }
        included.check_memory()?;
        let mut excluded = IntervalCollector::new(ledger);
        for argument in chosen.exclude {
            if is_unmapped(argument) {
                return Err(Error::usage("reads without a position (unmapped) cannot be excluded"));
            }
            dictionary.read_argument(argument, chosen.exclusion_padding, &mut excluded)?;
        }
        for list in [&mut included, &mut excluded] {
            list.drop_empty();
            list.merge_overlaps();
        }
        let intervals = Intervals(included.subtract(&excluded)?.into_set(contigs.len())?);
        if intervals.base_count() == 0 {
            let what = match chosen.exclude {
                [] => "the intervals contain no bases",
                _ => "no bases are left after the excluded intervals are removed",
            };
            return Err(Error::usage(what).hint("check the intervals"));
        }
        Ok(intervals)
    }

    /// Returns whether an interval on contig `contig` shares a base with `start..end` (0-based,
    /// half-open).
    pub fn overlaps(&self, contig: u32, start: u32, end: u32) -> bool {
        let next = self.0.first_ending_after(contig as usize, start.into());
        next.is_some_and(|interval| interval.0 < end && start < end)
    }

    /// Returns the first interval on contig `contig` that ends after base `start`, 0-based and
    /// half-open.
    #[inline]
    pub fn next_interval(&self, contig: u32, start: u32) -> Option<(u32, u32)> {
        self.0.first_ending_after(contig as usize, start.into())
    }

    pub fn base_count(&self) -> u64 {
        self.0.intervals().iter().map(|(_, start, end)| u64::from(end - start)).sum()
    }
}

impl ContigNames<'_> {
    fn read_argument(&self, argument: &str, padding: u32, into: &mut IntervalCollector) -> Result<()> {
        let mut add = |region: ParsedRegion| {
            let length = self.contig(region.contig).length;
            let max_end = if length > 0 { length } else { i32::MAX as u32 };
            let end = region.end.saturating_add(padding).min(max_end);
            into.push_interval(region.contig, region.start.saturating_sub(padding), end);
        };
        if is_unmapped(argument) {
            return Ok(());
        }
        if argument.contains(';') && !Path::new(argument).exists() {
            let what = format!("{argument:?}: intervals cannot be separated by semicolons");
            return Err(Error::usage(what).hint("repeat the flag for each interval, or give a file"));
        }
        if let Some(region) = self.parse_region(argument).map_err(Error::usage)? {
            add(region);
            return Ok(());
        }
        let path = Path::new(argument);
        if !path.exists() {
            let what = format!(
                "{argument:?} is neither a file nor a region on a contig in the header of the reads"
            );
            return Err(Error::usage(what).hint("write a region as chr1, chr1:100 or chr1:100-200"));
        }
        if is_region_list(path, self.ledger)? {
            self.read_list(path, &mut add)
        } else {
            self.read_features(path, &mut add)
        }
    }

    fn read_list(&self, path: &Path, add: &mut impl FnMut(ParsedRegion)) -> Result<()> {
        let (mut lines, mut none) = (LineReader::open(path, self.ledger)?, true);
        while lines.advance_line()? {
            let text = String::from_utf8_lossy(lines.line().trim_ascii());
            if text.is_empty() || is_unmapped(&text) {
                continue;
            }
            match self.parse_region(&text) {
                Ok(Some(region)) => add(region),
                Ok(None) => {
                    return Err(lines.line_error(format!(
                        "{text:?} is not a region on a contig in the header of the reads"
                    )));
                }
                Err(what) => return Err(lines.line_error(what)),
            }
            none = false;
        }
        if none {
            return Err(Error::input("contains no intervals").file(path));
        }
        Ok(())
    }

    fn read_features(&self, path: &Path, add: &mut impl FnMut(ParsedRegion)) -> Result<()> {
        let mut features = FeatureReader::open(path, self.ledger)?;
        features.dictionary().check_header(self.header, path)?;
        while let Some(place) = features.next_place()? {
            let (start, end) = (place.start, place.end);
            let Some(contig) = self.contig_number(place.contig) else {
                let name = String::from_utf8_lossy(place.contig).into_owned();
                return Err(
                    features.feature_error(format!("contig {name} is not in the header of the reads"))
                );
            };
            if start == end {
                return Err(features.feature_error("an interval is empty"));
            }
            self.check_end(contig, end).map_err(|what| features.feature_error(what))?;
            add(ParsedRegion { contig, start, end });
        }
        Ok(())
    }
}

/// Returns whether the name of a file says that it is a list of regions. A file that starts with a SAM
/// header is an interval list, whatever its name is.
fn is_region_list(path: &Path, ledger: &Ledger) -> Result<bool> {
    let name = path.to_string_lossy().to_lowercase();
    if !name.ends_with(".list") && !name.ends_with(".intervals") {
        return Ok(false);
    }
    let mut lines = LineReader::open(path, ledger)?;
    Ok(!(lines.advance_line()? && lines.line().starts_with(b"@")))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ParsedRegion {
    pub contig: u32,
    pub start: u32,
    pub end: u32,
}

pub fn is_unmapped(text: &str) -> bool {
    text.trim().eq_ignore_ascii_case("unmapped")
}

/// The header of the reads, whose contigs arguments may name, and the ledger for the intervals.
#[derive(Clone, Copy)]
struct ContigNames<'a> {
    pub header: &'a Header,
    pub ledger: &'a Ledger,
}

impl ContigNames<'_> {
    fn contig_number(&self, name: &[u8]) -> Option<u32> {
        self.header.reference_id(name).map(|id| id as u32)
    }

    fn contig(&self, number: u32) -> &Contig {
        &self.header.references()[number as usize]
    }

    fn check_end(&self, contig: u32, end: u32) -> Result<(), String> {
        let Contig { name, length } = self.contig(contig);
        if end > *length && *length > 0 {
            let name = String::from_utf8_lossy(name);
            return Err(format!(
                "base {end} is beyond the end of contig {name}, which has {length} bases"
            ));
        }
        Ok(())
    }

    /// Parses a region; returns `None` if the text does not name a contig.
    ///
    /// Contig names may contain colons, like those of HLA alleles: the whole text may be a name, or only
    /// the part before its last colon. If both are names and the part after the colon is a valid range,
    /// the text is ambiguous, which is an error.
    fn parse_region(&self, text: &str) -> Result<Option<ParsedRegion>, String> {
        let text = text.trim();
        let whole = self.contig_number(text.as_bytes()).map(|contig| {
            let end = self.contig(contig).length;
            ParsedRegion { contig, start: 0, end }
        });
        let Some((name, range)) = text.rsplit_once(':') else { return Ok(whole) };
        let Some(contig) = self.contig_number(name.as_bytes()) else { return Ok(whole) };
        let part = self.parse_range(contig, range);
        match (whole, part) {
            (Some(_), Ok(_)) => Err(format!(
                "{text:?} can mean contig {text} or a part of contig {name}: give the interval in a BED file"
            )),
            (Some(whole), Err(_)) => Ok(Some(whole)),
            (None, Err(what)) => Err(format!("{text:?}: {what}")),
            (None, Ok(part)) => match self.check_end(contig, part.end) {
                Ok(()) => Ok(Some(part)),
                Err(what) => Err(format!("{text:?}: {what}")),
            },
        }
    }

    fn parse_range(&self, contig: u32, range: &str) -> Result<ParsedRegion, String> {
        let base = |text: &str| {
            let digits = text.replace(',', "");
            parse_java_int(digits.as_bytes()).ok_or_else(|| format!("{text:?} is not a position"))
        };
        let (first, last) = if let Some(first) = range.strip_suffix('+') {
            (base(first)?, self.contig(contig).length)
        } else if let Some((first, last)) = range.rsplit_once('-') {
            (base(first)?, base(last)?)
        } else {
            (base(range)?, base(range)?)
        };
        if first == 0 {
            return Err("positions start at 1".into());
        }
        if last < first {
            return Err(format!("ends ({last}) before it starts ({first})"));
        }
        Ok(ParsedRegion { contig, start: first - 1, end: last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        let contigs =
            [("chr1", 1000), ("chr2", 500), ("HLA:01", 100), ("HLA:01:5", 50), ("HLA", 70), ("x:y", 9)];
        let lines = contigs.map(|(name, length)| format!("@SQ\tSN:{name}\tLN:{length}\n"));
        Header::parse(lines.concat().as_bytes()).unwrap()
    }

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|text| text.to_string()).collect()
    }

    /// Returns the intervals as text, 0-based and half-open.
    fn shown(intervals: &Intervals) -> String {
        let header = header();
        let name = |number: u32| String::from_utf8_lossy(&header.references()[number as usize].name);
        let shown = |&(contig, start, end): &_| format!("{} {start} {end}", name(contig));
        intervals.0.intervals().iter().map(shown).collect::<Vec<_>>().join(", ")
    }

    fn of(include: &[&str], exclude: &[&str], padding: u32) -> Result<String> {
        let (include, exclude) = (strings(include), strings(exclude));
        let chosen = IntervalArguments {
            include: &include,
            exclude: &exclude,
            padding,
            exclusion_padding: padding,
        };
        Intervals::from_arguments(&chosen, &header(), &Ledger::unlimited())
            .map(|intervals| shown(&intervals))
    }

    fn refused(argument: &str, why: &str) {
        let error = of(&[argument], &[], 0).unwrap_err().to_string();
        assert!(error.contains(why), "{argument}: {error:?} does not say {why:?}");
    }

    #[test]
    fn regions_are_read_as_gatk_reads_them() {
        for (text, expected) in [
            ("chr1", "chr1 0 1000"),
            ("chr1:100", "chr1 99 100"),
            (" chr1:1,00-2,00", "chr1 99 200"),
            ("chr1:100+", "chr1 99 1000"),
            ("chr1:1000", "chr1 999 1000"),
            ("chr1:+5", "chr1 4 5"),
            ("HLA:01", "HLA:01 0 100"),
            ("HLA:01:7-9", "HLA:01 6 9"),
            ("x:y", "x:y 0 9"),
            ("x:y:3", "x:y 2 3"),
            ("HLA:01:5:2", "HLA:01:5 1 2"),
            ("HLA:02", "HLA 1 2"),
        ] {
            let found = of(&[text], &[], 0);
            if text == "HLA:01" {
                assert!(
                    found
                        .unwrap_err()
                        .to_string()
                        .contains("can mean contig HLA:01 or a part of contig HLA")
                );
            } else {
                assert_eq!(found.unwrap(), expected, "{text}");
            }
        }
    }

    #[test]
    fn bad_regions_are_refused() {
        refused("chr9", "neither a file nor a region on a contig in the header of the reads");
        refused("chr9:5-7", "neither a file nor a region");
        refused("chr1:1001", "base 1001 is beyond the end of contig chr1, which has 1000 bases");
        refused("chr1:5-1001", "beyond the end");
        refused("chr1:1001+", "before it starts");
        refused("chr1:9-5", "ends (5) before it starts (9)");
        refused("chr1:0-5", "positions start at 1");
        refused("chr1:x", "not a position");
        refused("chr1:-5", "not a position");
        refused("chr1:5-", "not a position");
        refused("chr1;chr2", "semicolons");
        refused("unmapped", "no base");
        refused("nothing.bed", "neither a file nor");
    }

    #[test]
    fn sets_are_united_padded_and_subtracted() {
        assert_eq!(
            of(&["chr2:5-9", "chr1:5-9", "chr1:10-12", "chr1:7-8", "chr1:20"], &[], 0).unwrap(),
            "chr1 4 12, chr1 19 20, chr2 4 9"
        );
        assert_eq!(
            of(&["chr1:5-9", "chr1:30", "chr1:995"], &[], 10).unwrap(),
            "chr1 0 40, chr1 984 1000"
        );
        assert_eq!(
            of(&["chr1:5-9", "chr2", "unmapped"], &["chr1:7", "chr2:100+"], 0).unwrap(),
            "chr1 4 6, chr1 7 9, chr2 0 99"
        );
        assert_eq!(
            of(&["chr1:10-20", "chr1:30-40"], &["chr1:15-35", "chr1:38"], 0).unwrap(),
            "chr1 9 14, chr1 35 37, chr1 38 40"
        );
        assert!(
            of(&[], &["chr1", "HLA:01:7+"], 0)
                .unwrap()
                .starts_with("chr2 0 500, HLA:01 0 6, HLA:01:5 0 50")
        );
        let error = of(&["chr1:5-9"], &["chr1:1-20"], 0).unwrap_err().to_string();
        assert!(error.contains("no bases are left"), "{error}");
        assert!(of(&["chr1"], &["unmapped"], 0).is_err());
    }

    #[test]
    fn files_are_told_by_their_names_and_content() {
        let dir = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_string_lossy().into_owned()
        };
        let of = |path: String| of(&[&path], &[], 0);
        assert_eq!(of(file("a.bed", "chr1\t5\t9\nchr2\t0\t1\n")).unwrap(), "chr1 5 9, chr2 0 1");
        let picard = "@SQ\tSN:chr1\tLN:1000\nchr1\t5\t9\t+\tx\n";
        let of_another_build = of(file("c.interval_list", &picard.replace("1000", "999")));
        assert!(of_another_build.unwrap_err().to_string().contains("chr1 has 999 bases here, but 1000"));
        assert_eq!(of(file("a.interval_list", picard)).unwrap(), "chr1 4 9");
        assert_eq!(of(file("a.list", picard)).unwrap(), "chr1 4 9");
        assert_eq!(
            of(file("b.intervals", "chr1:5-9\n\n chr2 \nunmapped\n")).unwrap(),
            "chr1 4 9, chr2 0 500"
        );
        let vcf = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nchr1\t5\t.\tAC\tA\t.\t.\t.\n";
        assert_eq!(of(file("a.vcf", vcf)).unwrap(), "chr1 4 6");
        for (name, text, why) in [
            ("c.list", "chr1\nchr1:0\n", "line 2: \"chr1:0\": positions start at 1"),
            ("c.list", "chr9\n", "line 1: \"chr9\" is not a region"),
            ("c.list", "\n", "no intervals"),
            ("c.bed", "chr1\t5\t6\nchr9\t5\t6\n", "line 2: contig chr9 is not in the header"),
            ("c.bed", "chr1\t5\t5\n", "line 1: an interval is empty"),
            ("c.bed", "chr1\t5\t1001\n", "line 1: base 1001 is beyond"),
            ("c.bed", "", "no base"),
        ] {
            let error = of(file(name, text)).unwrap_err().to_string();
            assert!(error.contains(why), "{error:?} does not say {why:?}");
        }
    }

    #[test]
    fn overlaps_are_those_of_shared_bases() {
        let intervals = Intervals::parse_union(
            &strings(&["chr1:11-20", "chr1:31-40", "chr2:5"]),
            &header(),
            &Ledger::unlimited(),
        )
        .unwrap();
        assert_eq!(intervals.base_count(), 21);
        for (contig, start, end, expected) in [
            (0, 0, 10, false),
            (0, 0, 11, true),
            (0, 19, 20, true),
            (0, 20, 30, false),
            (0, 20, 31, true),
            (0, 15, 15, false),
            (0, 0, 1000, true),
            (0, 40, 50, false),
            (1, 4, 5, true),
            (2, 0, 100, false),
            (77, 0, 100, false),
        ] {
            assert_eq!(intervals.overlaps(contig, start, end), expected, "{contig}:{start}-{end}");
        }
    }

    #[test]
    fn intervals_are_charged_as_long_as_they_are_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.bed");
        std::fs::write(&path, (0..50_000).map(|_| "chr1\t5\t6\n").collect::<String>()).unwrap();
        let include = [path.display().to_string()];
        let parse = |ledger: &Ledger| Intervals::parse_union(&include, &header(), ledger);
        let ledger = Ledger::with_capacity(4 << 20);
        let intervals = parse(&ledger).unwrap();
        assert!(ledger.peak() > 600_000 && (1..200).contains(&ledger.used()), "{ledger:?}");
        drop(intervals);
        assert_eq!(ledger.used(), 0);
        let error = parse(&Ledger::with_capacity(800_000)).unwrap_err();
        assert!(error.to_string().contains("regions: needs"), "{error}");
    }
}
