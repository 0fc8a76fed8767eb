//! Parts of an input, as tickets claim them; and how inputs are opened.

use std::sync::Arc;

use readmill_cram as cram;
use readmill_format::bgzf::Chunk;
use readmill_format::reference::Fasta;
use readmill_format::summed::InputSums;
use readmill_record::{Ledger, Limit};

use crate::selection::Selection;

/// Blocks of compressed SAM text inflated together: they stay in a cache until their lines are taken.
pub(crate) const BLOCKS_OF_TEXT: usize = 4;

/// Bytes of SAM text opened together.
pub(crate) const TEXT_CHUNK: usize = 1 << 19;

/// Options of opening an input.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Accept a BGZF file without its EOF block, and a CRAM file without its last container.
    pub allow_missing_eof: bool,
    /// The most bytes that a line of SAM may take.
    pub most: Limit,
    /// The ledger that pays for the header.
    pub ledger: Ledger,
    /// The most bytes that a container of CRAM may take, including its records.
    pub container: Limit,
    /// The reference that the reads were aligned to, where CRAM needs it.
    pub reference: Option<Fasta>,
    /// Other places with the bases of contigs.
    pub cache: cram::Cache,
    /// The name of the file. htslib names reads after it if CRAM stores no names.
    pub name: Vec<u8>,
    /// Read no more than the header at first: regions or nothing will follow.
    pub header_alone: bool,
    /// Take header lines that no other program reads as they are, to show, compare or replace them.
    pub header_as_is: bool,
    /// Where the checksums of files go, where they are wanted.
    pub sums: Option<InputSums>,
}

/// A part of the input, taken by one ticket.
#[derive(Clone)]
pub enum Claim {
    /// Compressed blocks of a BAM file.
    Blocks(Chunk),
    /// Bytes of a BAM file that were inflated with its header.
    Bytes(Vec<u8>),
    /// Whole lines of SAM text.
    Text(Vec<u8>),
    /// A container of a CRAM file, and which of its reads are wanted; `None` means all.
    Container(Box<cram::Container>, Option<Arc<Selection>>),
}

impl Claim {
    /// Upper bound of the bytes of the claim's records as BAM.
    pub fn bound(&self) -> usize {
        match self {
            Claim::Blocks(chunk) => chunk.inflated,
            Claim::Bytes(bytes) => bytes.len(),
            Claim::Text(text) => text_bound(text),
            Claim::Container(container, _) => container.bound(),
        }
    }

    /// Upper bound of the number of records, if it is known without decoding.
    pub fn most_records(&self) -> Option<usize> {
        match self {
            Claim::Container(container, _) => Some(container.header.records),
            _ => None,
        }
    }

    /// Additional bytes that opening takes until the records are in place: a container of CRAM is larger than a
    /// chunk of BAM, and its blocks are in memory together with its records.
    pub fn working(&self) -> usize {
        match self {
            Claim::Container(container, _) => container.working().saturating_add(container.bound()),
            // A long line of SAM is in memory together with its record.
            Claim::Text(text) if is_long(text) => text.len() + self.bound(),
            _ => 0,
        }
    }

    /// Bytes of the claim in the input file.
    pub fn read_bytes(&self) -> usize {
        match self {
            Claim::Blocks(chunk) => chunk.compressed.len(),
            Claim::Bytes(_) => 0,
            Claim::Text(text) => text.len(),
            Claim::Container(container, _) => container.blocks().len(),
        }
    }
}

/// Upper bound of the bytes of lines of SAM as BAM. Two characters of a B:i array become four bytes; a minimal line of
/// 22 characters has fixed fields of 38 bytes.
pub(crate) fn text_bound(text: &[u8]) -> usize {
    2 * text.len() + 64
}

/// Whether lines take more memory than a chunk of them usually does.
pub(crate) fn is_long(text: &[u8]) -> bool {
    text.len() > 2 * TEXT_CHUNK
}
