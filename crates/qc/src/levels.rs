//! The levels at which metrics are summed up: all reads, samples, libraries, read groups.

use std::collections::HashMap;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use readmill_record::header::HeaderLine;
use readmill_record::{Header, RecordRef};

/// Picard's name for reads without a read group, sample, library or platform unit.
const UNKNOWN: &[u8] = b"unknown";

/// A level of METRIC_ACCUMULATION_LEVEL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// All reads together.
    AllReads,
    /// Each sample (SM).
    Sample,
    /// Each library (LB).
    Library,
    /// Each platform unit (PU), by which Picard tells read groups apart.
    ReadGroup,
}

impl Level {
    /// Each level with Picard's name of it.
    pub const NAMED: [(Level, &'static str); 4] = [
        (Level::AllReads, "ALL_READS"),
        (Level::Sample, "SAMPLE"),
        (Level::Library, "LIBRARY"),
        (Level::ReadGroup, "READ_GROUP"),
    ];

    /// The field of a read group that this level goes by.
    fn key(self) -> Option<&'static [u8; 2]> {
        match self {
            Level::AllReads => None,
            Level::Sample => Some(b"SM"),
            Level::Library => Some(b"LB"),
            Level::ReadGroup => Some(b"PU"),
        }
    }
}

impl ValueEnum for Level {
    fn value_variants<'a>() -> &'a [Self] {
        &[Level::AllReads, Level::Sample, Level::Library, Level::ReadGroup]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (_, name) = Self::NAMED.into_iter().find(|(level, _)| level == self)?;
        let word = PossibleValue::new(name);
        Some(match self {
            Level::AllReads => word.alias("all-reads"),
            Level::ReadGroup => word.alias("read-group"),
            Level::Sample | Level::Library => word,
        })
    }
}

/// Reads that have rows of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unit {
    pub sample: Option<Vec<u8>>,
    pub library: Option<Vec<u8>>,
    pub read_group: Option<Vec<u8>>,
    /// The groups of reads that belong to it.
    pub groups: Vec<usize>,
    /// Whether it is left out where it has no reads: the header does not name it.
    pub is_found: bool,
}

impl Unit {
    /// The names of its columns, in the order of the table.
    pub fn names(&self) -> [Option<&[u8]>; 3] {
        [&self.sample, &self.library, &self.read_group].map(Option::as_deref)
    }

    /// The name of its columns in histograms.
    pub fn label(&self) -> &[u8] {
        let name = self.read_group.as_ref().or(self.library.as_ref()).or(self.sample.as_ref());
        name.map_or(b"All_Reads", |name| name)
    }

    fn of(level: Level, group: Option<&HeaderLine>) -> Self {
        let value = |from: Level, tag| {
            let value = || group.map_or(Some(UNKNOWN), |group| group.get(tag)).map(<[u8]>::to_vec);
            (level >= from).then(value).flatten()
        };
        Unit {
            sample: value(Level::Sample, b"SM"),
            library: value(Level::Library, b"LB"),
            read_group: value(Level::ReadGroup, b"PU"),
            groups: Vec::new(),
            is_found: group.is_none(),
        }
    }
}

/// The groups in which reads are counted, and the units that are sums of groups.
#[derive(Debug)]
pub(crate) struct Levels {
    /// The number of each read group's group. Reads of no known read group are in group 0.
    by_read_group: HashMap<Vec<u8>, usize>,
    pub units: Vec<Unit>,
    /// How many groups there are.
    pub groups: usize,
}

impl Levels {
    /// The units of these levels, in the order in which Picard writes them.
    pub fn new(header: &Header, levels: &[Level]) -> Self {
        let by_read_group: HashMap<Vec<u8>, usize> = if levels == [Level::AllReads] {
            HashMap::new()
        } else {
            let names = header.lines_of_kind(b"RG").enumerate();
            names.filter_map(|(n, line)| Some((line.get(b"ID")?.to_vec(), n + 1))).collect()
        };
        let groups = if by_read_group.is_empty() { 1 } else { header.lines_of_kind(b"RG").count() + 1 };
        let mut units = Vec::new();
        for (level, _) in Level::NAMED.into_iter().filter(|(level, _)| levels.contains(level)) {
            match level.key() {
                None => units.push(Unit { groups: (0..groups).collect(), ..Unit::default() }),
                Some(key) => units.extend(units_of(header, level, key)),
            }
        }
        Levels { by_read_group, units, groups }
    }

