//! Adds the one file that a bwa 0.7 index lacks (`--complete-index`).
//!
//! bwa 0.7 and bwa-mem2 share the `.amb`, `.ann` and `.pac` files, but each stores the transform in
//! a file of its own format.

use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::files::{FILE_SUFFIXES, FILES, read_sequences};
use super::index::{unpack_both_strands, write_transform};
use crate::index::{IndexStage, PartialIndexFile, check_build_memory, sort_suffixes, with_suffix};

/// Returns the path of the missing transform, which [`complete_index`] can build. `None` unless it
/// is the only missing file, as in a bwa 0.7 index.
pub fn missing_transform(prefix: &Path) -> Option<PathBuf> {
    let [.., transform] = FILE_SUFFIXES;
    let file = with_suffix(prefix, transform);
    (FILES.missing_files(prefix) == [file.as_path()]).then_some(file)
}

/// Builds the missing transform from the packed bases, on the calling thread.
///
/// The other files are not changed. `memory` is the memory limit in bytes.
pub fn complete_index(
    prefix: &Path,
    memory: Option<u64>,
    report: &mut dyn FnMut(IndexStage),
) -> Result<()> {
    report(IndexStage::Read);
    let (_, bases) = read_sequences(prefix)?;
    check_build_memory(prefix, bases, memory)?;
    let file = with_suffix(prefix, ".pac");
    let packed =
        std::fs::read(&file).map_err(|error| Error::io("reading failed", &error).file(&file))?;
    let text = unpack_both_strands(&packed, bases as usize);
    drop(packed);
    report(IndexStage::Sort);
    let rows = sort_suffixes(&text)?;
    report(IndexStage::Write);
    PartialIndexFile::rename_all_to_final(vec![write_transform(prefix, &text, &rows)?], report)
}
