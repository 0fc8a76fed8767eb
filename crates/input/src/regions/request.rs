//! The regions to read, and the indexed file to read them from.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use readmill_format::region::{ContigPart, Region};
use readmill_record::{Charge, Error, Result};

/// The regions to read: one after another ([`in_turn`](Self::in_turn)), or as one set of reads in
/// file order ([`from_union`](Self::from_union)).
#[derive(Debug)]
pub struct RequestedRegions {
    pub(super) list: Vec<Region>,
    pub(super) each_once: bool,
    _charge: Charge,
}

impl RequestedRegions {
    /// Returns regions that are read one after another. A read that overlaps two of them is
    /// returned twice.
    ///
    /// # Errors
    /// There are several regions, and one of them is the whole file.
    pub fn in_turn(list: Vec<Region>, charge: Charge) -> Result<Self> {
        if list.len() > 1 && list.contains(&Region::All) {
            return Err(Error::usage(
                "the region . means the whole file, but other regions are also given",
            )
            .hint("give only the region ., or add -M to read each record once"));
        }
        Ok(RequestedRegions { list, each_once: false, _charge: charge })
    }

    /// Returns the union of regions: each read that overlaps any of them is returned once, in file
    /// order. Overlapping regions are joined.
    pub fn from_union(mut list: Vec<Region>, charge: Charge) -> Self {
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
        RequestedRegions { list, each_once: true, _charge: charge }
    }

    /// Returns whether there are several regions, which are in file order and read one after
    /// another. Then a region may start in blocks that were read for the previous one, so these are
    /// kept.
    pub(super) fn may_share_blocks(&self) -> bool {
        !self.each_once && self.list.len() > 1 && self.list.is_sorted()
    }

    pub fn is_whole_file(&self) -> bool {
        self.list.contains(&Region::All)
    }

    pub(super) fn contig_parts(&self) -> impl Iterator<Item = &ContigPart> {
        self.list.iter().filter_map(|region| match region {
            Region::Part(part) => Some(part),
            Region::All | Region::Unplaced => None,
        })
    }

    pub(super) fn has_unplaced(&self) -> bool {
        self.list.contains(&Region::Unplaced)
    }

    /// Estimates a sum over all regions from the first 64, because there may be very many.
    pub(super) fn estimate_sum(&self, bytes: impl Fn(&Region) -> u64) -> u64 {
        let some = self.list.len().min(64);
        let sum = self.list[..some].iter().map(bytes).fold(0, u64::saturating_add);
        sum.saturating_mul(self.list.len() as u64) / some.max(1) as u64
    }
}

pub struct IndexedInput<'a> {
    pub file: Arc<File>,
    pub index: &'a Path,
}

/// Returns the error for an index offset at which there is no block.
pub(super) fn misplaced_offset_error(offset: u64) -> Error {
    let what = "the index belongs to another file, or the file is damaged: no block can be read";
    Error::input(what)
        .offset(offset)
        .hint("rebuild the index: readmill index FILE; if that fails, download or create the file again")
}

/// Returns the error for an index that belongs to a different file, with the file offset at which
/// this was found.
pub(super) fn foreign_index_error(offset: u64) -> Error {
    let what = "the index does not match the file: there is no record of the contig at this place";
    Error::input(what).offset(offset).hint("rebuild the index: readmill index FILE")
}
