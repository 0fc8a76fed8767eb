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

use readmill_record::Result;

use super::files::SUFFIXES;
use crate::indexing::{self, Stage};
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

/// The files that [`build_index`] writes before it renames them, for cleaning up if the process is ended.
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
    indexing::check(reference, bases, options.memory)?;
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
    Partial::keep_all(files, watch)
}
