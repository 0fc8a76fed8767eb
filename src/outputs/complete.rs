//! An output that is complete under its temporary name, and its renaming.

use std::path::{Path, PathBuf};

use readmill_format::bam::index::{IndexBuilder, IndexFormat, Scheme};
use readmill_record::Result;

use super::files::OutputFiles;
use crate::outputs::atomic_file::{AtomicFile, with_suffix};

/// Every name under which readers look for an index of `bam`.
pub fn index_names(bam: &Path) -> Vec<PathBuf> {
    let mut names = vec![with_suffix(bam, ".bai"), with_suffix(bam, ".csi"), with_suffix(bam, ".crai")];
    if bam.extension().is_some_and(|extension| extension == "bam") {
        names.extend([bam.with_extension("bai"), bam.with_extension("csi")]);
    }
    names
}

/// An output that is complete but for its name.
pub struct CompleteOutput {
    pub(super) files: OutputFiles,
    pub(super) index: Option<(PathBuf, AtomicFile)>,
    pub(super) bytes: u64,
}

impl CompleteOutput {
    /// Returns the path as the user gave it.
    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// Returns the parts and their bytes; empty where there is one file.
    pub fn parts(&self) -> Vec<(PathBuf, u64)> {
        self.files.parts()
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Renames the files and the index, and removes older indexes. Returns notes about removed files, to be logged once
    /// no signal is [held off](crate::signal::hold_off): the reader of the log may block.
    pub fn rename(self) -> Result<Vec<String>> {
        let CompleteOutput { mut files, index, .. } = self;
        let mut notes = Vec::new();
        let Some(name) = files.name() else { return Ok(notes) };
        let own = index.as_ref().map(|(path, _)| path);
        let beside_link = index_names(files.path()).into_iter();
        for stale in beside_link.chain(index_names(&name)) {
            let replaced = std::path::absolute(&stale).ok().as_ref() == own;
            if Some(&stale) != own && std::fs::remove_file(&stale).is_ok() && !replaced {
                notes.push(format!("removed {}, the index of an older file", stale.display()));
            }
        }
        if let Some(older) = index.as_ref().and_then(|(_, index)| index.name()) {
            let _ = std::fs::remove_file(older); // no new file beside an old index, not for a moment
        }
        notes.extend(files.rename()?);
        if let Some((_, mut index)) = index {
            index.rename()?;
        }
        Ok(notes)
    }
}

/// Writes the index of `bam` under its temporary name; also returns its path.
pub fn write_index(builder: IndexBuilder, scheme: Scheme, bam: &Path) -> Result<(PathBuf, AtomicFile)> {
    let suffix = match scheme.kind() {
        IndexFormat::Bai => ".bai",
        IndexFormat::Csi => ".csi",
    };
    let path = with_suffix(bam, suffix);
    let mut target = AtomicFile::open(&path)?;
    let mut bytes = Vec::new();
    builder.write_to(&mut bytes)?;
    target.write(&bytes)?;
    target.sync()?;
    Ok((path, target))
}
