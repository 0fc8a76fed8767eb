//! Completes an index of bwa 0.7: its `.amb`, `.ann` and `.pac` are those of bwa-mem2, which has another transform.

use std::path::{Path, PathBuf};

use readmill_record::{Error, Result};

use super::files::{FILES, SUFFIXES, sequences};
use super::index::{both_strands, write_transform};
use crate::index::{Partial, Stage, check_memory, named, sort_suffixes};

/// The file that [`complete_index`] makes; `None` unless an index of this prefix lacks this file alone, as those of bwa
/// 0.7 do.
pub fn lacking_file(prefix: &Path) -> Option<PathBuf> {
    let [.., transform] = SUFFIXES;
    let file = named(prefix, transform);
    (FILES.missing(prefix) == [file.as_path()]).then_some(file)
}

/// Makes the file that an index of bwa 0.7 lacks of its packed bases, on the calling thread. The other files stay as they
/// are. `memory` is the most bytes that may be used.
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