    /// The most bytes of memory of these levels, and of the rows that are made of them.
    pub fn max_bytes(header: &Header, levels: &[Level]) -> u64 {
        if levels == [Level::AllReads] {
            return 0;
        }
        // In a table by its ID; in each level a unit, its names and its list, and tables of those; in two lists of groups.
        let each = |line: &HeaderLine| {
            let names = line.text().len() as u64 + 5 * 40;
            128 + levels.len() as u64 * (2 * size_of::<Unit>() as u64 + 64 + names) + 2 * 64
        };
        header.lines_of_kind(b"RG").map(each).sum()
    }

    /// How many rows there are, and the numbers of those to which each group of reads adds.
    pub fn rows(&self) -> (usize, Vec<Vec<usize>>) {
        let mut of_groups = vec![Vec::new(); self.groups];
        for (unit, of_unit) in self.units.iter().enumerate() {
            of_unit.groups.iter().for_each(|&group| of_groups[group].push(unit));
        }
        (self.units.len(), of_groups)
    }

    /// The group of reads of this read group.
    #[inline]
    pub fn group(&self, read_group: Option<&[u8]>) -> usize {
        if self.groups == 1 {
            return 0;
        }
        read_group.and_then(|name| self.by_read_group.get(name)).copied().unwrap_or(0)
    }
}

/// Finds the groups of records one after the other: most have the read group of the one before.
#[derive(Default)]
pub(crate) struct GroupFinder {
    read_group: Vec<u8>,
    group: Option<usize>,
}

impl GroupFinder {
    /// The group of a record.
    #[inline]
    pub fn find(&mut self, levels: &Levels, record: RecordRef<'_>) -> usize {
        if levels.groups == 1 { 0 } else { self.find_by_name(levels, record.read_group()) }
    }

    /// The group of reads of this read group.
    #[inline]
    pub fn find_by_name(&mut self, levels: &Levels, read_group: Option<&[u8]>) -> usize {
        if levels.groups == 1 {
            return 0;
        }
        let name = read_group.unwrap_or_default();
        match self.group {
            Some(group) if self.read_group == name => group,
            _ => {
                self.read_group.clear();
                self.read_group.extend_from_slice(name);
                *self.group.insert(levels.group(read_group))
            }
        }
    }
}

/// The units of one level: those that the header names, in its order, and the unknown one.
fn units_of(header: &Header, level: Level, key: &[u8; 2]) -> Vec<Unit> {
    // A read group without the field has an entry, too, but its reads belong to the unknown one.
    let mut keys: HashMap<Option<&[u8]>, usize> = HashMap::new();
    let mut units: Vec<Unit> = Vec::new();
    let mut unknown = vec![0];
    for (number, line) in (1..).zip(header.lines_of_kind(b"RG")) {
        let value = line.get(key);
        let at = *keys.entry(value).or_insert(units.len());
        if at == units.len() {
            units.push(Unit::of(level, Some(line)));
        }
        if value.is_some() { units[at].groups.push(number) } else { unknown.push(number) }
    }
    match keys.get(&Some(UNKNOWN)) {
        Some(&at) => units[at].groups.extend(unknown),
        None => units.push(Unit { groups: unknown, ..Unit::of(level, None) }),
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_those_of_the_header_and_the_unknown_one() {
        let text = b"@RG\tID:a\tSM:s\tLB:l\tPU:p\n@RG\tID:b\tSM:s\tPU:q\n@RG\tID:c\tLB:m\n";
        let header = Header::parse(text).unwrap();
        let all = Level::NAMED.map(|(level, _)| level);
        let levels = Levels::new(&header, &all);
        let group = |name: &str| levels.group(Some(name.as_bytes()));
        assert_eq!((levels.groups, group("a"), group("b"), group("c"), group("z")), (4, 1, 2, 3, 0));
        let shown: Vec<String> = (levels.units.iter())
            .map(|unit| {
                let names =
                    unit.names().map(|name| String::from_utf8_lossy(name.unwrap_or(b"-")).into_owned());
                format!("{} {:?} {}", names.join(","), unit.groups, unit.is_found)
            })
            .collect();
        let wanted = [
            "-,-,- [0, 1, 2, 3] false",
            "s,-,- [1, 2] false",
            "-,-,- [] false",
            "unknown,-,- [0, 3] true",
            "s,l,- [1] false",
            "s,-,- [] false",
            "-,m,- [3] false",
            "unknown,unknown,- [0, 2] true",
            "s,l,p [1] false",
            "s,-,q [2] false",
            "-,m,- [] false",
            "unknown,unknown,unknown [0, 3] true",
        ];
        assert_eq!(shown, wanted);
        let (rows, of_groups) = levels.rows();
        assert_eq!((rows, &of_groups[1][..]), (12, &[0, 1, 4, 8][..]));
        assert_eq!(of_groups[0], [0, 3, 7, 11]);
        assert_eq!(Levels::new(&header, &[Level::AllReads]).groups, 1);
    }
}
