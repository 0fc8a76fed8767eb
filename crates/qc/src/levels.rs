//! The levels at which metrics are summed up (METRIC_ACCUMULATION_LEVEL): all reads, samples,
//! libraries and read groups.
//!
//! A record is counted once, in the group of its read group. At the end, each row of a metrics file
//! is the sum of the groups that belong to its sample, library or read group.

use std::collections::HashMap;

use clap::ValueEnum;
use clap::builder::PossibleValue;
use readmill_record::header::HeaderLine;
use readmill_record::{Header, RecordRef};

/// Picard's name for reads without a read group, sample, library or platform unit.
const UNKNOWN: &[u8] = b"unknown";

/// A level at which metrics are summed up, a value of Picard's METRIC_ACCUMULATION_LEVEL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    AllReads,
    Sample,
    Library,
    /// One row for each platform unit (PU), which Picard uses to distinguish read groups. A read
    /// group without PU has its own row, named by its ID (row 320 of docs/qc.md).
    ReadGroup,
}

impl Level {
    /// Each level with Picard's name, in the order in which Picard writes their rows.
    pub const NAMED: [(Level, &'static str); 4] = [
        (Level::AllReads, "ALL_READS"),
        (Level::Sample, "SAMPLE"),
        (Level::Library, "LIBRARY"),
        (Level::ReadGroup, "READ_GROUP"),
    ];

    /// Returns the name of a read group at this level: the value of the @RG field whose values the
    /// level distinguishes. `None` for all reads, and for a group without the field.
    fn name_in(self, group: &HeaderLine) -> Option<&[u8]> {
        match self {
            Level::AllReads => None,
            Level::Sample => group.get(b"SM"),
            Level::Library => group.get(b"LB"),
            Level::ReadGroup => group.get(b"PU").or_else(|| group.get(b"ID")),
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

/// A row of a metrics file: the reads of a sample, a library or a platform unit, or all reads. Its
/// counts are the sums of its groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MetricsUnit {
    pub sample: Option<Vec<u8>>,
    pub library: Option<Vec<u8>>,
    pub read_group: Option<Vec<u8>>,
    /// The groups of read groups that the row sums up, see [`Levels`].
    pub groups: Vec<usize>,
    /// Whether the row is for reads that the header does not name. Such a row is omitted if it has
    /// no reads.
    pub is_found: bool,
}

impl MetricsUnit {
    pub fn column_values(&self) -> [Option<&[u8]>; 3] {
        [&self.sample, &self.library, &self.read_group].map(Option::as_deref)
    }

    /// Returns the prefix of the row's columns in histograms.
    pub fn histogram_label(&self) -> &[u8] {
        let name = self.read_group.as_ref().or(self.library.as_ref()).or(self.sample.as_ref());
        name.map_or(b"All_Reads", |name| name)
    }

    fn from_read_group(level: Level, group: Option<&HeaderLine>) -> Self {
        let value = |from: Level| {
            let name = || group.map_or(Some(UNKNOWN), |group| from.name_in(group));
            let value = || name().map(<[u8]>::to_vec);
            (level >= from).then(value).flatten()
        };
        MetricsUnit {
            sample: value(Level::Sample),
            library: value(Level::Library),
            read_group: value(Level::ReadGroup),
            groups: Vec::new(),
            is_found: group.is_none(),
        }
    }
}

/// The groups in which reads are counted, and the rows that are sums of groups. Group 0 has the
/// reads without a known read group; each other group is one read group of the header.
#[derive(Debug)]
pub(crate) struct Levels {
    by_read_group: HashMap<Vec<u8>, usize>,
    pub units: Vec<MetricsUnit>,
    pub groups: usize,
}

impl Levels {
    /// Returns the rows of these levels, in Picard's order. If only ALL_READS is requested, all
    /// reads are in one group.
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
            if level == Level::AllReads {
                units.push(MetricsUnit { groups: (0..groups).collect(), ..MetricsUnit::default() });
            } else {
                units.extend(units_of(header, level));
            }
        }
        Levels { by_read_group, units, groups }
    }

    /// Returns the maximum memory in bytes of these levels, and of the rows that are made from
    /// them.
    pub fn max_bytes(header: &Header, levels: &[Level]) -> u64 {
        if levels == [Level::AllReads] {
            return 0;
        }
        // One entry in the table of IDs; for each level a unit, its names and its list, and tables
        // of them; two lists of groups.
        let each = |line: &HeaderLine| {
            let names = line.text().len() as u64 + 5 * 40;
            128 + levels.len() as u64 * (2 * size_of::<MetricsUnit>() as u64 + 64 + names) + 2 * 64
        };
        header.lines_of_kind(b"RG").map(each).sum()
    }

    /// Returns the number of rows and, for each group, the indices of the rows that it belongs to.
    /// Programs that count in order add a read directly to its rows.
    pub fn rows_by_group(&self) -> (usize, Vec<Vec<usize>>) {
        let mut of_groups = vec![Vec::new(); self.groups];
        for (unit, of_unit) in self.units.iter().enumerate() {
            of_unit.groups.iter().for_each(|&group| of_groups[group].push(unit));
        }
        (self.units.len(), of_groups)
    }

    /// Returns the group of a read group. Reads without a known read group are in group 0.
    #[inline]
    pub fn group_of(&self, read_group: Option<&[u8]>) -> usize {
        if self.groups == 1 {
            return 0;
        }
        read_group.and_then(|name| self.by_read_group.get(name)).copied().unwrap_or(0)
    }
}

/// A finder of the groups of successive records. It remembers the last read group, because most
/// records have the read group of the record before them.
#[derive(Default)]
pub(crate) struct GroupFinder {
    read_group: Vec<u8>,
    group: Option<usize>,
}

impl GroupFinder {
    #[inline]
    pub fn find_group(&mut self, levels: &Levels, record: RecordRef<'_>) -> usize {
        if levels.groups == 1 { 0 } else { self.find_by_name(levels, record.read_group()) }
    }

