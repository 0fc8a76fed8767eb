//! Chooses the outputs of reads, for commands with several outputs: `split`, `fastq`, and
//! `--copy-to` and `--move-to` of other commands.
//!
//! ```text
//!                 +-- Route: each read alone -------+--> main output
//! batch of reads -+     (Everything, ByReadGroup,   +--> extra output 0
//!                 |      ByContigs)                 +--> extra output 1
//!                 +-- BySegment: whole templates ---+--> ...
//! ```
//!
//! This module only chooses output indexes; `src/outputs` opens and writes the files.

use std::collections::HashMap;
use std::sync::Arc;

use readmill_record::{Batch, Error, Flags, Header, RecordRef, Result};

/// Chooses the outputs of each read.
///
/// Each thread routes the reads of its batches with its own copy, so a route may cache data of the
/// previous read.
///
/// ```
/// use readmill_filters::route::{ByContigs, Route};
/// use readmill_format::sam::LineParser;
/// use readmill_record::{Header, RecordRef};
///
/// # fn main() -> readmill_record::Result<()> {
/// let header = Header::parse(b"@SQ\tSN:1\tLN:100\n@SQ\tSN:2\tLN:60\n@SQ\tSN:3\tLN:40\n")?;
/// let mut route = ByContigs::new(&header, Some(100)); // groups of at most 100 bases
/// assert_eq!(route.group_count(), 2); // 1 alone, 2 and 3 together
/// let mut raw = Vec::new();
/// LineParser::new(&header).parse(b"r\t0\t3\t7\t60\t4M\t*\t0\t0\tACGT\tIIII", &mut raw)?;
/// let mut places = Vec::new();
/// let stays = route.route_read(RecordRef::new(&raw), &mut places)?;
/// assert_eq!((&places[..], stays), (&[1][..], false));
/// # Ok(())
/// # }
/// ```
pub trait Route: Send + Sync {
    fn fork(&self) -> Box<dyn Route>;

    /// Appends the indexes of the extra outputs for a read to `places`. Returns whether the read
    /// also goes to the main output.
    ///
    /// # Errors
    /// No output can be chosen for this read, for example because an expression uses a field of the
    /// wrong type.
    fn route_read(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool>;
}

/// A named class of reads for `--copy-to FILE=CLASS` and `--move-to FILE=CLASS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadClass {
    Unmapped,
    Discordant,
    Duplicates,
}

impl ReadClass {
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "unmapped" => ReadClass::Unmapped,
            "discordant" => ReadClass::Discordant,
            "duplicates" => ReadClass::Duplicates,
            _ => return None,
        })
    }

    pub fn contains_read(self, record: RecordRef<'_>) -> bool {
        let flags = record.flags();
        match self {
            ReadClass::Unmapped => flags.is_unmapped(),
            ReadClass::Duplicates => flags.is_duplicate(),
            ReadClass::Discordant => {
                let mapped = !flags.is_unmapped() && !flags.is_mate_unmapped();
                flags.is_paired() && mapped && !flags.is_proper()
            }
        }
    }
}

/// Sends all reads to one output. Used if `split` divides reads by number: its writer starts a new
/// file when one is full.
#[derive(Clone, Copy)]
pub struct Everything;

impl Route for Everything {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(*self)
    }

    fn route_read(&mut self, _: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool> {
        places.push(0);
        Ok(false)
    }
}

/// Sends each read group to its own output, in header order. The last output gets the reads that
/// are in none of these groups.
#[derive(Clone)]
pub struct ByReadGroup {
    places: Arc<HashMap<Vec<u8>, usize>>,
    last: (Vec<u8>, usize),
}

impl ByReadGroup {
    pub fn new(header: &Header) -> Self {
        let ids = header.lines_of_kind(b"RG").filter_map(|line| line.get(b"ID"));
        let places = ids.enumerate().map(|(place, id)| (id.to_vec(), place));
        ByReadGroup { places: Arc::new(places.collect()), last: (Vec::new(), usize::MAX) }
    }

    /// Returns the index of the output for reads in none of the groups, which is the number of read
    /// groups.
    pub fn rest_output(&self) -> usize {
        self.places.len()
    }

    fn output_of_group(&self, group: Option<&[u8]>) -> usize {
        group.and_then(|group| self.places.get(group).copied()).unwrap_or(self.rest_output())
    }
}

impl Route for ByReadGroup {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(self.clone())
    }

    fn route_read(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool> {
        let Some(group) = record.read_group() else {
            places.push(self.rest_output());
            return Ok(false);
        };
        if self.last.0 != group || self.last.1 == usize::MAX {
            self.last = (group.to_vec(), self.output_of_group(Some(group)));
        }
        places.push(self.last.1);
        Ok(false)
    }
}

/// Sends each group of contigs to its own output. The last output gets the reads without a
/// reference sequence.
#[derive(Clone)]
pub struct ByContigs {
    places: Arc<[usize]>,
    groups: usize,
}

impl ByContigs {
    /// Packs contigs, in header order, into groups of at most `max_bases` bases. `None` means the length
    /// of the longest contig, as in elPrep split. A contig longer than `max_bases` has its own group.
    pub fn new(header: &Header, max_bases: Option<u64>) -> Self {
        let lengths = || header.references().iter().map(|reference| u64::from(reference.length));
        let max_bases = max_bases.unwrap_or_else(|| lengths().max().unwrap_or(0));
        let (mut places, mut group, mut filled) = (Vec::new(), 0, 0);
        for length in lengths() {
            if filled + length > max_bases && !places.is_empty() {
                (group, filled) = (group + 1, 0);
            }
            filled += length;
            places.push(group);
        }
        let groups = places.last().map_or(0, |last| last + 1);
        ByContigs { places: places.into(), groups }
    }

