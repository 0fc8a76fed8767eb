//! Reads only some regions of an indexed file, as a source like any other: what it claims are the records of the
//! regions, so nothing behind it knows of regions.
//!
//! | file | contents |
//! |---|---|
//! | `bgzf` | BAM, and SAM in BGZF, by BAI or CSI |
//! | `record` | the places of records and lines |
//! | `cram` | CRAM, by CRAI |

mod bgzf;
mod cram;
mod record;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use readmill_format::bgzf::Chunk;
use readmill_format::region::{Part, Region};
use readmill_record::{Charge, Error, Limit, RecordRef, Result};

use crate::Claim;
pub use bgzf::BgzfRegions;
pub use cram::CramRegions;

/// The regions to read.
#[derive(Debug)]
pub struct Regions {
    list: Vec<Region>,
    each_once: bool,
    _charge: Charge,
}

impl Regions {
    /// These regions, one after the other: a read that overlaps two of them comes twice.
    ///
    /// # Errors
    /// Some of several regions is the whole file.
    pub fn in_turn(list: Vec<Region>, charge: Charge) -> Result<Self> {
        if list.len() > 1 && list.contains(&Region::All) {
            return Err(Error::usage("the region . is the whole file, and others are given, too")
                .hint("give . alone, or add -M to read each record once"));
        }
        Ok(Regions { list, each_once: false, _charge: charge })
    }

    /// The reads of any of these regions, each once, in the order of the file.
    pub fn united(mut list: Vec<Region>, charge: Charge) -> Self {
        list.sort_unstable();
        if list.first() == Some(&Region::All) {
            list.truncate(1);
        }
        list.dedup_by(|next, region| match (next, region) {
            (Region::Part(next), Region::Part(part)) => {
                let joins = next.contig == part.contig && next.start <= part.end;
                part.end = if joins { part.end.max(next.end) } else { part.end };
                joins
            }
            (next, region) => next == region,
        });
        Regions { list, each_once: true, _charge: charge }
    }

    /// Whether they are the whole file.
    pub fn are_all(&self) -> bool {
        self.list.contains(&Region::All)
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.list.iter().filter_map(|region| match region {
            Region::Part(part) => Some(part),
            Region::All | Region::Unplaced => None,
        })
    }

    fn any_unplaced(&self) -> bool {
        self.list.contains(&Region::Unplaced)
    }

    /// How much `bytes` says of all regions, from some of them.
    fn estimate(&self, bytes: impl Fn(&Region) -> u64) -> u64 {
        let some = self.list.len().min(64);
        let sum: u64 = self.list[..some].iter().map(bytes).sum();
        sum.saturating_mul(self.list.len() as u64) / some.max(1) as u64
    }
}

/// An indexed file.
pub struct IndexedInput<'a> {
    /// The file.
    pub file: Arc<File>,
    /// Its index.
    pub index: &'a Path,
}

/// Reads regions.
pub enum RegionReader {
    /// Of BAM, and of SAM in BGZF.
    Bgzf(Box<BgzfRegions>),
    /// Of CRAM.
    Cram(Box<CramRegions>),
}

impl RegionReader {
    /// Takes the next records; `None` behind the last region.
    pub fn claim(&mut self, reuse: Chunk) -> Result<Option<Claim>> {
        match self {
            RegionReader::Bgzf(reader) => reader.claim(reuse),
            RegionReader::Cram(reader) => reader.claim(reuse.compressed),
        }
    }

    /// About how many bytes of the file are read.
    pub fn bytes(&self) -> u64 {
        match self {
            RegionReader::Bgzf(reader) => reader.expected_bytes(),
            RegionReader::Cram(reader) => reader.expected_bytes(),
        }
    }

    /// Refuses containers of CRAM that take more than `most`.
    pub fn limit_containers(&mut self, most: Limit) {
        if let RegionReader::Cram(reader) = self {
            reader.limit(most);
        }
    }
}

/// The reads of a container that are wanted.
#[derive(Debug)]
pub struct Selection {
    /// In order, and separate.
    parts: Vec<Part>,
    unplaced: bool,
    n_ref: i32,
}

impl Selection {
    /// Whether a record is wanted. One that is damaged is, so that whoever checks it finds that.
    pub fn holds(&self, record: &[u8]) -> bool {
        if RecordRef::check(record, self.n_ref).is_err() {
            return true;
        }
        let record = RecordRef::new(record);
        let Ok(contig) = u32::try_from(record.ref_id()) else { return self.unplaced };
        let pos = i64::from(record.pos());
        let next = self.parts.partition_point(|part| (part.contig, part.end) <= (contig, pos));
        let next = self.parts.get(next).filter(|part| part.contig == contig);
        next.is_some_and(|part| part.overlaps(pos, record.end()))
    }
}

/// The error of an index that does not fit its file, at an offset of that.
fn foreign(offset: u64) -> Error {
    let what = "the index does not fit the file: there is no record of the contig where it says";
    Error::input(what).offset(offset).hint("make the index anew: readmill index FILE")
}
