//! Adds the one file that an index of bwa 0.7 lacks (`--complete-index`).
//!
//! bwa 0.7 and bwa-mem2 have the same `.amb`, `.ann` and `.pac` files, but store the transform in
//! different files.

use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::files::{FILES, SUFFIXES, sequences};
use super::index::{both_strands, write_transform};
use crate::index::{Partial, Stage, check_memory, named, sort_suffixes};

/// Returns the path of the missing transform, which [`complete_index`] can build. `None` unless it
/// is the only file that is missing, as in an index of bwa 0.7.
pub fn lacking_file(prefix: &Path) -> Option<PathBuf> {
    let [.., transform] = SUFFIXES;
    let file = named(prefix, transform);
    (FILES.missing(prefix) == [file.as_path()]).then_some(file)
}

/// Builds the missing transform from the packed bases, on the calling thread.
///
/// The other files are not changed. `memory` is the maximum number of bytes to use.
pub fn complete_index(prefix: &Path, memory: Option<u64>, report: &mut dyn FnMut(Stage)) -> Result<()> {
    report(Stage::Read);
    let (_, bases) = sequences(prefix)?;
    check_memory(prefix, bases, memory)?;
    let file = named(prefix, ".pac");
    let packed = std::fs::read(&file).map_err(|error| Error::io("reading it", &error).file(&file))?;
    let text = both_strands(&packed, bases as usize);
    drop(packed);
    report(Stage::Sort);
    let rows = sort_suffixes(&text)?;
    report(Stage::Write);
    Partial::keep_all(vec![write_transform(prefix, &text, &rows)?], report)
}
