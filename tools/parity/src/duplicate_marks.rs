//! Compares the duplicate marks and tags of two files on every record, and checks whether different
//! choices are only ties (row 8 of docs/parity.md).
//!
//! Two templates tie fully if they have the same library, ends, score and location. Then file order
//! decides which one is marked, and a file sorted by Picard has a different order than its source.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::{Context, Result, bail};

use crate::commands::SampleDir;
use crate::outputs::ProgramLines;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    /// QNAME, FLAG without 0x400, RNAME and POS, separated by tabs.
    record: Box<str>,
    marked: bool,
}

/// The marks of all records of a file, sorted by record, so that files in different orders can be
/// compared.
pub struct Marks(Vec<Mark>);

/// Names of the templates that only one of two files marks, and the number of affected records.
#[derive(Default)]
pub struct Differences {
    ours: BTreeSet<String>,
    theirs: BTreeSet<String>,
    records: usize,
}

impl Marks {
    pub fn read(dir: &SampleDir<'_>, file: &str) -> Result<Self> {
        let mut printed = ProgramLines::start_samtools(dir, &format!("view {file}"))?;
        let (mut line, mut marks) = (Vec::new(), Vec::new());
        while printed.read_line(&mut line)? {
            let text = std::str::from_utf8(&line)?;
            let mut fields = text.split('\t');
            let mut field = || fields.next().context("a short line");
            let (name, flag, contig, position) =
                (field()?, field()?.parse::<u32>()?, field()?, field()?);
            let record = format!("{name}\t{}\t{contig}\t{position}", flag & !0x400).into();
            marks.push(Mark { record, marked: flag & 0x400 != 0 });
        }
        marks.sort_unstable();
        Ok(Marks(marks))
    }

    pub fn summary(&self) -> String {
        let marked = self.0.iter().filter(|mark| mark.marked).count();
        format!("{} records, {marked} duplicates", self.0.len())
    }

    /// Returns the templates that only one file marks. Returns an error if the files do not have
    /// the same records.
    pub fn find_differences(&self, theirs: &Marks) -> Result<Differences> {
        if self.0.len() != theirs.0.len() {
            bail!("{} records, theirs has {}", self.0.len(), theirs.0.len());
        }
        let mut differences = Differences::default();
        for (own, other) in self.0.iter().zip(&theirs.0) {
            if own.record != other.record {
                bail!("other records: {:?}, theirs {:?}", own.record, other.record);
            }
            if own.marked != other.marked {
                let name = own.record.split('\t').next().unwrap_or_default().to_owned();
                let side = if own.marked { &mut differences.ours } else { &mut differences.theirs };
                side.insert(name);
                differences.records += 1;
            }
        }
        Ok(differences)
    }

    pub fn ensure_same(&self, theirs: &Marks) -> Result<String> {
        let differences = self.find_differences(theirs)?;
        if differences.records == 0 {
            return Ok(self.summary());
        }
        let some =
            |names: &BTreeSet<String>| names.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
        bail!(
            "{} records differ; {} templates marked by us alone ({}), {} by them alone ({})",
            differences.records,
            differences.ours.len(),
            some(&differences.ours),
            differences.theirs.len(),
            some(&differences.theirs),
        )
    }
}

/// The properties of a template that determine whether it is a duplicate, and which template of a
/// set is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct TieKey {
    library: String,
    /// Contig, unclipped 5' position (1-based) and strand of each end, sorted.
    ends: Vec<(String, i64, bool)>,
    score: i32,
    location: Option<[i16; 3]>,
}

/// Returns an error unless the templates that only readmill marks and those that only the peer
/// marks have the same multiset of [`TieKey`]s. Then each duplicate set keeps an equivalent
/// template.
pub fn ensure_only_ties(dir: &SampleDir<'_>, input: &str, differences: &Differences) -> Result<String> {
    let names: BTreeSet<&String> = differences.ours.union(&differences.theirs).collect();
    if names.is_empty() {
        return Ok("no template differs".to_owned());
    }
    let keys = read_tie_keys(dir, input, &names)?;
    let side = |names: &BTreeSet<String>| {
        let mut side: Vec<&TieKey> = names.iter().filter_map(|name| keys.get(name)).collect();
        side.sort();
        side
    };
    let (ours, theirs) = (side(&differences.ours), side(&differences.theirs));
    if ours != theirs {
        let lone = ours.iter().find(|one| !theirs.contains(one)).or_else(|| theirs.first());
        bail!("{} templates differ, and not by full ties alone: {lone:?}", names.len());
    }
    Ok(format!("{} sets keep another template of equal score and location", ours.len()))
}

