//! Options and resources for building an index, and its result.

use std::path::PathBuf;

use readmill_engine::Crew;
use readmill_format::bam::index::{IndexBuilder, IndexFormat, IndexScheme};
use readmill_format::tabix::TextPreset;
use readmill_process::console::Console;
use readmill_process::limit::{self, PROGRAM_BYTES};
use readmill_record::{Charge, Error, Header, Ledger, Result};

/// How to build an index. The fields are the flags of `readmill index`.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    pub kind: Option<IndexFormat>,
    /// The base-2 logarithm of the number of bases in the smallest bin of a CSI index (`samtools
    /// index -m`).
    pub min_shift: Option<u8>,
    pub output: Option<PathBuf>,
    /// The text format, if it cannot be detected from the content.
    pub preset: Option<TextPreset>,
    pub threads: usize,
    pub memory: u64,
    /// Accept a BGZF file without its EOF block, or a CRAM file without its EOF container.
    pub allow_missing_eof: bool,
}

pub(super) const MIN_SHIFT: u8 = 14;

impl IndexOptions {
    /// Returns an error if the options request an index format that files of kind `what` do not
    /// have.
    pub(super) fn check_index_kind(&self, what: &str, kinds: &[IndexFormat]) -> Result<()> {
        match self.kind {
            Some(kind) if !kinds.contains(&kind) => {
                let suffix = kind.suffix().trim_start_matches('.').to_uppercase();
                Err(Error::usage(format!("a {suffix} index cannot be made for {what}"))
                    .hint("omit -b and -c: each file then gets the usual type of index"))
            }
            _ if self.min_shift.is_some() && !kinds.contains(&IndexFormat::Csi) => Err(Error::usage(
                format!("-m N applies only to CSI indexes, which cannot be made for {what}"),
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn is_csi(&self) -> bool {
        self.kind == Some(IndexFormat::Csi) || self.min_shift.is_some()
    }

    /// Returns the binning scheme for reads with `header`: BAI, unless CSI was requested or a
    /// contig is too long for BAI.
    pub(super) fn binning_scheme(&self, header: &Header) -> Result<IndexScheme> {
        let longest = header.references().iter().map(|contig| u64::from(contig.length)).max();
        match self.kind {
            _ if self.is_csi() => {
                IndexScheme::csi_for_length(self.min_shift.unwrap_or(MIN_SHIFT), 0, longest.unwrap_or(0))
            }
            Some(_) => IndexScheme::bai(header),
            None => Ok(IndexScheme::for_header(header)),
        }
    }
}

const BATCHES: &str = "chunks in progress";
pub(super) const INDEX: &str = "the index";

const INFLATED_CHUNK_BYTES: u64 = 4 << 20;

/// Threads, memory and console of an indexing command. The shares of the program and of chunks in
/// flight are already charged.
pub(super) struct IndexJob<'a> {
    pub(super) crew: Crew,
    pub(super) ledger: Ledger,
    pub(super) console: &'a Console,
    _shares: [Charge; 3],
}

impl<'a> IndexJob<'a> {
    pub(super) fn new(options: &IndexOptions, console: &'a Console) -> Result<Self> {
        let threads = options.threads.max(1);
        limit::check_address_space(options.memory, threads)?;
        let crew = Crew { threads, in_flight: (2 * threads).min(threads + 4) };
        let ledger = Ledger::with_capacity(options.memory);
        let shares = [
            ledger.charge("program", PROGRAM_BYTES)?,
            ledger.charge("threads", threads as u64 * (1 << 20))?,
            ledger.charge(BATCHES, crew.in_flight as u64 * INFLATED_CHUNK_BYTES)?,
        ];
        Ok(IndexJob { crew, ledger, console, _shares: shares })
    }
}

pub(super) struct FinishedIndex {
    pub(super) suffix: &'static str,
    pub(super) bytes: Vec<u8>,
    pub(super) records: u64,
}

impl FinishedIndex {
    /// Writes a finished index to memory, and charges its size to `charge`.
    pub(super) fn from_builder(
        builder: IndexBuilder,
        scheme: IndexScheme,
        records: u64,
        charge: &mut Charge,
    ) -> Result<FinishedIndex> {
        let bytes = builder.heap_bytes();
        charge.grow(2 * bytes)?;
        let mut out = Vec::new();
        builder.write_to(&mut out)?;
        Ok(FinishedIndex { suffix: scheme.kind().suffix(), bytes: out, records })
    }
}
