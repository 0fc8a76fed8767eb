//! The index of the sites in the spill file.

use std::ops::Range;
use std::sync::Arc;

use readmill_record::Charge;

use super::block::SiteBlock;
use crate::spill::{Extent, Spill};

/// The index that cursors use.
pub(super) struct SiteIndex {
    pub spill: Arc<Spill>,
    pub extent: Extent,
    /// By contig, then by position.
    pub blocks: Vec<SiteBlock>,
    /// The blocks of each contig.
    pub contigs: Vec<Range<usize>>,
    pub charge: Charge,
}

impl SiteIndex {
    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<SiteBlock>()
            + self.contigs.capacity() * size_of::<Range<usize>>()
    }
}
