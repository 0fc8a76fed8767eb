//! Makes the index that `minibwa index` makes, byte for byte.
//!
//! minibwa's own C code for it is left out: it says nothing of a reference that is cut, or of a disk that is full, and
//! brings a libsais that clashes with the one that is linked for bwa mem's index.
//!
//! - `.l2b`: names, comments and lengths of the sequences; where letters are no bases, and where they are lower case;
//!   the bases, 32 in a word, where what is no base is drawn at random, as minibwa draws it.
//! - `.mbw`: the Burrows–Wheeler transform of the bases and their reverse complement in blocks of 128 with counts, and
//!   every sixteenth entry of the suffix array.

mod sequences;
mod transform;

use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::files::SUFFIXES;
use crate::partial::{self, Partial};
use crate::suffixes;
use sequences::Sequences;

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
    partial::meanwhile(prefix, &SUFFIXES)
}

/// Makes the index of `reference`, a FASTA file that may be gzipped, under the name `prefix`, on the calling thread. More
/// memory than `memory` bytes is refused before it is begun. The files get their names when both are whole.
pub fn build_index(
    reference: &Path,
    prefix: &Path,
    memory: Option<u64>,
    watch: &mut dyn FnMut(Stage),
) -> Result<()> {
    watch(Stage::Read);
    let sequences = Sequences::read(reference)?;
    let bases = sequences.bases();
    if bases == 0 {
        return Err(Error::input("it has no bases").file(reference));
    }
    let needed = index_memory(bases);
    if memory.is_some_and(|memory| memory < needed) {
        let needed = needed.div_ceil(1 << 20);
        let what = format!("an index of its {bases} bases takes {needed}M of memory to make");
        return Err(Error::usage(what).file(reference).hint("allow that much with -m"));
    }
    let mut files = vec![sequences.write(prefix)?];
    let text = sequences.both_strands();
    drop(sequences);
    watch(Stage::Sort);
    let rows = suffixes::sort(&text)?;
    watch(Stage::Write);
    files.push(transform::write(prefix, &text, &rows)?);
    files.into_iter().try_for_each(Partial::keep)
}
