//! The sites as they lie in the spill file.

use std::ops::Range;
use std::sync::Arc;

use readmill_record::Charge;

use super::block::SiteBlock;
use crate::spill::{Extent, Spill};

/// What cursors read.
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
    /// Bytes that it takes.
    pub fn memory(&self) -> usize {
        self.blocks.capacity() * size_of::<SiteBlock>()
            + self.contigs.capacity() * size_of::<Range<usize>>()
    }
}
