//! The regions to read, and the file that they are read of.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use readmill_format::region::{Part, Region};
use readmill_record::{Charge, Error, Result};

/// The regions to read.
#[derive(Debug)]
pub struct Regions {
    pub(super) list: Vec<Region>,
    pub(super) each_once: bool,
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

    /// Whether there are several regions in the order of the file, so that one may begin in blocks that were read for the one
    /// before.
    pub(super) fn go_back(&self) -> bool {
        !self.each_once && self.list.len() > 1 && self.list.is_sorted()
    }

    /// Whether they are the whole file.
    pub fn are_all(&self) -> bool {
        self.list.contains(&Region::All)
    }

    /// The parts of contigs.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.list.iter().filter_map(|region| match region {
            Region::Part(part) => Some(part),
            Region::All | Region::Unplaced => None,
        })
    }

    /// Whether reads without a contig are among them.
    pub(super) fn any_unplaced(&self) -> bool {
        self.list.contains(&Region::Unplaced)
    }

    /// How much `bytes` says of all regions, from some of them.
    pub(super) fn estimate(&self, bytes: impl Fn(&Region) -> u64) -> u64 {
        let some = self.list.len().min(64);
        let sum = self.list[..some].iter().map(bytes).fold(0, u64::saturating_add);
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

/// The error of an index that names an offset at which no block can be read.
pub(super) fn misplaced(offset: u64) -> Error {
    let what = "no block can be read where the index says: it is the index of another file, or the file is damaged";
    Error::input(what)
        .offset(offset)
        .hint("make the index anew: readmill index FILE; if that fails, get the file again")
}

/// The error of an index that does not fit its file, at an offset of that.
pub(super) fn foreign(offset: u64) -> Error {
    let what = "the index does not fit the file: there is no record of the contig where it says";
    Error::input(what).offset(offset).hint("make the index anew: readmill index FILE")
}
