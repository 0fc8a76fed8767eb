//! Indexes of files that exist: BAI, CSI, TBI, CRAI, and those of FASTA.
//!
//! The content of a file decides which index it gets, never its name. `src/cli/index.rs` has the flags; the aligner's index
//! is made by `readmill-align`.

mod bam;
mod content;
mod cram;
mod fasta;
mod stream;

use std::fs::File;
use std::path::{Path, PathBuf};

use readmill_engine::Crew;
use readmill_format::bam::index::{IndexBuilder, IndexFormat, Scheme};
use readmill_format::tabix::{BcfIndexer, Preset, SamIndexer, TextIndexer};
use readmill_record::{Charge, Error, Header, Ledger, Result};

pub use content::{Content, content};
pub use fasta::{faidx, sequences};

use crate::console::Console;
use crate::outputs::atomic_file::{AtomicFile, check_distinct, with_suffix};
use crate::outputs::index_names;
use crate::run::memory::PROGRAM;

/// Options of making an index.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// The kind of index; `None` for the usual one of the file.
    pub kind: Option<IndexFormat>,
    /// log2 of the bases in the smallest bin of a CSI.
    pub min_shift: Option<u8>,
    /// The index file; `None` for the usual name.
    pub output: Option<PathBuf>,
    /// The kind of text, where the content does not tell it.
    pub preset: Option<Preset>,
    /// Threads in all.
    pub threads: usize,
    /// Memory of the process.
    pub memory: u64,
    /// Accept a file without its end-of-file marker.
    pub allow_missing_eof: bool,
}

/// log2 of the bases in the smallest bin, where it is not given.
const MIN_SHIFT: u8 = 14;

impl IndexOptions {
    /// Refuses options that do not fit the kind of file.
    fn check(&self, what: &str, kinds: &[IndexFormat]) -> Result<()> {
        match self.kind {
            Some(kind) if !kinds.contains(&kind) => {
                let suffix = kind.suffix().trim_start_matches('.').to_uppercase();
                Err(Error::usage(format!("{what} has no {suffix} index"))
                    .hint("leave the kind of index out: each file gets the usual one"))
            }
            _ if self.min_shift.is_some() && !kinds.contains(&IndexFormat::Csi) => {
                Err(Error::usage(format!("-m N is for CSI indexes, which {what} does not have")))
            }
            _ => Ok(()),
        }
    }

    fn is_csi(&self) -> bool {
        self.kind == Some(IndexFormat::Csi) || self.min_shift.is_some()
    }

    /// The scheme of the index of reads under a header: BAI, unless CSI is asked for or needed.
    fn scheme(&self, header: &Header) -> Result<Scheme> {
        let longest = header.references().iter().map(|contig| u64::from(contig.length)).max();
        match self.kind {
            _ if self.is_csi() => {
                Scheme::csi_of(self.min_shift.unwrap_or(MIN_SHIFT), 0, longest.unwrap_or(0))
            }
            Some(_) => Scheme::bai(header),
            None => Ok(Scheme::for_header(header)),
        }
    }
}

/// What an index takes while it is made, for the ledger.
const BATCHES: &str = "chunks under way";
const INDEX: &str = "the index";

/// Bytes of a chunk that is inflated, with its entries.
const CHUNK: u64 = 4 << 20;

/// Threads, memory and console of making an index.
struct Workshop<'a> {
    crew: Crew,
    ledger: Ledger,
    console: &'a Console,
    _shares: [Charge; 3],
}

impl<'a> Workshop<'a> {
    fn new(options: &IndexOptions, console: &'a Console) -> Result<Self> {
        let threads = options.threads.max(1);
        let crew = Crew { threads, in_flight: (2 * threads).min(threads + 4) };
        let ledger = Ledger::of(options.memory);
        let shares = [
            ledger.charge("program", PROGRAM)?,
            ledger.charge("threads", threads as u64 * (1 << 20))?,
            ledger.charge(BATCHES, crew.in_flight as u64 * CHUNK)?,
        ];
        Ok(Workshop { crew, ledger, console, _shares: shares })
    }
}

/// The bytes of an index file, and what is in it.
struct Made {
    suffix: &'static str,
    bytes: Vec<u8>,
    records: u64,
}

