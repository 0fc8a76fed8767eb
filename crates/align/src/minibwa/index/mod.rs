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

use readmill_record::Result;

use super::files::SUFFIXES;
use crate::indexing::{self, Stage};
use crate::partial::{self, Partial};
use crate::suffixes;
use sequences::Sequences;

/// The files that [`build_index`] writes before it renames them, for cleaning up if the process is ended.
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
    indexing::check(reference, bases, memory)?;
    let mut files = vec![sequences.write(prefix)?];
    let text = sequences.both_strands();
    drop(sequences);
    watch(Stage::Sort);
    let rows = suffixes::sort(&text)?;
    watch(Stage::Write);
    files.push(transform::write(prefix, &text, &rows)?);
    Partial::keep_all(files, watch)
}
