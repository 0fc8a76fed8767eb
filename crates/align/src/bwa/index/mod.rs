//! Makes the index that bwa-mem2 makes, byte for byte.
//!
//! - `.pac`: the bases, four a byte, the first in the highest bits; what is not A, C, G or T is drawn at random, as
//!   bwa draws it (`drand48` from seed 11). A byte 0 if the last one is full; how many bases the last one has.
//! - `.ann`: names, comments, places and lengths of the sequences. `.amb`: what was drawn.
//! - `.bwt.2bit.64`: the Burrows–Wheeler transform of the bases and their reverse complement, as occurrences every 64
//!   rows, and every eighth entry of the suffix array (bwa-mem2 2.2.1, `FMI_search::build_fm_index`).
//! - `.0123`: bases and reverse complement, one a byte; only if asked for, as bwa-mem2 wants it and this crate does not.

mod packed;
mod transform;

use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::files::SUFFIXES;
use crate::partial::{self, Partial};
use crate::suffixes;
use packed::Packed;

/// How an index is made.
#[derive(Clone, Copy, Debug, Default)]
pub struct IndexOptions {
    /// Most bytes that may be used; an index that needs more is refused before it is begun.
    pub memory: Option<u64>,
    /// Writes `.0123` too, which bwa-mem2 needs; it takes two bytes a base of disk.
    pub unpacked: bool,
}

/// What an index is being made of, for whoever watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The reference is read.
    Read,
    /// Suffixes are sorted, which takes longest; no word of how far it is can be had.
    Sort,
    /// The transform is written.
    Write,
}

/// Bytes of memory that an index of so many bases takes to make: a base and its complement one byte each, an entry of
/// the suffix array of 4 bytes, or 8 from 2^30 bases on, for either; the packed bases; and room for libsais.
pub fn index_memory(bases: u64) -> u64 {
    let entry = if suffixes::is_long(bases) { 8 } else { 4 };
    2 * bases * (1 + entry) + bases / 4 + (16 << 20)
}

/// The files that [`build_index`] writes before they get their names: for whoever ends the process meanwhile.
pub fn unfinished(prefix: &Path) -> Vec<PathBuf> {
    partial::meanwhile(prefix, &[&SUFFIXES[..], &[".0123"]].concat())
}

/// Makes the index of `reference`, a FASTA file that may be gzipped, under the name `prefix`, on the calling thread.
/// The files get their names when all of them are whole.
pub fn build_index(
    reference: &Path,
    prefix: &Path,
    options: IndexOptions,
    watch: &mut dyn FnMut(Stage),
) -> Result<()> {
    watch(Stage::Read);
    let packed = Packed::read(reference)?;
    let bases = packed.bases();
    if bases == 0 {
        return Err(Error::input("it has no bases").file(reference));
    }
    let needed = index_memory(bases);
    if options.memory.is_some_and(|memory| memory < needed) {
        let needed = needed.div_ceil(1 << 20);
        return Err(Error::usage(format!(
            "an index of its {bases} bases takes {needed}M of memory to make"
        ))
        .file(reference)
        .hint("allow that much with -m"));
    }
    let mut files = packed.write(prefix)?;
    let text = packed.both_strands();
    drop(packed);
    if options.unpacked {
        files.push(Partial::whole(prefix, ".0123", &text)?);
    }
    watch(Stage::Sort);
    let rows = suffixes::sort(&text)?;
    watch(Stage::Write);
    files.push(transform::write(prefix, &text, &rows)?);
    files.into_iter().try_for_each(Partial::keep)
}