impl Made {
    /// The bytes of a finished index, paid for by `charge`.
    fn of(builder: IndexBuilder, scheme: Scheme, records: u64, charge: &mut Charge) -> Result<Made> {
        let bytes = builder.heap_bytes();
        charge.grow(2 * bytes)?;
        let mut out = Vec::new();
        builder.write_to(&mut out)?;
        Ok(Made { suffix: scheme.kind().suffix(), bytes: out, records })
    }
}

/// An index file that was written.
pub struct IndexFile {
    /// Its name.
    pub path: PathBuf,
    /// Number of records it was made of.
    pub records: u64,
}

/// Makes the index of the file at `path`, whose content is `content`; that of a FASTA is made by [`faidx`].
///
/// # Errors
/// The file cannot be indexed: it is not sorted, not compressed by bgzip, or damaged; or the index cannot be written.
/// Then no file is left.
pub fn index(
    path: &Path,
    content: &Content,
    options: &IndexOptions,
    console: &Console,
) -> Result<IndexFile> {
    // The name of the index is known once the header is read. So that an error comes early, its directory is tried here.
    let probe =
        options.output.clone().unwrap_or_else(|| with_suffix(path, usual_suffix(content, options)));
    check_distinct(path, &probe)?;
    let probe = AtomicFile::open(&probe)?;
    let workshop = Workshop::new(options, console)?;
    let file = || File::open(path).map_err(|e| Error::io("it cannot be read", &e).file(path));
    let size = std::fs::metadata(path).ok().map(|meta| meta.len());
    console.stage("indexing", size, true);
    let made = match content {
        Content::Bam => {
            options.check("BAM", &[IndexFormat::Bai, IndexFormat::Csi])?;
            bam::make(file()?, options, &workshop)
        }
        Content::Cram => {
            options.check("CRAM", &[])?;
            cram::make(file()?, options, &workshop)
        }
        Content::Sam => {
            options.check("SAM", &[IndexFormat::Bai, IndexFormat::Csi])?;
            let own = options.clone();
            let indexer = SamIndexer::new(move |header| own.scheme(header));
            stream::make(file()?, Box::new(indexer), options, &workshop)
        }
        Content::Bcf => {
            options.check("BCF", &[IndexFormat::Csi])?;
            let indexer = BcfIndexer::new(options.min_shift.unwrap_or(MIN_SHIFT));
            stream::make(file()?, Box::new(indexer), options, &workshop)
        }
        Content::Text(preset) => {
            options.check(preset.name(), &[IndexFormat::Tbi, IndexFormat::Csi])?;
            let kind = if options.is_csi() { IndexFormat::Csi } else { IndexFormat::Tbi };
            let min_shift = options.min_shift.unwrap_or(MIN_SHIFT);
            let indexer = TextIndexer::new(*preset, kind, min_shift);
            stream::make(file()?, Box::new(indexer), options, &workshop)
        }
        Content::Fasta => Err(Error::bug("the index of a FASTA is made elsewhere")),
    };
    console.done();
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
    remove_stale(path, &name, console);
    target.rename()?;
    Ok(IndexFile { path: name, records: made.records })
}

/// The end of the name of the usual index; a BAM file with a long contig gets another one.
fn usual_suffix(content: &Content, options: &IndexOptions) -> &'static str {
    match content {
        Content::Cram => ".crai",
        Content::Bcf => ".csi",
        _ if options.is_csi() => ".csi",
        Content::Text(_) => ".tbi",
        _ => ".bai",
    }
}

/// Removes indexes of an older file with the same name: readers may prefer them to the new one.
fn remove_stale(path: &Path, own: &Path, console: &Console) {
    let changed = |path: &Path| std::fs::metadata(path).and_then(|meta| meta.modified()).ok();
    let Some(written) = changed(path) else { return };
    let names = index_names(path).into_iter().chain([with_suffix(path, ".tbi")]);
    for stale in names.filter(|name| name != own) {
        let is_older = changed(&stale).is_some_and(|time| time < written);
        if is_older && std::fs::remove_file(&stale).is_ok() {
            console.note(&format!("removed {}, the index of an older file", stale.display()));
        }
    }
}
