//! The claims of an input, one per ticket, and the options for opening an input.

use std::sync::Arc;

use readmill_cram as cram;
use readmill_format::bgzf::Chunk;
use readmill_format::reference::LazyReference;
use readmill_format::summed::InputSums;
use readmill_record::{Ledger, Limit};

use crate::selection::ContainerSelection;

/// Number of BGZF blocks of SAM text that are inflated together. They stay in the cache until their
/// lines are parsed.
pub(crate) const TEXT_BLOCKS_PER_CHUNK: usize = 4;

pub(crate) const TEXT_CHUNK_BYTES: usize = 1 << 19;

#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Accept a BGZF file without its EOF block, and a CRAM file without its end-of-file container.
    pub allow_missing_eof: bool,
    /// Maximum length of a SAM line in bytes.
    pub max_line: Limit,
    pub ledger: Ledger,
    /// Maximum memory of a CRAM container in bytes, including its records.
    pub max_container: Limit,
    pub reference: Option<LazyReference>,
    pub cache: cram::Cache,
    /// File name. As in htslib, it is the prefix of read names if a CRAM file does not store them.
    pub name: Vec<u8>,
    /// Read as little as possible beyond the header, because only regions or nothing will be read
    /// next.
    pub header_alone: bool,
    /// Accept header lines that other programs refuse, so that they can be shown, compared or
    /// replaced.
    pub header_as_is: bool,
    pub sums: Option<InputSums>,
}

/// The part of the input that one ticket claims. An [`Opener`](crate::Opener) turns it into
/// records.
///
/// The methods bound the memory for opening it, so that it can be reserved in claim order.
#[derive(Clone)]
pub enum Claim {
    Blocks(Chunk),
    /// BAM records that have already been inflated, together with the header or to find the start
    /// of a region.
    Bytes(Vec<u8>),
    Text(Vec<u8>),
    /// A CRAM container and the selection of its reads; `None` selects all of them.
    Container(Box<cram::Container>, Option<Arc<ContainerSelection>>),
}

impl Claim {
    /// Returns an upper bound on the size of the claim's records as BAM, in bytes.
    pub fn max_bam_bytes(&self) -> usize {
        match self {
            Claim::Blocks(chunk) => chunk.inflated,
            Claim::Bytes(bytes) => bytes.len(),
            Claim::Text(text) => max_text_bam_bytes(text),
            Claim::Container(container, _) => container.max_bam_bytes(),
        }
    }

    /// Returns an upper bound on the number of records, if it is known without opening the claim.
    pub fn max_records(&self) -> Option<usize> {
        match self {
            Claim::Container(container, _) => Some(container.header.records),
            _ => None,
        }
    }

    /// Returns the memory in bytes for opening the claim, excluding the records. A CRAM container
    /// is larger than a chunk of BAM, and its blocks are in memory at the same time as its records.
    pub fn working_bytes(&self) -> usize {
        match self {
            Claim::Container(container, _) => {
                container.working_bytes().saturating_add(container.max_bam_bytes())
            }
            // A long SAM line is in memory at the same time as its record.
            Claim::Text(text) if is_long_text(text) => text.len() + self.max_bam_bytes(),
            _ => 0,
        }
    }

    pub fn read_bytes(&self) -> usize {
        match self {
            Claim::Blocks(chunk) => chunk.compressed.len(),
            Claim::Bytes(_) => 0,
            Claim::Text(text) => text.len(),
            Claim::Container(container, _) => container.blocks().len(),
        }
    }
}

/// Returns an upper bound on the size of SAM lines as BAM, in bytes. Two characters of a B:i array
/// become four bytes; the shortest line (22 characters) becomes 38 bytes of fixed fields.
pub(crate) fn max_text_bam_bytes(text: &[u8]) -> usize {
    2 * text.len() + 64
}

pub(crate) fn is_long_text(text: &[u8]) -> bool {
    text.len() > 2 * TEXT_CHUNK_BYTES
}