    /// Returns the group of a read group, see [`GroupFinder::find_group`]. For callers that know the
    /// value of RG.
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
                *self.group.insert(levels.group_of(read_group))
            }
        }
    }
}

/// Returns the rows of one level: the values in the header, in its order, and then the row for
/// unknown ones.
fn units_of(header: &Header, level: Level) -> Vec<MetricsUnit> {
    // Picard writes a row for a read group without this field, but counts its reads in the unknown
    // row.
    let mut keys: HashMap<Option<&[u8]>, usize> = HashMap::new();
    let mut units: Vec<MetricsUnit> = Vec::new();
    let mut unknown = vec![0];
    for (number, line) in (1..).zip(header.lines_of_kind(b"RG")) {
        let value = level.name_in(line);
        let at = *keys.entry(value).or_insert(units.len());
        if at == units.len() {
            units.push(MetricsUnit::from_read_group(level, Some(line)));
        }
        if value.is_some() { units[at].groups.push(number) } else { unknown.push(number) }
    }
    match keys.get(&Some(UNKNOWN)) {
        Some(&at) => units[at].groups.extend(unknown),
        None => units.push(MetricsUnit { groups: unknown, ..MetricsUnit::from_read_group(level, None) }),
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
        let group = |name: &str| levels.group_of(Some(name.as_bytes()));
        assert_eq!((levels.groups, group("a"), group("b"), group("c"), group("z")), (4, 1, 2, 3, 0));
        let shown: Vec<String> = (levels.units.iter())
            .map(|unit| {
                let names = unit
                    .column_values()
                    .map(|name| String::from_utf8_lossy(name.unwrap_or(b"-")).into_owned());
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
            "-,m,c [3] false",
            "unknown,unknown,unknown [0] true",
        ];
        assert_eq!(shown, wanted);
        let (rows, of_groups) = levels.rows_by_group();
        assert_eq!((rows, &of_groups[1][..]), (12, &[0, 1, 4, 8][..]));
        assert_eq!((&of_groups[0][..], &of_groups[3][..]), (&[0, 3, 7, 11][..], &[0, 3, 6, 10][..]));
        assert_eq!(Levels::new(&header, &[Level::AllReads]).groups, 1);
    }
}
