//! The file that an output is written to, as formats see it: what was asked for, and what the file can be.

use readmill_cram::Cache;
use readmill_format::bam::index::IndexFormat;
use readmill_format::bgzf::Codec;
use readmill_format::reference::LazyReference;
use readmill_record::{Header, Ledger};

/// Compression level where none is given: the size users of samtools expect, at less than half of
/// zlib's time.
pub const DEFAULT_LEVEL: u8 = 6;

/// The part of an output that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// The header and the records.
    #[default]
    All,
    /// The records of SAM text, without the header; all of other formats.
    Records,
    /// The header alone.
    Header,
}

/// Which index to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// One for a BAM file sorted by coordinate: BAI, or CSI where a contig is too long for it.
    Auto,
    /// As `Auto`, but it is an error if there cannot be one.
    Wanted,
    /// This kind.
    Kind(IndexFormat),
    /// None.
    No,
}

impl Index {
    /// Returns the choice for extra outputs, which may have another format: none, or one that fits.
    pub fn where_it_can_be(self) -> Self {
        if self == Index::No { Index::No } else { Index::Auto }
    }

    /// Whether it is an error if there cannot be one.
    pub fn is_required(self) -> bool {
        matches!(self, Index::Wanted | Index::Kind(_))
    }
}

/// Where the bases of contigs are found, for formats that store reads as differences from them.
#[derive(Clone, Debug, Default)]
pub struct ContigBases {
    pub reference: Option<LazyReference>,
    /// Where bases lie under their MD5, if there is no reference.
    pub cache: Cache,
}

/// The file whose parts a format encodes.
pub struct TargetFile<'a> {
    /// The header of the file, or one that differs only in its order.
    pub header: &'a Header,
    /// The codec of BGZF.
    pub codec: Codec,
    /// The compression level that was asked for.
    pub level: Option<u8>,
    /// The index that was asked for.
    pub index: Index,
    /// Whether the records will be in coordinate order, as far as is known before they are read.
    pub is_sorted: bool,
    /// Whether it is a regular file, or several, and no pipe or device.
    pub is_regular: bool,
    /// Whether it is a pipe.
    pub is_pipe: bool,
    /// Where bases of contigs are found.
    pub bases: &'a ContigBases,
    /// Pays for what all encoders of the file share, such as contigs.
    pub ledger: &'a Ledger,
}

impl TargetFile<'_> {
    /// Returns the level of BGZF: the one asked for, 0 into a pipe, or the default.
    pub fn level(&self) -> u8 {
        self.level.unwrap_or(if self.is_pipe { 0 } else { DEFAULT_LEVEL })
    }
}
