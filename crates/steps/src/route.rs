//! Where reads go, if there is more than one place.

use std::collections::HashMap;
use std::sync::Arc;

use readmill_record::{Header, RecordRef};

/// Says where each read goes.
pub trait Route: Send + Sync {
    /// A thread's private copy.
    fn fork(&self) -> Box<dyn Route>;

    /// Appends the numbers of the places beside the main output that the read goes to; says whether it goes into the
    /// main output, too.
    fn route(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> bool;
}

/// Kinds of reads that have a name.
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
    /// The class of that name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "unmapped" => Class::Unmapped,
            "discordant" => Class::Discordant,
            "duplicates" => Class::Duplicates,
            _ => return None,
        })
    }

    /// Whether the read is of it.
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

/// All reads to one place.
#[derive(Clone, Copy)]
pub struct Everything;

impl Route for Everything {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(*self)
    }

    fn route(&mut self, _: RecordRef<'_>, places: &mut Vec<usize>) -> bool {
        places.push(0);
        false
    }
}

/// Each read group to a place of its own, in the order of the header; the last place is for reads of none of them.
#[derive(Clone)]
pub struct ByReadGroup {
    places: Arc<HashMap<Vec<u8>, usize>>,
    /// The read group seen last, and its place.
    last: (Vec<u8>, usize),
}

impl ByReadGroup {
    /// The places of the read groups of this header.
    pub fn new(header: &Header) -> Self {
        let ids = header.lines_of(b"RG").filter_map(|line| line.get(b"ID"));
        let places = ids.enumerate().map(|(place, id)| (id.to_vec(), place));
        ByReadGroup { places: Arc::new(places.collect()), last: (Vec::new(), usize::MAX) }
    }
}

impl Route for ByReadGroup {
    fn fork(&self) -> Box<dyn Route> {
        Box::new(self.clone())
    }

    fn route(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> bool {
        let Some(group) = record.read_group() else {
            places.push(self.places.len());
            return false;
        };
        if self.last.0 != group || self.last.1 == usize::MAX {
            let place = self.places.get(group).copied().unwrap_or(self.places.len());
            self.last = (group.to_vec(), place);
        }
        places.push(self.last.1);
        false
    }
}

/// Groups of contigs to places of their own; the last place is for reads without a reference sequence.
#[derive(Clone)]
pub struct ByContigs {
    /// The place of each reference sequence.
    places: Arc<[usize]>,
    groups: usize,
}

impl ByContigs {
    /// Packs contigs, in their order, into groups of at most `most` bases; nothing means the length of the longest
    /// (as elPrep splits). A contig that is longer has a group of its own.
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

    fn route(&mut self, record: RecordRef<'_>, places: &mut Vec<usize>) -> bool {
        let contig = usize::try_from(record.ref_id()).ok();
        places.push(contig.and_then(|id| self.places.get(id).copied()).unwrap_or(self.groups));
        false
    }
}