fn read_tie_keys(
    dir: &SampleDir<'_>,
    input: &str,
    names: &BTreeSet<&String>,
) -> Result<BTreeMap<String, TieKey>> {
    let libraries = read_libraries(dir, input)?;
    let mut keys: BTreeMap<String, TieKey> = BTreeMap::new();
    let mut printed = ProgramLines::start_samtools(dir, &format!("view -F 0x904 {input}"))?;
    let mut line = Vec::new();
    while printed.read_line(&mut line)? {
        let text = std::str::from_utf8(&line)?;
        let fields: Vec<&str> = text.split('\t').collect();
        let name = fields[0].to_owned();
        if !names.contains(&name) {
            continue;
        }
        let key = keys.entry(name).or_default();
        let group = fields.iter().find_map(|field| field.strip_prefix("RG:Z:"));
        key.library = group.and_then(|group| libraries.get(group)).cloned().unwrap_or_default();
        key.ends.push(parse_end(&fields)?);
        key.ends.sort();
        key.score += sum_base_qualities(&fields)?;
        key.location = parse_location(fields[0]);
    }
    Ok(keys)
}

fn read_libraries(dir: &SampleDir<'_>, input: &str) -> Result<BTreeMap<String, String>> {
    let header = ProgramLines::start_samtools(dir, &format!("view -H {input}"))?.read_text()?;
    let field = |line: &str, key: &str| {
        line.split('\t').find_map(|field| field.strip_prefix(key)).unwrap_or_default().to_owned()
    };
    let groups = header.lines().filter(|line| line.starts_with("@RG\t"));
    Ok(groups.map(|line| (field(line, "ID:"), field(line, "LB:"))).collect())
}

fn parse_end(fields: &[&str]) -> Result<(String, i64, bool)> {
    let reverse = fields[1].parse::<u32>()? & 0x10 != 0;
    let mut operations = Vec::new();
    for operation in fields[5].split_inclusive(|c: char| !c.is_ascii_digit()) {
        let (length, kind) = operation.split_at(operation.len() - 1);
        operations.push((length.parse::<i64>().unwrap_or(0), kind));
    }
    let clips = |run: &mut dyn Iterator<Item = &(i64, &str)>| -> i64 {
        run.take_while(|(_, kind)| "SH".contains(kind)).map(|(length, _)| length).sum()
    };
    let covered: i64 = operations.iter().filter(|(_, k)| "MDN=X".contains(k)).map(|(n, _)| n).sum();
    let start: i64 = fields[3].parse()?;
    let five = if reverse {
        start + covered - 1 + clips(&mut operations.iter().rev())
    } else {
        start - clips(&mut operations.iter())
    };
    Ok((fields[2].to_owned(), five, reverse))
}

fn sum_base_qualities(fields: &[&str]) -> Result<i32> {
    let qualities = fields.get(10).context("a record without QUAL")?.bytes().map(|b| i32::from(b) - 33);
    let sum = qualities.filter(|&quality| quality >= 15).sum::<i32>().min(16383);
    let failed = fields[1].parse::<u32>()? & 0x200 != 0;
    Ok(if failed { sum - 16384 } else { sum })
}

