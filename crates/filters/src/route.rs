//! Routes reads to outputs.

use std::collections::HashMap;
use std::sync::Arc;

use readmill_record::{Batch, Error, Flags, Header, RecordRef, Result};

/// Routes reads to outputs.
pub trait Route: Send + Sync {
    /// Returns a copy for another thread.
    fn fork(&self) -> Box<dyn Route>;

    /// Appends the numbers of the extra outputs for the read; returns whether it goes to the main output,
    /// too.
    fn route(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool>;
}

/// A named class of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Flagged unmapped (0x4).
    Unmapped,
    /// Both ends are mapped, and not as a proper pair (0x2).
    Discordant,
    /// Flagged as duplicates (0x400).
    Duplicates,
}

impl Class {
    /// Returns the class called `name`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "unmapped" => Class::Unmapped,
            "discordant" => Class::Discordant,
            "duplicates" => Class::Duplicates,
            _ => return None,
        })
    }

    /// Whether the read is in the class.
    pub fn holds(self, record: RecordRef<'_>) -> bool {
        let flags = record.flags();
        match self {
            Class::Unmapped => flags.is_unmapped(),
            Class::Duplicates => flags.is_duplicate(),
            Class::Discordant => {
                let mapped = !flags.is_unmapped() && !flags.is_mate_unmapped();
                flags.is_paired() && mapped && !flags.is_proper()
            }
        }
    }
}

/// Routes all reads to one output.
#[derive(Clone, Copy)]
pub struct Everything;

impl Route for Everything {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(*self)
    }

    fn route(&mut self, _: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool> {
        places.push(0);
        Ok(false)
    }
}

/// Routes each read group to its own output, in the order of the header; the last output is for reads of none
/// of them.
#[derive(Clone)]
pub struct ByReadGroup {
    places: Arc<HashMap<Vec<u8>, usize>>,
    /// The last read group, and its output.
    last: (Vec<u8>, usize),
}

impl ByReadGroup {
    /// Creates the route for the read groups of this header.
    pub fn new(header: &Header) -> Self {
        let ids = header.lines_of(b"RG").filter_map(|line| line.get(b"ID"));
        let places = ids.enumerate().map(|(place, id)| (id.to_vec(), place));
        ByReadGroup { places: Arc::new(places.collect()), last: (Vec::new(), usize::MAX) }
    }

    /// The number of read groups, which is the place of reads of none of them.
    pub fn rest(&self) -> usize {
        self.places.len()
    }

    /// The output of a read group.
    fn place(&self, group: Option<&[u8]>) -> usize {
        group.and_then(|group| self.places.get(group).copied()).unwrap_or(self.rest())
    }
}

impl Route for ByReadGroup {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(self.clone())
    }

    fn route(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool> {
        let Some(group) = record.read_group() else {
            places.push(self.rest());
            return Ok(false);
        };
        if self.last.0 != group || self.last.1 == usize::MAX {
            self.last = (group.to_vec(), self.place(Some(group)));
        }
        places.push(self.last.1);
        Ok(false)
    }
}

/// Routes groups of contigs to their own outputs; the last output is for reads without a reference sequence.
#[derive(Clone)]
pub struct ByContigs {
    /// The output of each reference sequence.
    places: Arc<[usize]>,
    groups: usize,
}

impl ByContigs {
    /// Packs contigs, in their order, into groups of at most `most` bases; `None` means the length of the
    /// longest (as elPrep splits). A longer contig has its own group.
    pub fn new(header: &Header, most: Option<u64>) -> Self {
        let lengths = || header.references().iter().map(|reference| u64::from(reference.length));
        let most = most.unwrap_or_else(|| lengths().max().unwrap_or(0));
        let (mut places, mut group, mut filled) = (Vec::new(), 0, 0);
        for length in lengths() {
            if filled + length > most && !places.is_empty() {
                (group, filled) = (group + 1, 0);
            }
            filled += length;
            places.push(group);
        }
        let groups = places.last().map_or(0, |last| last + 1);
        ByContigs { places: places.into(), groups }
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }
}

impl Route for ByContigs {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(self.clone())
    }

    fn route(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> Result<bool> {
        let contig = usize::try_from(record.ref_id()).ok();
        places.push(contig.and_then(|id| self.places.get(id).copied()).unwrap_or(self.groups));
        Ok(false)
    }
}

