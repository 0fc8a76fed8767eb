//! Removes the indexes of a file that is replaced, because readers would use them with the new file.

use std::path::{Path, PathBuf};

use crate::atomic_file::with_suffix;

/// Returns every name under which readers look for an index of `bam`.
pub fn index_names(bam: &Path) -> Vec<PathBuf> {
    let mut names = vec![with_suffix(bam, ".bai"), with_suffix(bam, ".csi"), with_suffix(bam, ".crai")];
    if bam.extension().is_some_and(|extension| extension == "bam") {
        names.extend([bam.with_extension("bai"), bam.with_extension("csi")]);
    }
    names
}

/// Removes the indexes of the file that an output is about to replace, except `own`. `name` is the final
/// path of the output, and `given` is the path that the user gave, which may be a link. Returns the
/// removed files, and a note for each one that no new index replaces.
pub fn remove_indexes(given: &Path, name: &Path, own: Option<&Path>) -> (Vec<PathBuf>, Vec<String>) {
    let (mut removed, mut notes) = (Vec::new(), Vec::new());
    for stale in index_names(given).into_iter().chain(index_names(name)) {
        let replaced = own.is_some_and(|own| std::path::absolute(&stale).is_ok_and(|it| it == own));
        if Some(stale.as_path()) != own && std::fs::remove_file(&stale).is_ok() {
            if !replaced {
                notes.push(format!("removed {}, an index of an older file", stale.display()));
            }
            removed.push(stale);
        }
    }
    (removed, notes)
}