/// Parses a location from a read name like Picard 3.4.0: the last three of 5 or 7 fields, each
/// wrapped to 16 bits.
fn parse_location(name: &str) -> Option<[i16; 3]> {
    let fields: Vec<&str> = name.split(':').collect();
    if !matches!(fields.len(), 5 | 7) {
        return None;
    }
    let number = |field: &str| -> Option<i16> {
        let digits = field.len() - field.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        Some(field[..digits].parse::<i64>().ok()? as i16)
    };
    let [.., tile, x, y] = fields[..] else { return None };
    Some([number(tile)?, number(x)?, number(y)?])
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SetComparison {
    Numbered,
    /// The sets must be the same, but may have different numbers.
    Renamed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct RecordTags<'a> {
    name: &'a str,
    flags: u32,
    dt: Option<&'a str>,
    ds: Option<&'a str>,
    di: Option<&'a str>,
}

impl<'a> RecordTags<'a> {
    fn parse(line: &'a [u8]) -> Result<Self> {
        let mut fields = std::str::from_utf8(line)?.split('\t');
        let name = fields.next().context("a short line")?;
        let flags = fields.next().context("a short line")?.parse()?;
        let mut said = RecordTags { name, flags, ..RecordTags::default() };
        for field in fields.skip(9) {
            for (tag, value) in
                [("DT:Z:", &mut said.dt), ("DS:i:", &mut said.ds), ("DI:i:", &mut said.di)]
            {
                if let Some(found) = field.strip_prefix(tag) {
                    *value = Some(found);
                }
            }
        }
        Ok(said)
    }
}

#[derive(Default)]
struct TagComparisonTotals {
    records: u64,
    marked: u64,
    optical: u64,
    in_sets: u64,
    /// readmill's set numbers by the peer's, and the peer's by readmill's: together they show that
    /// the relation is one-to-one.
    sets: [HashMap<String, String>; 2],
}

impl TagComparisonTotals {
    fn compare_record(
        &mut self,
        ours: &RecordTags<'_>,
        theirs: &RecordTags<'_>,
        sets: SetComparison,
    ) -> Result<()> {
        let names_match = match sets {
            SetComparison::Numbered => ours.di == theirs.di,
            SetComparison::Renamed => {
                ours.di.is_some() == theirs.di.is_some() && self.is_same_set(ours, theirs)
            }
        };
        if !names_match || *ours != (RecordTags { di: ours.di, ..*theirs }) {
            bail!("record {}\n   ours: {ours:?}\n theirs: {theirs:?}", self.records + 1);
        }
        self.records += 1;
        self.marked += u64::from(ours.flags & 0x400 != 0);
        self.optical += u64::from(ours.dt == Some("SQ"));
        self.in_sets += u64::from(ours.di.is_some());
        Ok(())
    }

    fn is_same_set(&mut self, ours: &RecordTags<'_>, theirs: &RecordTags<'_>) -> bool {
        let (Some(one), Some(other)) = (ours.di, theirs.di) else { return true };
        let mut knows = |side: usize, from: &str, to: &str| match self.sets[side].get(from) {
            Some(known) => known == to,
            None => self.sets[side].insert(from.to_owned(), to.to_owned()).is_none(),
        };
        knows(0, other, one) && knows(1, one, other)
    }
}

/// Compares flags, DT, DS and DI on every record of two files in the same order. Returns the totals
/// as text.
pub fn compare_tags(
    dir: &SampleDir<'_>,
    ours: &str,
    theirs: &str,
    sets: SetComparison,
) -> Result<String> {
    let mut one = ProgramLines::start_samtools(dir, &format!("view {ours}"))?;
    let mut other = ProgramLines::start_samtools(dir, &format!("view {theirs}"))?;
    let (mut a, mut b, mut counts) = (Vec::new(), Vec::new(), TagComparisonTotals::default());
    loop {
        match (one.read_line(&mut a)?, other.read_line(&mut b)?) {
            (true, true) => {
                counts.compare_record(&RecordTags::parse(&a)?, &RecordTags::parse(&b)?, sets)?
            }
            (false, false) => break,
            _ => bail!("one has more than {} records, the other not", counts.records),
        }
    }
    let TagComparisonTotals { records, marked, optical, in_sets, .. } = counts;
    Ok(format!("{records} records, {marked} duplicates, {optical} of them optical, {in_sets} in sets"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(list: &[(&str, bool)]) -> Marks {
        Marks(list.iter().map(|&(record, marked)| Mark { record: record.into(), marked }).collect())
    }

    #[test]
    fn every_record_counts() {
        let ours = marks(&[("a\t0\tc\t1", true), ("b\t0\tc\t1", false)]);
        assert!(ours.ensure_same(&marks(&[("a\t0\tc\t1", true), ("b\t0\tc\t1", false)])).is_ok());
        assert!(ours.ensure_same(&marks(&[("a\t0\tc\t1", true), ("b\t0\tc\t2", false)])).is_err());
        assert!(ours.ensure_same(&marks(&[("a\t0\tc\t1", true)])).is_err());
        let other = marks(&[("a\t0\tc\t1", false), ("b\t0\tc\t1", true)]);
        assert!(ours.ensure_same(&other).is_err());
        let differences = ours.find_differences(&other).expect("the same records");
        assert_eq!((differences.ours.len(), differences.theirs.len()), (1, 1));
    }

    #[test]
    fn ends_are_unclipped_and_scores_leave_out_low_qualities() {
        let fields =
            |flag, cigar, qual| vec!["n", flag, "c", "101", "60", cigar, "=", "1", "0", "*", qual];
        let five = |flag, cigar| parse_end(&fields(flag, cigar, "I")).expect("a record").1;
        assert_eq!(five("0", "2H3S10M4S"), 96);
        assert_eq!(five("16", "2H3S10M2D4S1H"), 117);
        assert_eq!(sum_base_qualities(&fields("0", "4M", "I/0!")).expect("a score"), 40 + 15);
        assert_eq!(sum_base_qualities(&fields("512", "1M", "I")).expect("a score"), 40 - 16384);
    }

    #[test]
    fn locations_have_sixteen_bits_and_need_five_or_seven_fields() {
        assert_eq!(parse_location("i:1:f:2:1101:40000:7"), Some([1101, -25536, 7]));
        assert_eq!(parse_location("i:2:1101:16:7#ACGT/1"), Some([1101, 16, 7]));
        assert_eq!(parse_location("i:1:f:2:1101:4:7:ACG"), None);
    }

    fn line(name: &str, flags: u32, tags: &str) -> Vec<u8> {
        format!("{name}\t{flags}\tc\t1\t60\t1M\t=\t1\t0\tA\tI\tRG:Z:a{tags}").into_bytes()
    }

    fn compare(pairs: &[(&str, &str)], sets: SetComparison) -> Result<()> {
        let mut counts = TagComparisonTotals::default();
        for (ours, theirs) in pairs {
            counts.compare_record(
                &RecordTags::parse(&line("n", 99, ours))?,
                &RecordTags::parse(&line("n", 99, theirs))?,
                sets,
            )?;
        }
        Ok(())
    }

    #[test]
    fn every_field_counts() {
        let all = "\tDI:i:7\tDS:i:2\tDT:Z:SQ";
        assert!(compare(&[(all, all)], SetComparison::Numbered).is_ok());
        for other in
            ["", "\tDI:i:8\tDS:i:2\tDT:Z:SQ", "\tDI:i:7\tDS:i:3\tDT:Z:SQ", "\tDI:i:7\tDS:i:2\tDT:Z:LB"]
        {
            assert!(compare(&[(all, other)], SetComparison::Numbered).is_err(), "{other}");
        }
        let marked = line("n", 99 | 0x400, all);
        let said = RecordTags::parse(&marked).unwrap();
        assert!(
            TagComparisonTotals::default()
                .compare_record(
                    &said,
                    &RecordTags::parse(&line("n", 99, all)).unwrap(),
                    SetComparison::Renamed
                )
                .is_err()
        );
    }

    #[test]
    fn sets_may_be_renamed_but_neither_joined_nor_divided() {
        let set = |number| format!("\tDI:i:{number}");
        let compare = |pairs: &[(u32, u32)]| {
            let text: Vec<_> = pairs.iter().map(|&(a, b)| (set(a), set(b))).collect();
            let text: Vec<_> = text.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
            compare(&text, SetComparison::Renamed)
        };
        assert!(compare(&[(1, 4), (2, 1), (1, 4)]).is_ok());
        assert!(compare(&[(1, 4), (2, 4)]).is_err());
        assert!(compare(&[(1, 4), (1, 5)]).is_err());
        assert!(super::tests::compare(&[("", "\tDI:i:1")], SetComparison::Renamed).is_err());
    }
}
