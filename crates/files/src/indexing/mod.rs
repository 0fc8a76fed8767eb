//! Builds indexes of existing files: BAI, CSI, TBI, CRAI, FAI and GZI.
//!
//! The kind of index depends on the content of a file, not on its name. The flags are in
//! `src/cli/index.rs`. `readmill-align` builds the index of an aligner.

mod bam;
mod content;
mod cram;
mod fasta;
mod index_job;
mod stream;

use std::path::{Path, PathBuf};

use readmill_format::bam::index::IndexFormat;
use readmill_format::tabix::{BcfIndexer, SamIndexer, TextIndexer};
use readmill_process::atomic_file::{AtomicFile, with_suffix};
use readmill_process::console::Console;
use readmill_process::older_indexes::index_names;
use readmill_process::same_file::ensure_output_is_not_input;
use readmill_record::{Error, Result, input_file};

pub use content::{IndexableContent, detect_content};
pub use fasta::{WrittenIndex, faidx, fasta_and_index_paths, write_sequences};
pub use index_job::IndexOptions;

use index_job::{IndexJob, MIN_SHIFT};

pub struct IndexFile {
    pub path: PathBuf,
    pub records: u64,
}

/// Builds the index of the file at `path`, whose kind is `content`. [`faidx`] builds the index of a
/// FASTA file instead. Removes indexes of an older file with the same name.
///
/// # Errors
/// Fails if the file is not sorted, not compressed by bgzip, or damaged, or if the index cannot be
/// written. Then no index file is left.
pub fn make_index_file(
    path: &Path,
    content: &IndexableContent,
    options: &IndexOptions,
    console: &Console,
) -> Result<IndexFile> {
    // The name of the index depends on the header. The usual name is checked first, so that an
    // unwritable directory is reported early.
    let probe =
        options.output.clone().unwrap_or_else(|| with_suffix(path, usual_suffix(content, options)));
    ensure_output_is_not_input(path, &probe)?;
    let probe = AtomicFile::open(&probe)?;
    let workshop = IndexJob::new(options, console)?;
    let file = || input_file::open_input(path).map_err(|e| Error::io("cannot be read", &e).file(path));
    let size = std::fs::metadata(path).ok().map(|meta| meta.len());
    console.begin_stage("indexing", size, true);
    let made = match content {
        IndexableContent::Bam => {
            options.check_index_kind("BAM", &[IndexFormat::Bai, IndexFormat::Csi])?;
            bam::index_bam(file()?, options, &workshop)
        }
        IndexableContent::Cram => {
            options.check_index_kind("CRAM", &[])?;
            cram::index_cram(file()?, options, &workshop)
        }
        IndexableContent::Sam => {
            options.check_index_kind("SAM", &[IndexFormat::Bai, IndexFormat::Csi])?;
            let own = options.clone();
            let indexer = SamIndexer::new(move |header| own.binning_scheme(header), &workshop.ledger);
            stream::index_stream(file()?, Box::new(indexer), options, &workshop)
        }
        IndexableContent::Bcf => {
            options.check_index_kind("BCF", &[IndexFormat::Csi])?;
            let indexer = BcfIndexer::new(options.min_shift.unwrap_or(MIN_SHIFT));
            stream::index_stream(file()?, Box::new(indexer), options, &workshop)
        }
        IndexableContent::Text(preset) => {
            options.check_index_kind(preset.name(), &[IndexFormat::Tbi, IndexFormat::Csi])?;
            let kind = if options.is_csi() { IndexFormat::Csi } else { IndexFormat::Tbi };
            let min_shift = options.min_shift.unwrap_or(MIN_SHIFT);
            let indexer = TextIndexer::new(*preset, kind, min_shift);
            stream::index_stream(file()?, Box::new(indexer), options, &workshop)
        }
        IndexableContent::Fasta => Err(Error::bug("the index of a FASTA is made elsewhere")),
    };
    console.clear_progress();
    let made = made.map_err(|e| e.file(path))?;
    let name = options.output.clone().unwrap_or_else(|| with_suffix(path, made.suffix));
    let mut target = if probe.path() == name {
        probe
    } else {
        drop(probe);
        AtomicFile::open(&name)?
    };
    target.write(&made.bytes)?;
    target.sync()?;
    target.rename()?;
    remove_older_indexes(path, &name, console);
    Ok(IndexFile { path: name, records: made.records })
}

/// Returns the suffix of the usual index. A BAM file with a long contig gets a CSI index instead.
fn usual_suffix(content: &IndexableContent, options: &IndexOptions) -> &'static str {
    match content {
        IndexableContent::Cram => ".crai",
        IndexableContent::Bcf => ".csi",
        _ if options.is_csi() => ".csi",
        IndexableContent::Text(_) => ".tbi",
        _ => ".bai",
    }
}

/// Removes other indexes of the file that are older than the file, because readers may prefer them
/// to the new index. Has no effect if the new index `own` has a custom name, which readers do not
/// look for.
fn remove_older_indexes(path: &Path, own: &Path, console: &Console) {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let Some(written) = changed(path) else { return };
    let mut names = index_names(path);
    names.push(with_suffix(path, ".tbi"));
    if !names.iter().any(|name| name == own) {
        return;
    }
    for stale in names.iter().filter(|name| *name != own) {
        let is_older = changed(stale).is_some_and(|time| time < written);
        if is_older && std::fs::remove_file(stale).is_ok() {
            console.write_note(&format!("removed {}, an index of an older file", stale.display()));
        }
    }
}
