//! The memory and the stages of making an index, for any aligner.

use std::path::Path;

use readmill_record::{Error, Result};

use crate::suffixes;

/// A stage of making an index, for progress reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The reference is read.
    Read,
    /// Suffixes are sorted, which takes longest; no word of how far it is can be had.
    Sort,
    /// The transform is written.
    Write,
    /// All files are complete and on disk, and get their names.
    Name,
}

/// Bytes of memory that an index of so many bases takes to make: a base and its complement one byte each, an entry of
/// the suffix array of 4 bytes, or 8 from 2^30 bases on, for either; the packed bases; and room for libsais.
pub fn index_memory(bases: u64) -> u64 {
    let entry = if suffixes::is_long(bases) { 8 } else { 4 };
    2 * bases * (1 + entry) + bases / 4 + (16 << 20)
}

/// Refuses a reference without bases, and one that takes more than `memory` bytes.
pub(crate) fn check(reference: &Path, bases: u64, memory: Option<u64>) -> Result<()> {
    if bases == 0 {
        return Err(Error::input("it has no bases").file(reference));
    }
    let needed = index_memory(bases);
    if memory.is_some_and(|memory| memory < needed) {
        let needed = needed.div_ceil(1 << 20);
        let what = format!("an index of its {bases} bases takes {needed}M of memory to make");
        return Err(Error::usage(what).file(reference).hint("allow that much with -m"));
    }
    Ok(())
}