    pub fn group_count(&self) -> usize {
        self.groups
    }
}

impl Route for ByContigs {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(self.clone())
    }

    fn route_read(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool> {
        let contig = usize::try_from(record.ref_id()).ok();
        places.push(contig.and_then(|id| self.places.get(id).copied()).unwrap_or(self.groups));
        Ok(false)
    }
}

/// Chooses outputs for FASTQ by segment: read 1, read 2, and all other reads.
///
/// All records of a template must be routed together, because a read without its mate may have a
/// separate output.
#[derive(Clone)]
pub struct BySegment {
    /// Outputs for reads flagged as neither or both of read 1 and read 2, for read 1, and for
    /// read 2. `None` drops these reads.
    pub outputs: [Option<usize>; 3],
    pub singles: SingletonOutput,
    pub exclude_flags: u16,
    pub single_end: bool,
    /// If set, the index of the template's read group is added to the output index. The read group
    /// of the template's last record counts.
    pub groups: Option<ByReadGroup>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SingletonOutput {
    Stay,
    To(usize),
    Dropped,
    Refused,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentCounts {
    pub excluded: u64,
    /// Records that were dropped because the template has another record of the same segment, such
    /// as secondary and supplementary alignments.
    pub repeated_records: u64,
    pub singles: u64,
    pub dropped: u64,
}

impl BySegment {
    /// Checks that a read is not paired if single-end reads are expected.
    ///
    /// # Errors
    /// The read is paired, and is not excluded by its FLAG.
    pub fn check_single_end(&self, record: RecordRef<'_>) -> Result<()> {
        let flags = record.flags();
        if self.single_end && flags.is_paired() && flags.0 & self.exclude_flags == 0 {
            return Err(Error::input("the read is paired, but single-end reads are expected").hint(
                "write read 1 and read 2 to two files with -1 and -2 (Picard: FASTQ and SECOND_END_FASTQ), or omit --single-end to write both to one file (Picard: INTERLEAVE=true)",
            ));
        }
        Ok(())
    }

    /// Calls `show` with each read of a template and the index of its output.
    ///
    /// If read 1 or read 2 has several records, the first primary one is used, or the first one if
    /// none is primary. So both are written equally often.
    ///
    /// # Errors
    /// A mate is missing and [`SingletonOutput::Refused`] is set, or `show` fails.
    pub fn route_template<'b>(
        &self,
        records: impl Iterator<Item = RecordRef<'b>>,
        counts: &mut SegmentCounts,
        mut show: impl FnMut(usize, RecordRef<'b>) -> Result<()>,
    ) -> Result<()> {
        let (mut ends, mut neither) = ([None::<RecordRef<'b>>; 3], Vec::new());
        let mut group = 0;
        for record in records {
            if record.flags().0 & self.exclude_flags == 0 {
                group =
                    self.groups.as_ref().map_or(0, |groups| groups.output_of_group(record.read_group()));
            }
            let end = match record.flags().0 & (Flags::FIRST | Flags::LAST) {
                Flags::FIRST => 1,
                Flags::LAST => 2,
                _ => 0,
            };
            if record.flags().0 & self.exclude_flags != 0 {
                counts.excluded += 1;
            } else if end == 0 {
                neither.push(record);
            } else if let Some(before) = ends[end] {
                counts.repeated_records += 1;
                if record.flags().is_primary() && !before.flags().is_primary() {
                    ends[end] = Some(record);
                }
            } else {
                ends[end] = Some(record);
            }
        }
        let alone = ends[1].is_some() != ends[2].is_some();
        counts.singles += u64::from(alone);
        for (end, record) in ends.into_iter().enumerate() {
            let Some(record) = record else { continue };
            let place = match self.singles {
                SingletonOutput::To(place) if alone => Some(place),
                SingletonOutput::Dropped if alone => {
                    counts.dropped += 1;
                    None
                }
                SingletonOutput::Refused if alone => {
                    return Err(missing_mate_error().qname(record.qname()));
                }
                _ => self.outputs[end],
            };
            place.map_or(Ok(()), |place| show(place + group, record))?;
        }
        let place = self.outputs[0];
        neither
            .into_iter()
            .zip(place.into_iter().cycle())
            .try_for_each(|(record, place)| show(place + group, record))
    }
}

fn missing_mate_error() -> Error {
    Error::input("the read is paired, but its mate is missing, or was excluded by its flags")
        .hint("write such reads to a file with -s, or drop them with --drop-singles (Picard: VALIDATION_STRINGENCY=LENIENT)")
}

/// Returns the index of the first record of each template in a batch, followed by the length of the
/// batch. A template is a run of adjacent records with the same name; each record named `*` is a
/// template.
pub fn template_starts(batch: &Batch) -> Vec<usize> {
    let name = |i: usize| batch.record(batch.spans[i]).qname();
    let begins = (0..batch.len()).filter(|&i| i == 0 || name(i) != name(i - 1) || name(i) == b"*");
    begins.chain([batch.len()]).collect()
}
