//! Options, memory and threads of making an index, and what comes of it.

use std::path::PathBuf;

use readmill_engine::Crew;
use readmill_format::bam::index::{IndexBuilder, IndexFormat, Scheme};
use readmill_format::tabix::Preset;
use readmill_record::{Charge, Error, Header, Ledger, Result};

use crate::console::Console;
use crate::process::limit;
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
pub(super) const MIN_SHIFT: u8 = 14;

impl IndexOptions {
    /// Refuses options that do not fit the kind of file.
    pub(super) fn check(&self, what: &str, kinds: &[IndexFormat]) -> Result<()> {
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

    pub(super) fn is_csi(&self) -> bool {
        self.kind == Some(IndexFormat::Csi) || self.min_shift.is_some()
    }

    /// The scheme of the index of reads under a header: BAI, unless CSI is asked for or needed.
    pub(super) fn scheme(&self, header: &Header) -> Result<Scheme> {
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
pub(super) const INDEX: &str = "the index";

/// Bytes of a chunk that is inflated, with its entries.
const CHUNK: u64 = 4 << 20;

/// Threads, memory and console of making an index.
pub(super) struct Workshop<'a> {
    pub(super) crew: Crew,
    pub(super) ledger: Ledger,
    pub(super) console: &'a Console,
    _shares: [Charge; 3],
}

impl<'a> Workshop<'a> {
    pub(super) fn new(options: &IndexOptions, console: &'a Console) -> Result<Self> {
        let threads = options.threads.max(1);
        limit::check_address_space(options.memory, threads)?;
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
pub(super) struct Made {
    pub(super) suffix: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) records: u64,
}

impl Made {
    /// The bytes of a finished index, paid for by `charge`.
    pub(super) fn of(
        builder: IndexBuilder,
        scheme: Scheme,
        records: u64,
        charge: &mut Charge,
    ) -> Result<Made> {
        let bytes = builder.heap_bytes();
        charge.grow(2 * bytes)?;
        let mut out = Vec::new();
        builder.write_to(&mut out)?;
        Ok(Made { suffix: scheme.kind().suffix(), bytes: out, records })
    }
}
