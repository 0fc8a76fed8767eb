//! The properties of the output file that a format may use: what the user requested, and what kind
//! of file it is.

use readmill_cram::Cache;
use readmill_format::bam::index::IndexFormat;
use readmill_format::bgzf::{Codec, DEFAULT_LEVEL};
use readmill_format::reference::LazyReference;
use readmill_record::{Header, Ledger};

/// The parts of an output that are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// The header and the records.
    #[default]
    All,
    /// SAM text without the header. Other formats keep their header.
    Records,
    /// Only the header.
    Header,
}

/// The index to write, as requested by `--write-index`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// An index if the file is sorted by coordinate: BAI for BAM, or CSI if a contig is too long
    /// for BAI.
    Auto,
    /// Like `Auto`, but it is an error if the file cannot have an index.
    Wanted,
    /// An index in this format.
    Kind(IndexFormat),
    No,
}

impl Index {
    /// Returns the choice for extra outputs, whose format may not support an index: `Auto` unless
    /// no index is requested.
    pub fn if_possible(self) -> Self {
        if self == Index::No { Index::No } else { Index::Auto }
    }

    /// Returns whether it is an error if the file cannot have the index.
    pub fn is_required(self) -> bool {
        matches!(self, Index::Wanted | Index::Kind(_))
    }
}

/// The source of contig bases, for formats that store reads as differences from a reference.
#[derive(Clone, Debug, Default)]
pub struct ContigBases {
    pub reference: Option<LazyReference>,
    /// Where bases are found by their MD5 (`REF_CACHE` and `REF_PATH`) if there is no reference.
    pub cache: Cache,
}

/// The file for which a format creates encoders.
pub struct TargetFile<'a> {
    /// The header of the file. Only the sort order may still change.
    pub header: &'a Header,
    /// The codec for BGZF blocks.
    pub codec: Codec,
    /// The requested compression level.
    pub level: Option<u8>,
    pub index: Index,
    /// Whether the records will be in coordinate order, as far as this is known before they are
    /// read.
    pub is_sorted: bool,
    /// Whether the output consists of regular files, rather than a pipe or device.
    pub is_regular: bool,
    pub is_pipe: bool,
    pub bases: &'a ContigBases,
    /// The ledger for memory that all encoders of the file share, such as contigs.
    pub ledger: &'a Ledger,
}

impl TargetFile<'_> {
    /// Returns the level for BGZF blocks: the requested level, otherwise 0 for a pipe, otherwise
    /// the default.
    pub fn level(&self) -> u8 {
        self.level.unwrap_or(if self.is_pipe { 0 } else { DEFAULT_LEVEL })
    }
}