/// Routes the ends of templates to numbered outputs.
#[derive(Clone)]
pub struct BySegment {
    /// The outputs for reads flagged as neither end or as both, for first ends, for last ends; `None` drops
    /// them.
    pub places: [Option<usize>; 3],
    /// Ends whose other end is not adjacent.
    pub singles: Singles,
    /// Records with any of these flags are dropped.
    pub exclude: u16,
    /// Paired reads are an error.
    pub single_end: bool,
    /// Adds the number of its read group to the output of a template; that of its last record counts.
    pub groups: Option<ByReadGroup>,
}

/// The place of ends whose other end is not adjacent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Singles {
    /// They go where all other ends go.
    Stay,
    /// They go to this output.
    To(usize),
    /// They are left out.
    Dropped,
    /// They are an error.
    Refused,
}

/// Counts of routed templates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segments {
    /// Records dropped by their flags.
    pub excluded: u64,
    /// Records dropped because their end was already written.
    pub repeated: u64,
    /// Ends without their other end.
    pub singles: u64,
    /// Those of them that were left out.
    pub dropped: u64,
}

impl BySegment {
    /// Refuses a paired read where the input has to be single-end.
    ///
    /// # Errors
    /// The read is paired, and not dropped by its flags.
    pub fn check(&self, record: RecordRef<'_>) -> Result<()> {
        let flags = record.flags();
        if self.single_end && flags.is_paired() && flags.0 & self.exclude == 0 {
            return Err(Error::input("the read is paired, and single-end reads are expected").hint(
                "write both ends: to two files by -1 and -2 (Picard: FASTQ and SECOND_END_FASTQ), or to one without \
                 --single-end (Picard: INTERLEAVE=true)",
            ));
        }
        Ok(())
    }

    /// Calls the function with each read of a template and its output. Of several records of one end the
    /// first primary one is used, else the first, so both ends are written equally often.
    ///
    /// # Errors
    /// An end lacks its other end, and such ends are refused; or the function fails.
    pub fn route<'b>(
        &self,
        records: impl Iterator<Item = RecordRef<'b>>,
        counts: &mut Segments,
        mut show: impl FnMut(usize, RecordRef<'b>) -> Result<()>,
    ) -> Result<()> {
        let (mut ends, mut neither) = ([None::<RecordRef<'b>>; 3], Vec::new());
        let mut group = 0;
        for record in records {
            if record.flags().0 & self.exclude == 0 {
                group = self.groups.as_ref().map_or(0, |groups| groups.place(record.read_group()));
            }
            let end = match record.flags().0 & (Flags::FIRST | Flags::LAST) {
                Flags::FIRST => 1,
                Flags::LAST => 2,
                _ => 0,
            };
            if record.flags().0 & self.exclude != 0 {
                counts.excluded += 1;
            } else if end == 0 {
                neither.push(record);
            } else if let Some(before) = ends[end] {
                counts.repeated += 1;
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
                Singles::To(place) if alone => Some(place),
                Singles::Dropped if alone => {
                    counts.dropped += 1;
                    None
                }
                Singles::Refused if alone => return Err(lacks_other_end().qname(record.qname())),
                _ => self.places[end],
            };
            place.map_or(Ok(()), |place| show(place + group, record))?;
        }
        let place = self.places[0];
        neither
            .into_iter()
            .zip(place.into_iter().cycle())
            .try_for_each(|(record, place)| show(place + group, record))
    }
}

fn lacks_other_end() -> Error {
    Error::input("the read is paired, and its other end is not there, or was left out for its flags")
        .hint("write such reads to a file by -s, or leave them out by --drop-singles (Picard: VALIDATION_STRINGENCY=LENIENT)")
}

/// Returns the start of each template of a batch, which is a run of adjacent records of one name, and the end
/// of the batch.
pub fn templates(batch: &Batch) -> Vec<usize> {
    let name = |i: usize| batch.record(batch.spans[i]).qname();
    let begins = (0..batch.len()).filter(|&i| i == 0 || name(i) != name(i - 1) || name(i) == b"*");
    begins.chain([batch.len()]).collect()
}
