//! The sites as they lie in the spill file.

use std::ops::Range;
use std::sync::Arc;

use super::block::Block;
use crate::spill::{Extent, Spill};

/// What cursors read.
pub(super) struct Shared {
    pub spill: Arc<Spill>,
    pub extent: Extent,
    /// By contig, then by position.
    pub blocks: Vec<Block>,
    /// The blocks of each contig.
    pub contigs: Vec<Range<usize>>,
}
